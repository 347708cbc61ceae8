// Runs a kernel one element at a time, in double precision, straight from its definition.
//
// Slow and obvious on purpose: this is what every other device is compared with. Each op is computed in double precision and
// rounded to its type, as a device rounds it; sums are exact to the last bits of a double before they are rounded.

import type { DType } from '../../base/dtype.ts';
import { sizeOf } from '../../base/shape.ts';
import type { Expr } from '../../kernel/expr.ts';
import { highest, lowest } from '../../kernel/identity.ts';
import type { Accumulator, Kernel } from '../../kernel/kernel.ts';
import type { ReduceOp } from '../../kernel/ops.ts';
import { bitcastValue, castValue, meaning, roundTo, type Value } from '../../kernel/semantics.ts';

/** Elements of a buffer as values: bigint for i64 and u64, number for the rest. */
export interface Elements {
  get(i: number): Value;
  set(i: number, v: Value): void;
}

interface Frame {
  readonly inputs: readonly Elements[];
  readonly scalars: readonly number[];
  readonly position: number[];
  readonly accumulators: Value[];
  /** Advances whenever the position or an accumulator changes; what was computed at this tick is still valid. */
  tick: number;
}

type Evaluate = (f: Frame) => Value;

/** Compiles an expression to a closure that computes it once per position, however often it is used. */
function compile(e: Expr, memo: Map<Expr, Evaluate>): Evaluate {
  const known = memo.get(e);
  if (known) return known;
  const evaluate = build(e, memo);
  let at = -1;
  let value: Value = 0;
  const once: Evaluate = (f) => {
    if (at !== f.tick) {
      value = evaluate(f);
      at = f.tick;
    }
    return value;
  };
  memo.set(e, once);
  return once;
}

function build(e: Expr, memo: Map<Expr, Evaluate>): Evaluate {
  switch (e.kind) {
    case 'const': {
      const v = e.value;
      return () => v;
    }
    case 'scalar': {
      const { slot, type } = e;
      return (f) => castValue(f.scalars[slot]!, 'f64', type);
    }
    case 'axis': {
      const { axis } = e;
      return (f) => f.position[axis]!;
    }
    case 'load': {
      const { slot } = e;
      const index = compile(e.index, memo);
      const gate = e.gate && compile(e.gate, memo);
      const zero = roundTo[e.type](e.type === 'i64' || e.type === 'u64' ? 0n : 0);
      return (f) => (gate && !gate(f) ? zero : f.inputs[slot]!.get(index(f) as number));
    }
    case 'acc': {
      const { slot } = e;
      return (f) => f.accumulators[slot]!;
    }
    case 'cast': {
      const from = e.src[0].type;
      const to = e.type;
      const value = compile(e.src[0], memo);
      return e.bits ? (f) => bitcastValue(value(f), from, to) : (f) => castValue(value(f), from, to);
    }
    case 'alu': {
      const type = e.src[e.src.length - 1]!.type;
      const apply = meaning(e.op, type);
      if (!apply) throw new Error(`reference: ${e.op} has no meaning for ${type}`);
      const src = e.src.map((s) => compile(s, memo));
      const [a, b, c] = src as [Evaluate, Evaluate, Evaluate];
      const round = roundTo[e.type];
      if (src.length === 1) return (f) => round(apply(a(f), 0, 0));
      if (src.length === 2) return (f) => round(apply(a(f), b(f), 0));
      // Only the chosen branch is evaluated, as gates rely on.
      return (f) => (a(f) ? b(f) : c(f));
    }
    default:
      return e satisfies never;
  }
}

interface Fold {
  readonly start: (type: DType) => Value;
  readonly step: (acc: Value, v: Value, type: DType) => Value;
}

const big = (t: DType): boolean => t === 'i64' || t === 'u64';
const extreme = (better: 'max' | 'min') => (acc: Value, v: Value, type: DType) => meaning(better, type)!(acc, v, 0);

/** How each accumulator combines values, one after the other. */
const folds: Readonly<Record<Exclude<ReduceOp, 'argmax' | 'argmin'>, Fold>> = {
  sum: { start: (t) => (big(t) ? 0n : 0), step: (a, v, t) => wrapInt(meaning('add', t)!(a, v, 0), t) },
  prod: { start: (t) => (big(t) ? 1n : 1), step: (a, v, t) => wrapInt(meaning('mul', t)!(a, v, 0), t) },
  max: { start: (t) => lowest[t], step: extreme('max') },
  min: { start: (t) => highest[t], step: extreme('min') },
  any: { start: () => 0, step: (a, v) => (a || v ? 1 : 0) },
  all: { start: () => 1, step: (a, v) => (a && v ? 1 : 0) },
};

const wrapInt = (v: Value, t: DType): Value => (t.startsWith('f') || t === 'bf16' ? v : roundTo[t](v));

function accumulate(acc: Accumulator, values: readonly Value[]): Value {
  if (acc.op === 'argmax' || acc.op === 'argmin') {
    const nan = values.findIndex((v) => Number.isNaN(v));
    if (nan >= 0) return nan;
    let best = 0;
    values.forEach((v, i) => {
      if (acc.op === 'argmax' ? v > values[best]! : v < values[best]!) best = i;
    });
    return best;
  }
  const fold = folds[acc.op];
  if (acc.op === 'sum' && !big(acc.type) && (acc.type.startsWith('f') || acc.type === 'bf16'))
    return compensatedSum(values as number[]);
  return values.reduce((a, v) => fold.step(a, v, acc.type), fold.start(acc.type));
}

/** Neumaier's sum, so that the oracle of long sums is exact to the last bits of a double. */
function compensatedSum(values: readonly number[]): number {
  let sum = 0;
  let lost = 0;
  for (const v of values) {
    const t = sum + v;
    lost += Math.abs(sum) >= Math.abs(v) ? sum - t + v : v - t + sum;
    sum = t;
  }
  return Number.isFinite(lost) ? sum + lost : sum;
}

export function interpret(
  kernel: Kernel,
  inputs: readonly Elements[],
  outputs: readonly Elements[],
  scalars: readonly number[],
): void {
  const memo = new Map<Expr, Evaluate>();
  const frame: Frame = { inputs, scalars, position: [], accumulators: [], tick: 0 };
  const values = kernel.accumulators.map((a) => compile(a.value, memo));
  const results = kernel.outputs.map((o) => compile(o.value, memo));
  const space = [...kernel.space];
  const total = sizeOf(space);
  const reducedSize = sizeOf(kernel.reduced);
  for (let i = 0; i < total; i++) {
    unravel(i, space, 0, frame.position);
    if (kernel.accumulators.length > 0) {
      const lists: Value[][] = values.map(() => []);
      for (let r = 0; r < reducedSize; r++) {
        unravel(r, kernel.reduced, space.length, frame.position);
        frame.tick++;
        for (let k = 0; k < values.length; k++) lists[k]!.push(values[k]!(frame));
      }
      kernel.accumulators.forEach((a, k) => {
        const isPosition = a.op === 'argmax' || a.op === 'argmin';
        frame.accumulators[k] = roundTo[isPosition ? 'i32' : a.type](accumulate(a, lists[k]!));
      });
    }
    frame.tick++;
    // All outputs are computed before any is stored: an output may share a buffer with an input.
    const row = results.map((r) => r(frame));
    for (let k = 0; k < row.length; k++) outputs[k]!.set(i, row[k]!);
  }
}

function unravel(linear: number, sizes: readonly number[], at: number, position: number[]): void {
  for (let d = sizes.length - 1; d >= 0; d--) {
    position[at + d] = linear % sizes[d]!;
    linear = Math.floor(linear / sizes[d]!);
  }
}
