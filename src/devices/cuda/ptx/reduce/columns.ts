// Reductions along columns: neighbouring threads have neighbouring columns, those below each other combine through shared memory.

import { reload, spill } from '../combine.ts';
import type { PtxScope } from '../scope.ts';
import { unravel } from '../shape.ts';
import {
  type Builder,
  foldAll,
  foldTree,
  foldValues,
  moveSuffix,
  part,
  type States,
  slotsOf,
  start,
  stateBytes,
  storeOutputs,
  toIndex,
} from './builder.ts';
import { countedLoop, loopWhile, reducedAxes, tailLoop } from './loops.ts';
import { loadPartial, partialOffset, storePartial, waitForAll, widthOfSpace } from './partials.ts';

/** Parts that a thread of the last block loads before it folds them. */
const partsAtOnce = 4;

export function renderColumns(b: Builder): number {
  const { kernel, plan, entry, tid } = b;
  const { body } = entry;
  const { group, vector, unroll } = plan;
  const deep = plan.threads / group;
  const width = widthOfSpace(kernel);
  const across = Math.ceil(width / (group * vector));
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const outer = body.def('r', 'div.u32', cta, across);
  const tile = body.def('r', 'sub.u32', cta, body.def('r', 'mul.lo.u32', outer, across));
  const tx = body.def('r', 'rem.u32', tid, group);
  const ty = toIndex(b, body.def('r', 'div.u32', tid, group));
  // A column's number fits 32 bits unless the row alone is longer.
  const long = width > 2 ** 31;
  const [kind, u] = long ? (['d', 'u64'] as const) : (['r', 'u32'] as const);
  const thread = body.def('r', 'mad.lo.u32', tile, group, tx);
  const wanted = long ? body.def('d', 'mul.wide.u32', thread, vector) : body.def('r', 'mul.lo.u32', thread, vector);
  const ragged = width % (group * vector) !== 0;
  const x = ragged ? body.def(kind, `min.${u}`, wanted, width - vector) : wanted;
  const row = body.def(b.kind, `mad.lo.${b.s}`, toIndex(b, outer), width, long ? x : toIndex(b, x));
  const lastSpace = kernel.space.reduce((last, d, i) => (d === 1 ? last : i), -1);
  const lanes = { width: vector, laneAxis: vector > 1 ? lastSpace : -1 };
  const axes = unravel(body, row, kernel.space, 0, b.bits);
  const scope = b.frame.root.extend({ axes, ...lanes });
  const { begin, end, index } = part(b);
  const states = Array.from({ length: unroll }, () => Array.from({ length: vector }, () => start(b)));

  loopWhile(b, scope, begin, deep * unroll, end, (inner) => {
    const first = inner.block.def(b.kind, `add.${b.s}`, begin, ty);
    for (let u = 0; u < unroll; u++) {
      const at = u === 0 ? first : inner.block.def(b.kind, `add.${b.s}`, first, u * deep);
      const copy = inner.extend({ axes: reducedAxes(b, inner, at), ...lanes });
      foldValues(b, copy, states[u]!, at, false);
    }
  });
  const at = body.def(b.kind, `add.${b.s}`, begin, ty);
  tailLoop(b, scope, at, deep, end, (one, position) => foldValues(b, one, states[0]!, position, false));
  for (let l = 0; l < vector; l++)
    foldTree(
      b,
      scope,
      states.map((s) => s[l]!),
    );
  const total = states[0]!;
  const depth = b.bits === 32 ? ty : body.def('r', 'cvt.u32.u64', ty);
  combineDeep(b, scope, total, depth, tx, deep);
  const finish = entry.label('finish');
  const top = body.def('p', 'setp.eq.u32', depth, 0);
  if (plan.splits > 1) {
    total.forEach((states_, l) => {
      const offset = partialOffset(b, index, row);
      const shifted = l === 0 ? offset : body.def('d', 'add.s64', offset, l * stateBytes(b));
      storePartial(b, states_, shifted, top);
    });
    waitForAll(b, cta, finish);
    const again = Array.from({ length: vector }, () => start(b));
    const p = body.def('r', 'mov.u32', depth);
    const take = (inner: PtxScope, at: string): void => {
      const place = partialOffset(b, at, row, inner);
      again.forEach((states_, l) => {
        loadPartial(b, inner, states_, place, l * stateBytes(b));
      });
    };
    // Several at a time, so that not each is waited for by itself: the whole device waits for this block.
    countedLoop(b, scope, p, deep * partsAtOnce, Math.max(0, plan.splits - deep * (partsAtOnce - 1)), (inner) => {
      for (let i = 0; i < partsAtOnce; i++) take(inner, i === 0 ? p : inner.block.def('r', 'add.u32', p, i * deep));
    });
    countedLoop(b, scope, p, deep, plan.splits, (inner) => take(inner, p));
    combineDeep(b, scope, again, depth, tx, deep);
    again.forEach((states_, l) => {
      states_.forEach((state, i) => {
        state.forEach((r, k) => {
          body.set(total[l]![i]![k]!, `mov.${moveSuffix(r)}`, r);
        });
      });
    });
  }
  body.emit(`@!${top} bra ${finish}`);
  if (ragged) {
    const outside = body.def('p', `setp.ge.${u}`, wanted, width);
    body.emit(`@${outside} bra ${finish}`);
  }
  storeOutputs(b, scope, total, row, vector);
  body.label(finish);
  body.emit('ret');
  return (b.rows / width) * across;
}

/** Combines the threads that share columns, through shared memory; those with depth 0 hold the result. */
function combineDeep(
  b: Builder,
  scope: PtxScope,
  lanes: readonly States[],
  depth: string,
  tx: string,
  deep: number,
): void {
  if (deep === 1) return;
  const { body } = b.entry;
  const { group } = b.plan;
  const slots = slotsOf(b);
  const half = deep / 2;
  const base = body.def('r', 'mov.u32', b.entry.sharedArray(half * group * slots.length * lanes.length * 8));
  for (let distance = half; distance >= 1; distance /= 2) {
    const [wrote, read] = [b.entry.label('wrote'), b.entry.label('read')];
    // The upper half hands over, the lower half takes; a barrier on each side keeps the rounds apart.
    const above = body.def('p', 'setp.ge.u32', depth, distance);
    const within = body.def('p', 'setp.lt.u32', depth, 2 * distance);
    const gives = body.def('p', 'and.pred', above, within);
    const give = body.def('r', 'mad.lo.u32', body.def('r', 'sub.u32', depth, distance), group, tx);
    const giveAt = body.def('r', 'mad.lo.u32', give, 8, base);
    body.emit(`@!${gives} bra ${wrote}`);
    const plane = half * group * 8;
    lanes.forEach((states, l) => {
      slots.forEach((slot, i) => {
        spill(
          body,
          'st.shared',
          slot.kind,
          states[slot.acc]![slot.register]!,
          `[${giveAt}+${(l * slots.length + i) * plane}]`,
        );
      });
    });
    body.label(wrote);
    body.emit('bar.sync 0');
    const take = body.def('r', 'mad.lo.u32', depth, group, tx);
    const takeAt = body.def('r', 'mad.lo.u32', take, 8, base);
    const takes = body.def('p', 'setp.lt.u32', depth, distance);
    body.emit(`@!${takes} bra ${read}`);
    lanes.forEach((states, l) => {
      const other: string[][] = b.kernel.accumulators.map(() => []);
      slots.forEach((slot, i) => {
        const place = `[${takeAt}+${(l * slots.length + i) * plane}]`;
        other[slot.acc]![slot.register] = reload(body, 'ld.shared', slot.kind, place);
      });
      foldAll(b, scope, states, other);
    });
    body.label(read);
    body.emit('bar.sync 0');
  }
}
