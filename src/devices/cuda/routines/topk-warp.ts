// The first few of short rows: a warp holds a row in registers and takes the smallest key, at the smallest place, again and again.

import { dtypeInfo } from '../../../base/dtype.ts';
import type { TopK } from '../../../kernel/kernel.ts';
import { loadElement } from '../ptx/memory.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { blocksFor, Kit } from './kit.ts';
import { recipeOf } from './recipe-of.ts';
import { keyBytes, sortKey } from './sort-key.ts';

const threads = 256;
const warps = threads / 32;
/** Elements of a lane, each of which is looked at so often, beyond which counting digits is faster. */
const mostLooks = 512;

const perLaneOf = ({ columns }: TopK): number => Math.ceil(columns / 32);

/** Keys of 4 bytes, as many results as a warp has lanes, as many elements as a lane has bits to remember them by. */
export const fitsWarp = (r: TopK): boolean =>
  keyBytes(r.type) === 4 && r.count <= 32 && perLaneOf(r) <= 32 && r.count * perLaneOf(r) <= mostLooks;

export function warpRecipe(r: TopK, target: Target): ModuleRecipe {
  const kit = new Kit(r.name, target);
  const { b } = kit;
  const bytes = dtypeInfo[r.type].bytes;
  const input = kit.pointer({ kind: 'buffer', index: 0 });
  const values = kit.pointer({ kind: 'buffer', index: 1 });
  const positions = kit.pointer({ kind: 'buffer', index: 2 });
  const tid = kit.special('tid.x');
  const laneId = b.def('r', 'and.b32', tid, 31);
  const row = b.def('r', 'mad.lo.u32', kit.special('ctaid.x'), warps, b.def('r', 'shr.u32', tid, 5));
  kit.exitWhen(b.def('p', 'setp.ge.u32', row, r.rows));
  const start = b.def('d', 'mul.wide.u32', row, r.columns);
  const from = kit.at(input, start, bytes);
  const loaded = Array.from({ length: perLaneOf(r) }, (_, i) => {
    const place = i === 0 ? laneId : b.def('r', 'add.u32', laneId, 32 * i);
    const inside = b.def('p', 'setp.lt.u32', place, r.columns);
    const value = loadElement(kit.c, 'ld.global.nc', r.type, b.def('d', 'mad.wide.u32', place, bytes, from), 0, inside);
    return { place, inside, value };
  });
  // Places beyond the row have the largest key; real ones with that key come before them.
  const keys = loaded.map(({ inside, value }) =>
    b.def('r', 'selp.b32', sortKey(kit, r.type, value, r.descending), -1, inside),
  );
  const smallest = (v: string): string => {
    if (target.sm >= 80) return b.def('r', 'redux.sync.min.u32', v, '0xffffffff');
    return [16, 8, 4, 2, 1].reduce(
      (m, bit) => b.def('r', 'min.u32', m, b.def('r', 'shfl.sync.bfly.b32', m, bit, '0x1f', '0xffffffff')),
      v,
    );
  };
  // One bit for each of the lane's elements that was taken, and the place that this lane will store.
  const [taken, own, round] = [b.def('r', 'mov.u32', 0), b.def('r', 'mov.u32', 0), b.def('r', 'mov.u32', 0)];
  kit.while(
    () => b.def('p', 'setp.lt.u32', round, r.count),
    () => {
      const best = smallest(keys.reduce((m, k) => b.def('r', 'min.u32', m, k)));
      const first = b.def('r', 'mov.u32', -1);
      // From the last on, so that the first one stays.
      for (const [i, { place }] of [...loaded.entries()].reverse()) {
        const bit = b.def('r', 'and.b32', taken, 2 ** i);
        const free = b.def('p', 'setp.eq.u32', bit, 0);
        const hit = b.def('p', 'and.pred', free, b.def('p', 'setp.eq.u32', keys[i]!, best));
        b.set(first, 'selp.b32', place, first, hit);
      }
      const found = smallest(first);
      for (const [i, { place }] of loaded.entries()) {
        const here = b.def('p', 'setp.eq.u32', place, found);
        b.emit(`@${here} mov.u32 ${keys[i]}, -1`);
        b.emit(`@${here} or.b32 ${taken}, ${taken}, ${2 ** i}`);
      }
      b.set(own, 'selp.b32', found, own, b.def('p', 'setp.eq.u32', laneId, round));
      b.set(round, 'add.u32', round, 1);
    },
  );
  kit.exitWhen(b.def('p', 'setp.ge.u32', laneId, r.count));
  const to = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', row, r.count), kit.wide(laneId));
  kit.store(r.type, values, to, kit.load(r.type, input, b.def('d', 'add.u64', start, kit.wide(own))));
  kit.store('i32', positions, to, own);
  const part = kit.finish([blocksFor(r.rows, warps), 1, 1], threads);
  return recipeOf(r.name, target, [part]);
}
