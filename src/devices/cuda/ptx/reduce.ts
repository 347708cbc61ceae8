// Kernels with a reduction, laid out as plan.ts says, in one launch.
//
// Every thread folds its share into several independent accumulators, those are folded into one, then threads are combined
// in a fixed tree. A split reduction leaves its partial results in scratch memory; the last block to arrive, found with one
// counter per row of blocks that wraps back to zero by itself, folds them in order and runs the epilogue.

import { dtypeInfo } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { Entry, entryName, type RegKind } from './code.ts';
import { fold, reload, resultOf, type State, shuffle, spill, startState, stateKinds } from './combine.ts';
import type { Rendered } from './elementwise.ts';
import { emitStore } from './memory.ts';
import { planReduction, type ReducePlan } from './plan.ts';
import type { Scope } from './scope.ts';
import { type Frame, indexBitsFor, openFrame, rootsOf, unravel } from './shape.ts';
import type { Target } from './target.ts';
import { type IndexBits, kindOf } from './types.ts';
import { lane, reachable } from './values.ts';

/** States of all accumulators of one element: [accumulator][register]. */
type States = readonly State[];

interface Builder {
  readonly kernel: Kernel;
  readonly plan: ReducePlan;
  readonly entry: Entry;
  readonly frame: Frame;
  readonly bits: IndexBits;
  readonly s: string;
  readonly kind: RegKind;
  readonly tid: string;
  readonly rows: number;
  readonly columns: number;
}

export function renderReduction(kernel: Kernel, target: Target): Rendered {
  const bits = indexBitsFor(kernel, reachable(rootsOf(kernel)));
  const plan = planReduction(kernel, target);
  const entry = new Entry(entryName(kernel.name), target);
  const frame = openFrame(entry, {
    inputs: kernel.inputs,
    outputs: kernel.outputs.length,
    scalars: kernel.scalars,
    inPlace: kernel.inPlace,
    scratch: plan.splits > 1,
    bits,
  });
  const b: Builder = {
    kernel,
    plan,
    entry,
    frame,
    bits,
    s: bits === 32 ? 's32' : 's64',
    kind: kindOf('index', bits),
    tid: entry.body.def('r', 'mov.u32', '%tid.x'),
    rows: sizeOf(kernel.space),
    columns: sizeOf(kernel.reduced),
  };
  const blocks = plan.form === 'row' ? renderRows(b) : renderColumns(b);
  return {
    text: entry.render(plan.threads),
    entry: entry.name,
    grid: [blocks, plan.splits, 1],
    block: plan.threads,
    scratchBytes: plan.splits > 1 ? counterBytes(blocks) + plan.splits * b.rows * stateBytes(b) : 0,
    sharedBytes: entry.shared.reduce((n, a) => n + a.bytes, 0),
    vector: plan.vector,
  };
}

const counterBytes = (blocks: number): number => Math.ceil((blocks * 4) / 256) * 256;

const slotsOf = (b: Builder): { acc: number; register: number; kind: RegKind }[] =>
  b.kernel.accumulators.flatMap((a, acc) => stateKinds(a, b.bits).map((kind, register) => ({ acc, register, kind })));

// Eight bytes per register keep every partial aligned.
const stateBytes = (b: Builder): number => slotsOf(b).length * 8;

const toIndex = (b: Builder, r: string): string => (b.bits === 32 ? r : b.entry.body.def('d', 'cvt.u64.u32', r));

const start = (b: Builder): States => b.kernel.accumulators.map((a) => startState(b.entry.body, a, b.bits));

function foldAll(b: Builder, scope: Scope, into: States, from: States): void {
  b.kernel.accumulators.forEach((a, i) => {
    fold(scope.context, a, into[i]!, from[i]!);
  });
}

/** Folds the accumulator values at one stretch of positions into `into[lane]`. `lanesReduce`: lanes are positions, not columns. */
function foldValues(b: Builder, scope: Scope, into: readonly States[], position: string, lanesReduce: boolean): void {
  b.kernel.accumulators.forEach((a, i) => {
    const values = scope.values(a.value);
    into.forEach((states, l) => {
      const state = states[i]!;
      const at =
        lanesReduce && l > 0 && state.length > 1 ? scope.block.def(b.kind, `add.${b.s}`, position, l) : position;
      fold(scope.context, a, state, [lane(values, l), at]);
    });
  });
}

/** The part of the reduction this block handles: first position and end. */
function part(b: Builder): { begin: string; end: string; index: string } {
  const { body } = b.entry;
  if (b.plan.splits === 1) {
    return { begin: body.def(b.kind, `mov.b${b.bits}`, 0), end: `${b.columns}`, index: '0' };
  }
  const index = body.def('r', 'mov.u32', '%ctaid.y');
  const begin =
    b.bits === 32
      ? body.def('r', 'mul.lo.s32', index, b.plan.chunk)
      : body.def('d', 'mul.wide.u32', index, b.plan.chunk);
  const end = body.def(b.kind, `min.${b.s}`, body.def(b.kind, `add.${b.s}`, begin, b.plan.chunk), b.columns);
  return { begin, end, index };
}

/** `while (at + step <= end) { body; at += step }` */
function loopWhile(
  b: Builder,
  row: Scope,
  at: string,
  step: number,
  end: string,
  render: (inner: Scope) => void,
): void {
  const { body } = b.entry;
  const again = b.entry.label('loop');
  const out = b.entry.label('out');
  const inner = row.nest();
  const next = inner.block.def(b.kind, `add.${b.s}`, at, step);
  const beyond = inner.block.def('p', `setp.gt.${b.s}`, next, end);
  inner.block.emit(`@${beyond} bra ${out}`);
  render(inner);
  inner.block.set(at, `mov.b${b.bits}`, next);
  inner.block.emit(`bra ${again}`);
  // What the loop hoisted is in `body` by now.
  body.label(again);
  body.append(inner.block);
  body.label(out);
}

const reducedAxes = (b: Builder, scope: Scope, position: string): Map<number, string> =>
  unravel(scope.block, position, b.kernel.reduced, b.kernel.space.length, b.bits);

function renderRows(b: Builder): number {
  const { kernel, plan, entry, tid } = b;
  const { body } = entry;
  const { group, vector, unroll } = plan;
  const perBlock = plan.threads / group;
  const blocks = Math.ceil(b.rows / perBlock);
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const member = toIndex(b, group === plan.threads ? tid : body.def('r', 'and.b32', tid, group - 1));
  let row = toIndex(b, cta);
  if (perBlock > 1) {
    const within = toIndex(b, body.def('r', 'shr.u32', tid, Math.log2(group)));
    row = body.def(b.kind, `mad.lo.${b.s}`, row, perBlock, within);
  }
  // Threads beyond the last row repeat it, so that whole warps take part in the exchange; they do not store.
  const ragged = b.rows % perBlock !== 0;
  const used = ragged ? body.def(b.kind, `min.${b.s}`, row, b.rows - 1) : row;
  const scope = b.frame.root.extend({ axes: unravel(body, used, kernel.space, 0, b.bits) });
  const { begin, end, index } = part(b);
  const states = Array.from({ length: unroll }, () => Array.from({ length: vector }, () => start(b)));
  const lastReduced = kernel.space.length + kernel.reduced.reduce((last, d, i) => (d === 1 ? last : i), 0);

  loopWhile(b, scope, begin, group * vector * unroll, end, (inner) => {
    for (let u = 0; u < unroll; u++) {
      const first = inner.block.def(b.kind, `mad.lo.${b.s}`, member, vector, begin);
      const at = u === 0 ? first : inner.block.def(b.kind, `add.${b.s}`, first, u * group * vector);
      const copy = inner.extend({
        axes: reducedAxes(b, inner, at),
        width: vector,
        laneAxis: vector > 1 ? lastReduced : -1,
      });
      foldValues(b, copy, states[u]!, at, true);
    }
  });
  const at = body.def(b.kind, `add.${b.s}`, begin, member);
  tailLoop(b, scope, at, group, end, (one, position) => foldValues(b, one, [states[0]![0]!], position, true));
  const all = states.flat();
  foldTree(b, scope, all);
  const total = all[0]!;
  combineGroup(b, scope, total, group);
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

const moveSuffix = (r: string): string =>
  ({ r: 'b32', d: 'b64', f: 'f32', g: 'f64', h: 'b16', p: 'pred' })[r[1] as RegKind];

/** Positions that do not fill a whole step, one at a time. */
function tailLoop(
  b: Builder,
  scope: Scope,
  at: string,
  stride: number,
  end: string,
  render: (one: Scope, position: string) => void,
): void {
  const { body } = b.entry;
  const again = b.entry.label('tail');
  const out = b.entry.label('out');
  const inner = scope.nest();
  const beyond = inner.block.def('p', `setp.ge.${b.s}`, at, end);
  inner.block.emit(`@${beyond} bra ${out}`);
  const one = inner.extend({ axes: reducedAxes(b, inner, at) });
  render(one, at);
  inner.block.set(at, `add.${b.s}`, at, stride);
  inner.block.emit(`bra ${again}`);
  body.label(again);
  body.append(inner.block);
  body.label(out);
}

/** `for (; p < count; p += stride)` over a 32-bit counter. */
function countedLoop(
  b: Builder,
  scope: Scope,
  p: string,
  stride: number,
  count: number,
  render: (inner: Scope) => void,
): void {
  const { body } = b.entry;
  const again = b.entry.label('parts');
  const out = b.entry.label('out');
  const inner = scope.nest();
  const beyond = inner.block.def('p', 'setp.ge.u32', p, count);
  inner.block.emit(`@${beyond} bra ${out}`);
  render(inner);
  inner.block.set(p, 'add.u32', p, stride);
  inner.block.emit(`bra ${again}`);
  body.label(again);
  body.append(inner.block);
  body.label(out);
}

/** Folds a list of states pairwise into the first. */
function foldTree(b: Builder, scope: Scope, all: readonly States[]): void {
  for (let distance = 1; distance < all.length; distance *= 2) {
    for (let i = 0; i + distance < all.length; i += 2 * distance) foldAll(b, scope, all[i]!, all[i + distance]!);
  }
}

/** Combines the threads of a group; the first thread of it holds the result. */
function combineGroup(b: Builder, scope: Scope, states: States, group: number): void {
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

function shuffleStep(b: Builder, scope: Scope, states: States, distance: number): void {
  const other = b.kernel.accumulators.map((a, i) =>
    stateKinds(a, b.bits).map((kind, k) => shuffle(b.entry.body, kind, states[i]![k]!, distance)),
  );
  foldAll(b, scope, states, other);
}

/** Byte offset of one partial: part-major, so that the last block reads neighbours. */
function partialOffset(b: Builder, partIndex: string, row: string, scope?: Scope): string {
  const block = scope?.block ?? b.entry.body;
  const wide = block.def('d', 'mul.wide.u32', partIndex, b.rows);
  const element = block.def('d', 'add.s64', wide, b.bits === 32 ? block.def('d', 'cvt.s64.s32', row) : row);
  return block.def('d', 'mad.lo.s64', element, stateBytes(b), b.frame.scratch!);
}

function blocksOf(b: Builder): number {
  if (b.plan.form === 'row') return Math.ceil(b.rows / (b.plan.threads / b.plan.group));
  const width = widthOfSpace(b.kernel);
  return (b.rows / width) * Math.ceil(width / (b.plan.group * b.plan.vector));
}

function storePartial(b: Builder, states: States, place: string, guard: string): void {
  const { body } = b.entry;
  const skip = b.entry.label('kept');
  const offset = counterBytes(blocksOf(b));
  body.emit(`@!${guard} bra ${skip}`);
  slotsOf(b).forEach((slot, i) => {
    spill(body, 'st.global', slot.kind, states[slot.acc]![slot.register]!, `[${place}+${offset + i * 8}]`);
  });
  body.emit('membar.gl');
  body.label(skip);
}

function loadPartial(b: Builder, scope: Scope, into: States, place: string, extra: number): void {
  const offset = counterBytes(blocksOf(b)) + extra;
  const loaded: string[][] = b.kernel.accumulators.map(() => []);
  // Written by other multiprocessors during this launch: the L1 cache must not answer.
  slotsOf(b).forEach((slot, i) => {
    loaded[slot.acc]![slot.register] = reload(scope.block, 'ld.global.cg', slot.kind, `[${place}+${offset + i * 8}]`);
  });
  foldAll(b, scope, into, loaded);
}

/** Only the last block of this row of blocks goes on; the others leave. */
function waitForAll(b: Builder, cta: string, leave: string): void {
  const { body } = b.entry;
  const flag = body.def('r', 'mov.u32', b.entry.sharedArray(16));
  const skip = b.entry.label('counted');
  body.emit('bar.sync 0');
  const first = body.def('p', 'setp.eq.u32', b.tid, 0);
  body.emit(`@!${first} bra ${skip}`);
  const counter = body.def('d', 'mad.wide.u32', cta, 4, b.frame.scratch!);
  const before = body.def('r', 'atom.global.inc.u32', `[${counter}]`, b.plan.splits - 1);
  body.emit(`st.shared.u32 [${flag}], ${before}`);
  body.emit('membar.gl');
  body.label(skip);
  body.emit('bar.sync 0');
  const arrived = body.def('r', 'ld.shared.u32', `[${flag}]`);
  const notLast = body.def('p', 'setp.ne.u32', arrived, b.plan.splits - 1);
  body.emit(`@${notLast} bra ${leave}`);
}

const widthOfSpace = (kernel: Kernel): number => kernel.space.reduce((n, d) => (d === 1 ? n : d), 1);

function renderColumns(b: Builder): number {
  const { kernel, plan, entry, tid } = b;
  const { body } = entry;
  const { group, vector, unroll } = plan;
  const deep = plan.threads / group;
  const width = widthOfSpace(kernel);
  const across = Math.ceil(width / (group * vector));
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const outer = body.def('r', 'div.u32', cta, across);
  const tile = body.def('r', 'sub.u32', cta, body.def('r', 'mul.lo.u32', outer, across));
  const tx = body.def('r', 'and.b32', tid, group - 1);
  const ty = toIndex(b, body.def('r', 'shr.u32', tid, Math.log2(group)));
  const wanted = body.def('r', 'mul.lo.u32', body.def('r', 'mad.lo.u32', tile, group, tx), vector);
  const ragged = width % (group * vector) !== 0;
  const x = ragged ? body.def('r', 'min.u32', wanted, width - vector) : wanted;
  const row = body.def(b.kind, `mad.lo.${b.s}`, toIndex(b, outer), width, toIndex(b, x));
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
    countedLoop(b, scope, p, deep, plan.splits, (inner) => {
      const place = partialOffset(b, p, row, inner);
      again.forEach((states_, l) => {
        loadPartial(b, inner, states_, place, l * stateBytes(b));
      });
    });
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
    const outside = body.def('p', 'setp.ge.u32', wanted, width);
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
  scope: Scope,
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

function storeOutputs(b: Builder, scope: Scope, lanes: readonly States[], row: string, width: number): void {
  const { body } = b.entry;
  const accumulators = b.kernel.accumulators.map((a, i) =>
    lanes.map((states) => resultOf(body, a, states[i]!, b.bits)),
  );
  const finished = scope.extend({ accumulators, width });
  const values = b.kernel.outputs.map((o) => finished.values(o.value));
  b.kernel.outputs.forEach((o, k) => {
    const size = dtypeInfo[o.type].bytes;
    const address =
      b.bits === 32
        ? body.def('d', 'mad.wide.s32', row, size, b.frame.outputs[k]!)
        : body.def('d', 'mad.lo.s64', row, size, b.frame.outputs[k]!);
    emitStore(finished, o.type, values[k]!, width, address, 0);
  });
}
