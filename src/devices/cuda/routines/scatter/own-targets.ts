// Few targets: every lane of every warp keeps targets of its own in shared memory, and nobody else changes them.
//
// Lanes share nothing, so nothing is atomic, any way of combining will do, and each lane takes its updates in their order. A lane's
// targets all lie in one bank: a warp never waits for itself. At the end the lanes' targets are folded, and then those of the blocks,
// in an order that depends on sizes alone. Sums of a million rows into 64 segments take no longer than reading them.

import { isFloat } from '../../../../base/dtype.ts';
import { identityOf } from '../../../../kernel/identity.ts';
import type { Scatter } from '../../../../kernel/kernel.ts';
import { shuffle, widthOf } from '../../ptx/combine.ts';
import type { Target } from '../../ptx/target.ts';
import { bitsSuffix, kindOf } from '../../ptx/types.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import type { Argument } from '../../step.ts';
import { blocksFor, Kit, Layout } from '../kit.ts';
import { type Part, recipeOf } from '../recipe-of.ts';
import { sharedLimit } from '../tensor-core.ts';
import {
  columnPlaces,
  columnsOf,
  combined,
  keyOf,
  loaded,
  pairsOf,
  placeAt,
  split3,
  sumType,
  threads,
  totalOf,
} from './parts.ts';

/** Fewer warps could not hide that one update waits for the one before. */
const fewestWarps = 4;
const mostWarps = 32;
/** Blocks along the second axis of a grid. */
const mostTiles = 65_535;

interface Shape {
  /** Targets of a lane: each has a place for one column. */
  readonly targets: number;
  readonly columns: number;
  /** Lanes that share an update, a power of two; columns beyond them are other blocks'. */
  readonly across: number;
  readonly tiles: number;
  readonly slotBytes: number;
  readonly warps: number;
  /** Blocks that share the updates. */
  readonly blocks: number;
  /** Updates that a lane reads before it changes anything. */
  readonly together: number;
}

/** How to do it, or null where a warp's targets need too much room. */
function shapeOf(s: Scatter, target: Target): Shape | null {
  if (s.combine === 'set' || s.type === 'bool') return null;
  const targets = s.perElement ? totalOf(s) : s.length;
  const columns = columnsOf(s);
  const across = Math.min(32, 2 ** Math.ceil(Math.log2(columns)));
  const tiles = Math.ceil(columns / across);
  const slotBytes = widthOf[kindOf(sumType(s), 64)];
  const warps = Math.min(mostWarps, Math.floor(sharedLimit(target.sm) / (targets * 32 * slotBytes)));
  if (warps < fewestWarps || tiles > mostTiles) return null;
  const together = warps > 16 ? 8 : 16;
  const enough = blocksFor(pairsOf(s), warps * (32 / across) * together);
  const blocks = Math.min(Math.max(1, Math.floor(target.processors / tiles)), enough);
  return { targets, columns, across, tiles, slotBytes, warps, blocks, together };
}

/** What changes nothing: -0 for sums of floats, so that a sum of nothing but -0 is one. */
const neutral = (kit: Kit, s: Scatter): string => {
  const type = sumType(s);
  const op = s.combine === 'set' ? 'sum' : s.combine;
  return kit.constant(type, op === 'sum' && isFloat(type) ? -0 : identityOf(op, type));
};

export function withTargetsOfLanes(s: Scatter, target: Target): ModuleRecipe | null {
  const shape = shapeOf(s, target);
  if (!shape) return null;
  const layout = new Layout();
  const partials = layout.add(shape.targets * shape.columns * shape.blocks * shape.slotBytes);
  const parts = [foldUpdates(s, shape, partials, target), foldBlocks(s, shape, partials, target)];
  return recipeOf(s.name, target, parts, { borrowedBytes: layout.bytes, dynamicAlign: 16 });
}

function foldUpdates(s: Scatter, shape: Shape, partials: Argument, target: Target): Part {
  const { targets, columns, across, tiles, slotBytes, warps, blocks, together } = shape;
  const kit = new Kit(`${s.name}_fold`, target);
  const { b } = kit;
  const type = sumType(s);
  const kind = kit.kind(type);
  const suffix = bitsSuffix[kind];
  const at = kit.pointer({ kind: 'buffer', index: 1 });
  const updates = kit.pointer({ kind: 'buffer', index: 2 });
  const kept = kit.pointer(partials);
  const tid = kit.special('tid.x');
  const lane = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);
  const block = kit.special('ctaid.x');
  const group = b.def('r', 'shr.u32', lane, Math.log2(across));
  const ownColumn = b.def('r', 'and.b32', lane, across - 1);
  const column = b.def('r', 'mad.lo.u32', kit.special('ctaid.y'), across, ownColumn);
  const places = columnPlaces(kit, s, kit.wide(column));
  const [pitch, groups, pairs] = [32 * slotBytes, 32 / across, pairsOf(s)];
  const first = b.def('r', 'mad.lo.u32', lane, slotBytes, b.def('r', 'mov.u32', 'dyn'));
  const own = b.def('r', 'mad.lo.u32', warp, targets * pitch, first);
  const none = kit.variable(type, neutral(kit, s));

  const slot = b.def('r', 'mov.u32', own);
  const end = b.def('r', 'add.u32', own, targets * pitch);
  kit.while(
    () => b.def('p', 'setp.lt.u32', slot, end),
    () => {
      b.emit(`st.shared.${suffix} [${slot}], ${none}`);
      b.set(slot, 'add.u32', slot, pitch);
    },
  );
  // Units of lanes that share an update take turns.
  const units = blocks * warps * groups;
  const unit = b.def('r', 'mad.lo.u32', b.def('r', 'mad.lo.u32', block, warps, warp), groups, group);
  const j = kit.wide(unit);
  const same = s.uniform ? loaded(kit, s, updates, '0') : null;
  const read = (pair: string): readonly [key: string, value: string] => {
    const place = placeAt(kit, s, at, pair);
    const key = s.perElement ? b.def('r', 'cvt.u32.u64', keyOf(kit, s, pair, kit.wide(place))) : place;
    return [key, same ?? loaded(kit, s, updates, places.update(pair))];
  };
  const change = (read: readonly (readonly [string, string])[]): void => {
    for (const [key, value] of read) {
      const address = b.def('r', 'mad.lo.u32', key, pitch, own);
      const old = b.def(kind, `ld.shared.${suffix}`, `[${address}]`);
      b.emit(`st.shared.${suffix} [${address}], ${combined(kit, s, old, value)}`);
    }
  };
  kit.when(b.def('p', 'setp.lt.u32', column, columns), () => {
    kit.while(
      () => b.def('p', 'setp.lt.u64', b.def('d', 'add.u64', j, units * (together - 1)), pairs),
      () => {
        change(Array.from({ length: together }, (_, k) => read(k === 0 ? j : b.def('d', 'add.u64', j, k * units))));
        b.set(j, 'add.u64', j, units * together);
      },
    );
    kit.while(
      () => b.def('p', 'setp.lt.u64', j, pairs),
      () => {
        change([read(j)]);
        b.set(j, 'add.u64', j, units);
      },
    );
  });
  kit.sync();
  // A warp folds a target: each lane its places in all warps, then the lanes of a column what they have.
  const t = b.def('r', 'mov.u32', warp);
  kit.while(
    () => b.def('p', 'setp.lt.u32', t, targets),
    () => {
      const sum = kit.variable(type, none);
      const from = b.def('r', 'mad.lo.u32', t, pitch, first);
      for (let w = 0; w < warps; w++) {
        const address = w === 0 ? from : b.def('r', 'add.u32', from, w * targets * pitch);
        kit.assign(type, sum, combined(kit, s, sum, b.def(kind, `ld.shared.${suffix}`, `[${address}]`)));
      }
      for (let distance = 16; distance >= across; distance /= 2) {
        kit.assign(type, sum, combined(kit, s, sum, shuffle(b, kind, sum, distance)));
      }
      const speaks = b.def('p', 'setp.lt.u32', lane, across);
      kit.when(b.def('p', 'and.pred', speaks, b.def('p', 'setp.lt.u32', column, columns)), () => {
        const row = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', t, columns), kit.wide(column));
        kit.store(type, kept, b.def('d', 'mad.lo.u64', row, blocks, kit.wide(block)), sum);
      });
      b.set(t, 'add.u32', t, warps);
    },
  );
  return kit.finish([blocks, tiles, 1], 32 * warps, warps * targets * pitch);
}

/** A warp for each element of the output: its value before, and what the blocks have for it. */
function foldBlocks(s: Scatter, { columns, blocks }: Shape, partials: Argument, target: Target): Part {
  const kit = new Kit(`${s.name}_join`, target);
  const { b } = kit;
  const type = sumType(s);
  const base = kit.pointer({ kind: 'buffer', index: 0 });
  const output = kit.pointer({ kind: 'buffer', index: 3 });
  const kept = kit.pointer(partials);
  const thread = kit.globalThread(threads);
  const element = b.def('d', 'shr.u64', thread, 5);
  kit.exitWhen(b.def('p', 'setp.ge.u64', element, totalOf(s)));
  const lane = kit.wide(kit.special('laneid'));
  const row = (): string => {
    if (s.perElement || columns === 1) return element;
    const [o, place, n] = split3(kit, element, s.length, s.inner);
    const column = b.def('d', 'mad.lo.u64', o, s.inner, n);
    return b.def('d', 'mad.lo.u64', place, columns, column);
  };
  const begin = b.def('d', 'mul.lo.u64', row(), blocks);
  const end = b.def('d', 'add.u64', begin, blocks);
  const i = b.def('d', 'add.u64', begin, lane);
  const sum = kit.variable(type, neutral(kit, s));
  kit.while(
    () => b.def('p', 'setp.lt.u64', i, end),
    () => {
      kit.assign(type, sum, combined(kit, s, sum, kit.load(type, kept, i)));
      b.set(i, 'add.u64', i, 32);
    },
  );
  for (let distance = 16; distance >= 1; distance /= 2) {
    kit.assign(type, sum, combined(kit, s, sum, shuffle(b, kit.kind(type), sum, distance)));
  }
  kit.exitWhen(b.def('p', 'setp.ne.u64', lane, 0));
  const result = combined(kit, s, loaded(kit, s, base, element), sum);
  kit.store(s.type, output, element, kit.cast(type, s.type, result));
  return kit.finish([blocksFor(32 * totalOf(s), threads), 1, 1], threads);
}
