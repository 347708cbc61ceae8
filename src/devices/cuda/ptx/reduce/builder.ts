// What all parts of a reduction share: the kernel being built, states of accumulators, folding, storing results.

import { dtypeInfo } from '../../../../base/dtype.ts';
import type { Accumulator, Kernel } from '../../../../kernel/kernel.ts';
import type { Together } from '../../../../kernel/together.ts';
import { emitAlu } from '../alu.ts';
import type { EntryPoint, RegKind } from '../code.ts';
import { combineOf, fold, resultOf, type State, startState, stateKinds } from '../combine.ts';
import { emitStore, firstOf } from '../memory.ts';
import type { ReducePlan } from '../plan.ts';
import { manyRootsOf, rootsTogether } from '../roots.ts';
import type { PtxScope } from '../scope.ts';
import type { Frame } from '../shape.ts';
import { type IndexBits, isFloatType, literal } from '../types.ts';
import { lane } from '../values.ts';

/** States of all accumulators of one element: [accumulator][register]. */
export type States = readonly State[];

export interface Builder {
  readonly kernel: Kernel;
  /** The same, with how its outputs lie. */
  readonly near: Together;
  readonly plan: ReducePlan;
  readonly entry: EntryPoint;
  readonly frame: Frame;
  readonly bits: IndexBits;
  readonly s: string;
  readonly kind: RegKind;
  readonly tid: string;
  readonly rows: number;
  readonly columns: number;
}

/** What it takes to fold the states of several threads. */
export type Combining = Pick<Builder, 'entry' | 'bits' | 'kind' | 's' | 'tid'> & {
  readonly kernel: Pick<Kernel, 'accumulators'>;
};

export const slotsOf = (b: Combining): { acc: number; register: number; kind: RegKind }[] =>
  b.kernel.accumulators.flatMap((a, acc) => stateKinds(a, b.bits).map((kind, register) => ({ acc, register, kind })));

// Eight bytes per register keep every partial aligned.
export const stateBytes = (b: Builder): number => slotsOf(b).length * 8;

export const toIndex = (b: Builder, r: string): string => (b.bits === 32 ? r : b.entry.body.def('d', 'cvt.u64.u32', r));

export const start = (b: Combining): States => b.kernel.accumulators.map((a) => startState(b.entry.body, a, b.bits));

export const moveSuffix = (r: string): string =>
  ({ r: 'b32', d: 'b64', f: 'f32', g: 'f64', h: 'b16', p: 'pred' })[r[1] as RegKind];

export function foldAll(b: Combining, scope: PtxScope, into: States, from: States): void {
  b.kernel.accumulators.forEach((a, i) => {
    fold(scope.context, a, into[i]!, from[i]!);
  });
}

/** Whether states hold something already: the first values of all become the state themselves, see `closeSums`. */
export type Begun = boolean;

function put(scope: PtxScope, a: Accumulator, state: State, value: State, begun: Begun): void {
  if (begun || state.length > 1) fold(scope.context, a, state, value);
  else scope.block.set(state[0]!, `mov.${moveSuffix(state[0]!)}`, value[0]!);
}

/**
 * Adds the 0 that sums of floats begin with where states began with their first values: nothing but -0 becomes something else. Once for each
 * sum in the end, instead of once for each thread's part of it.
 */
export function closeSums(b: Combining, scope: PtxScope, states: States): void {
  b.kernel.accumulators.forEach((a, i) => {
    if (a.op === 'sum' && isFloatType(a.type)) fold(scope.context, a, states[i]!, [literal(scope.block, a.type, 0)]);
  });
}

/** Folds the accumulator values at one stretch of positions into `into[lane]`. `lanesReduce`: lanes are positions, not columns. */
export function foldValues(
  b: Builder,
  scope: PtxScope,
  into: readonly States[],
  position: string,
  lanesReduce: boolean,
  begun: Begun = true,
): void {
  b.kernel.accumulators.forEach((a, i) => {
    const values = scope.values(a.value);
    into.forEach((states, l) => {
      const state = states[i]!;
      const at =
        lanesReduce && l > 0 && state.length > 1 ? scope.block.def(b.kind, `add.${b.s}`, position, l) : position;
      put(scope, a, state, [lane(values, l), at], begun);
    });
  });
}

/** The same with one state for all lanes, which are positions: they are folded with each other first. */
export function foldLanes(
  b: Builder,
  scope: PtxScope,
  into: States,
  position: string,
  width: number,
  begun: Begun,
): void {
  const { accumulators } = b.kernel;
  const foldOne = (a: Accumulator, i: number): void => {
    const values = scope.values(a.value);
    const state = into[i]!;
    if (state.length > 1) {
      for (let l = 0; l < width; l++)
        fold(scope.context, a, state, [
          lane(values, l),
          l === 0 ? position : scope.block.def(b.kind, `add.${b.s}`, position, l),
        ]);
      return;
    }
    let open = Array.from({ length: width }, (_, l) => lane(values, l));
    for (; open.length > 1; open = open.slice(0, open.length / 2)) {
      const half = open.length / 2;
      for (let l = 0; l < half; l++)
        open[l] = emitAlu(scope.context, combineOf(a.op), a.type, [open[l]!, open[l + half]!]);
    }
    put(scope, a, state, [open[0]!], begun);
  };
  const roots = manyRootsOf(
    accumulators.map((a) => a.value),
    width,
    b.entry.target.fastMath,
  );
  // What they are the roots of, and all that is summed without them; the roots; the rest.
  accumulators.forEach((a, i) => {
    if (roots[i]!.length === 0) foldOne(a, i);
    else for (const root of roots[i]!) scope.values(root.src[0]!);
  });
  const all = [...new Set(roots.flat())];
  if (all.length > 0) rootsTogether(scope, all);
  accumulators.forEach((a, i) => {
    if (roots[i]!.length > 0) foldOne(a, i);
  });
}

/** Folds a list of states pairwise into the first. */
export function foldTree(b: Combining, scope: PtxScope, all: readonly States[]): void {
  for (let distance = 1; distance < all.length; distance *= 2) {
    for (let i = 0; i + distance < all.length; i += 2 * distance) foldAll(b, scope, all[i]!, all[i + distance]!);
  }
}

/** The part of the reduction this block handles: first position and end. */
export function part(b: Builder): { begin: string; end: string; index: string } {
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

export function storeOutputs(b: Builder, scope: PtxScope, lanes: readonly States[], row: string, width: number): void {
  const { body } = b.entry;
  const accumulators = b.kernel.accumulators.map((a, i) =>
    lanes.map((states) => resultOf(body, a, states[i]!, b.bits)),
  );
  const finished = scope.extend({ accumulators, width });
  const values = b.kernel.outputs.map((o) => finished.values(o.value));
  const first = firstOf(scope, b.near, row);
  const { outputs } = b.frame;
  b.kernel.outputs.forEach((o, k) => {
    const size = dtypeInfo[o.type].bytes;
    const pointer = outputs[k % outputs.length]!;
    const neighbour = Math.floor(k / outputs.length);
    const address =
      b.bits === 32
        ? body.def('d', 'mad.wide.s32', first, size, pointer)
        : body.def('d', 'mad.lo.s64', first, size, pointer);
    emitStore(finished, o.type, values[k]!, width, address, b.near.offsets[neighbour]! * size);
  });
}
