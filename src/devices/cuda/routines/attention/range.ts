// Which keys a block passes over: all, or where queries see only those before them, no more than its own queries see.

import type { Attention } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import type { LaunchRecipe, ModuleRecipe } from '../../recipe.ts';
import type { Argument } from '../../step.ts';
import type { Kit } from '../kit.ts';
import { recipeOf } from '../recipe-of.ts';
import { allFinite, flagBytes, flagKernel } from './finite.ts';
import type { Scores } from './scores.ts';

/** The flags are all that is borrowed. */
const flags: Argument = { kind: 'borrowed', offset: 0 };

interface Tile {
  readonly batch: string;
  readonly row0: string;
  readonly rows: number;
  readonly keys: number;
}

/** The tile of queries that a block has: those that see most come first where they differ, so that no block ends long after the others. */
export function tileNumber(kit: Kit, { end }: Scores, tiles: number): string {
  const block = kit.special('ctaid.x');
  return end ? kit.b.def('r', 'sub.u32', tiles - 1, block) : block;
}

/** The key, a multiple of the step, at which a block ends. */
export function keysEnd(kit: Kit, r: Attention, { end }: Scores, { batch, row0, rows, keys }: Tile): string {
  const all = Math.ceil(r.keys / keys) * keys;
  if (!end) return `${all}`;
  return kit.b.def('r', 'selp.b32', end(row0, rows, keys), all, allFinite(kit, r, flags, batch));
}

interface Main {
  readonly text: string;
  readonly launch: LaunchRecipe;
  /** Of its shared memory. */
  readonly align: number;
  readonly suffix: '' | 'a';
}

/** The whole module, with the kernel before it that looks at values where keys may be passed over. */
export function withFlags(r: Attention, { end }: Scores, target: Target, main: Main): ModuleRecipe {
  const before = end ? [flagKernel(r, flags, target)] : [];
  return recipeOf(r.name, target, [...before, main], {
    borrowedBytes: end ? flagBytes(r) : 0,
    dynamicAlign: main.align,
    suffix: main.suffix,
  });
}
