// Reductions along rows: a group of threads folds one row, then combines through shuffles and shared memory.

import { reload, shuffle, spill, stateKinds } from '../combine.ts';
import type { PtxScope } from '../scope.ts';
import { unravel } from '../shape.ts';
import { placeIn, tileOf } from '../tiles.ts';
import {
  type Builder,
  type Combining,
  closeSums,
  foldAll,
  foldLanes,
  foldTree,
  foldValues,
  moveSuffix,
  part,
  type States,
  slotsOf,
  start,
  storeOutputs,
  toIndex,
} from './builder.ts';
import { countedLoop, loopWhile, reducedAxes, tailLoop } from './loops.ts';
import { loadPartial, partialOffset, storePartial, waitForAll } from './partials.ts';
import { finishSpread, isSpread } from './spread.ts';

export function renderRows(b: Builder): number {
  const { kernel, plan, entry, tid } = b;
  const { body } = entry;
  const { group, vector, unroll } = plan;
  const perBlock = plan.threads / group;
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const member = toIndex(b, group === plan.threads ? tid : body.def('r', 'and.b32', tid, group - 1));
  const { row, axes, blocks } = rowOf(b, cta, perBlock);
  const ragged = b.rows % perBlock !== 0;
  const scope = b.frame.root.extend({ axes });
  const { begin, end, index } = part(b);
  const apart = plan.folds ? 1 : vector;
  const states = Array.from({ length: unroll }, () => Array.from({ length: apart }, () => start(b)));
  const lastReduced = kernel.space.length + kernel.reduced.reduce((last, d, i) => (d === 1 ? last : i), 0);

  const step = group * vector * unroll;
  /** Every thread has one stretch of the row, and all of them the whole. */
  const once = plan.splits === 1 && b.columns === step;
  const fill = (inner: PtxScope): void => {
    for (let u = 0; u < unroll; u++) {
      const first = inner.block.def(b.kind, `mad.lo.${b.s}`, member, vector, begin);
      const at = u === 0 ? first : inner.block.def(b.kind, `add.${b.s}`, first, u * group * vector);
      const copy = inner.extend({
        axes: reducedAxes(b, inner, at),
        width: vector,
        laneAxis: vector > 1 ? lastReduced : -1,
      });
      if (plan.folds) foldLanes(b, copy, states[u]![0]!, at, vector, !once);
      else foldValues(b, copy, states[u]!, at, true, !once);
    }
  };
  if (once) fill(scope);
  else loopWhile(b, scope, begin, step, end, fill);
  if (plan.splits > 1 || b.columns % step !== 0) {
    const at = body.def(b.kind, `add.${b.s}`, begin, member);
    tailLoop(b, scope, at, group, end, (one, position) => foldValues(b, one, [states[0]![0]!], position, true));
  }
  const all = states.flat();
  foldTree(b, scope, all);
  const total = all[0]!;
  if (isSpread(b)) {
    finishSpread(b, scope, total, axes, row, once);
    return blocks;
  }
  combineGroup(b, scope, total, group);
  if (once) closeSums(b, scope, total);
  const finish = entry.label('finish');
  if (plan.splits > 1) {
    const leader = body.def('p', 'setp.eq.u32', tid, 0);
    const offset = partialOffset(b, index, row);
    storePartial(b, total, offset, leader);
    waitForAll(b, cta, finish);
    const again = start(b);
    const p = body.def('r', 'mov.u32', tid);
    countedLoop(b, scope, p, plan.threads, plan.splits, (inner) => {
      loadPartial(b, inner, again, partialOffset(b, p, row, inner), 0);
    });
    combineGroup(b, scope, again, group);
    again.forEach((state, i) => {
      state.forEach((r, k) => {
        body.set(total[i]![k]!, `mov.${moveSuffix(r)}`, r);
      });
    });
  }
  const leads = body.def('p', `setp.ne.${b.s}`, member, 0);
  body.emit(`@${leads} bra ${finish}`);
  if (ragged) {
    const outside = body.def('p', `setp.ge.${b.s}`, row, b.rows);
    body.emit(`@${outside} bra ${finish}`);
  }
  storeOutputs(b, scope, [total], row, 1);
  body.label(finish);
  body.emit('ret');
  return blocks;
}

/** The row of a thread, and where it lies: in a box of rows where that reads less, else in a stretch of them. */
function rowOf(b: Builder, cta: string, perBlock: number): { row: string; axes: Map<number, string>; blocks: number } {
  const { kernel, plan, tid, bits } = b;
  const { body } = b.entry;
  const block = toIndex(b, cta);
  const within = perBlock > 1 ? toIndex(b, body.def('r', 'shr.u32', tid, Math.log2(plan.group))) : '0';
  const box = plan.splits === 1 ? tileOf(b.near, { threads: perBlock, vector: 1, lanes: 1 }) : null;
  if (box) {
    const { element, axes, blocks } = placeIn(body, box, kernel.space, 1, { cta: block, thread: within, bits });
    return { row: element, axes, blocks };
  }
  const row = perBlock > 1 ? body.def(b.kind, `mad.lo.${b.s}`, block, perBlock, within) : block;
  // Threads beyond the last row repeat it, so that whole warps take part in the exchange; they do not store.
  const used = b.rows % perBlock === 0 ? row : body.def(b.kind, `min.${b.s}`, row, b.rows - 1);
  return { row, axes: unravel(body, used, kernel.space, 0, bits), blocks: Math.ceil(b.rows / perBlock) };
}

/** Combines the threads of a group; the first thread of it holds the result. */
export function combineGroup(b: Combining, scope: PtxScope, states: States, group: number): void {
  const { body } = b.entry;
  for (let distance = Math.min(group, 32) / 2; distance >= 1; distance /= 2) shuffleStep(b, scope, states, distance);
  if (group <= 32) return;
  const warps = group / 32;
  const slots = slotsOf(b);
  const shared = b.entry.sharedArray(warps * slots.length * 8);
  const base = body.def('r', 'mov.u32', shared);
  const warp = body.def('r', 'shr.u32', b.tid, 5);
  const laneId = body.def('r', 'and.b32', b.tid, 31);
  const isFirst = body.def('p', 'setp.eq.u32', laneId, 0);
  const skip = b.entry.label('skip');
  body.emit(`@!${isFirst} bra ${skip}`);
  slots.forEach((slot, i) => {
    const place = body.def('r', 'mad.lo.u32', warp, 8, base);
    spill(body, 'st.shared', slot.kind, states[slot.acc]![slot.register]!, `[${place}+${i * warps * 8}]`);
  });
  body.label(skip);
  body.emit('bar.sync 0');
  // Every warp combines the same partials, so that no thread reads what another overwrites later.
  const source = body.def('r', 'and.b32', laneId, warps - 1);
  slots.forEach((slot, i) => {
    const place = body.def('r', 'mad.lo.u32', source, 8, base);
    const v = reload(body, 'ld.shared', slot.kind, `[${place}+${i * warps * 8}]`);
    body.set(states[slot.acc]![slot.register]!, `mov.${moveSuffix(states[slot.acc]![slot.register]!)}`, v);
  });
  for (let distance = warps / 2; distance >= 1; distance /= 2) shuffleStep(b, scope, states, distance);
}

/**
 * Combines the 32 threads of each row where a block has `across` rows, and neighbouring threads have neighbouring rows; all of them hold the
 * result. The states go through shared memory to the threads of one warp, and back.
 */
export function combineColumns(b: Combining, scope: PtxScope, states: States, across: number): void {
  const { body } = b.entry;
  const slots = slotsOf(b);
  // Padded, so that threads of one row do not meet in a bank.
  const plane = across * 33 * 8;
  const base = body.def('r', 'mov.u32', b.entry.sharedArray(slots.length * plane));
  const row = body.def('r', 'and.b32', b.tid, across - 1);
  const member = body.def('r', 'shr.u32', b.tid, Math.log2(across));
  const mine = body.def('r', 'mad.lo.u32', row, 33 * 8, body.def('r', 'mad.lo.u32', member, 8, base));
  const laneId = body.def('r', 'and.b32', b.tid, 31);
  const line = body.def('r', 'mad.lo.u32', body.def('r', 'shr.u32', b.tid, 5), 33 * 8, base);
  const theirs = body.def('r', 'mad.lo.u32', laneId, 8, line);
  const put = (at: string): void =>
    slots.forEach((slot, i) => {
      spill(body, 'st.shared', slot.kind, states[slot.acc]![slot.register]!, `[${at}+${i * plane}]`);
    });
  const take = (at: string): void =>
    slots.forEach((slot, i) => {
      const register = states[slot.acc]![slot.register]!;
      body.set(register, `mov.${moveSuffix(register)}`, reload(body, 'ld.shared', slot.kind, `[${at}+${i * plane}]`));
    });
  put(mine);
  body.emit('bar.sync 0');
  take(theirs);
  for (let distance = 16; distance >= 1; distance /= 2) shuffleStep(b, scope, states, distance);
  // Each lane has read its own slot before it writes it: every lane holds the row's result.
  put(theirs);
  body.emit('bar.sync 0');
  take(mine);
}

function shuffleStep(b: Combining, scope: PtxScope, states: States, distance: number): void {
  const other = b.kernel.accumulators.map((a, i) =>
    stateKinds(a, b.bits).map((kind, k) => shuffle(b.entry.body, kind, states[i]![k]!, distance)),
  );
  foldAll(b, scope, states, other);
}
