// For the tests of the decompositions: an evaluator that rounds after every op, and distances in units in the last place.

import type { DType } from '../../src/base/dtype.ts';
import { decompose } from '../../src/kernel/decompose/index.ts';
import type { Native } from '../../src/kernel/decompose/lowering.ts';
import { type Expr, Exprs } from '../../src/kernel/expr.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { type AluOp, aluOps } from '../../src/kernel/ops.ts';
import { bitcastValue, castValue, meaning, roundTo, type Value } from '../../src/kernel/semantics.ts';
import { operands } from '../../src/kernel/walk.ts';

const basic: readonly AluOp[] = [
  ...(['add', 'sub', 'mul', 'div', 'max', 'min', 'eq', 'ne', 'lt', 'le', 'where', 'neg', 'abs'] as const),
  ...(['floor', 'ceil', 'trunc', 'round', 'sqrt', 'and', 'or', 'xor', 'not'] as const),
];

/** A device with nothing but plain arithmetic, on every type but the halves and u8. */
export const plain: Native = Object.fromEntries(
  (['bool', 'i32', 'u32', 'i64', 'u64', 'f32', 'f64'] as const).map((t) => [t, new Set(basic)]),
);

export function kernelOf(value: Expr, type: DType): Kernel {
  return {
    kind: 'kernel',
    name: 'test',
    space: [1],
    reduced: [],
    accumulators: [],
    outputs: [{ type, value }],
    inputs: [],
    scalars: [],
    inPlace: [],
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
}

/** `op` of loads from slots 0, 1, …, decomposed for a device. */
export function decomposed(op: AluOp, type: DType, native: Native = plain, skipsArms = false): Expr {
  const b = new Exprs();
  const at = b.const('index', 0);
  const src = Array.from({ length: aluOps[op].arity }, (_, i) => b.load(type, i, at));
  return decompose(kernelOf(b.alu(op, ...src), type), native, { skipsArms }).outputs[0]!.value;
}

/** Every expression that `root` consists of, operands first. */
export function expressions(root: Expr): Expr[] {
  const found = new Set<Expr>();
  const visit = (e: Expr): void => {
    if (found.has(e)) return;
    for (const s of operands(e)) visit(s);
    found.add(e);
  };
  visit(root);
  return [...found];
}

/** Compiles an expression over loads into a function of their values; each op is rounded to its type. */
export function evaluator(root: Expr): (...inputs: Value[]) => Value {
  const order = expressions(root);
  const at = new Map(order.map((e, i) => [e, i]));
  const values: Value[] = new Array(order.length).fill(0);
  const steps = order.map((e, i) => step(e, i, (s) => at.get(s)!, values));
  return (...inputs) => {
    for (const run of steps) run(inputs);
    return values[values.length - 1]!;
  };
}

type EvaluationStep = (inputs: readonly Value[]) => void;

function step(e: Expr, i: number, at: (e: Expr) => number, values: Value[]): EvaluationStep {
  switch (e.kind) {
    case 'const':
      return () => (values[i] = e.value);
    case 'load':
      return (inputs) => (values[i] = inputs[e.slot]!);
    case 'cast': {
      const [from, source] = [e.src[0].type, at(e.src[0])];
      const convert = e.bits ? bitcastValue : castValue;
      return () => (values[i] = convert(values[source]!, from, e.type));
    }
    case 'alu': {
      const apply = meaning(e.op, e.src[e.src.length - 1]!.type);
      if (!apply) throw new Error(`${e.op} has no meaning for ${e.src[0]!.type}`);
      const round = roundTo[e.type];
      const [x, y, z] = e.src.map(at) as [number, number, number];
      if (e.src.length === 1) return () => (values[i] = round(apply(values[x]!, 0, 0)));
      if (e.src.length === 2) return () => (values[i] = round(apply(values[x]!, values[y]!, 0)));
      return () => (values[i] = values[values[x] ? y : z]!);
    }
    default:
      throw new Error(`the evaluator has no ${e.kind}`);
  }
}

const precision = {
  f32: { mantissa: 24, smallest: -149, largest: 2 ** 127 * (2 - 2 ** -23), top: 2 ** 104 },
  f64: { mantissa: 53, smallest: -1074, largest: Number.MAX_VALUE, top: 2 ** 971 },
} as const;

/**
 * The distance of a result from the true value `high + low`, in units in the last place of the true value. Infinite where
 * one is NaN, infinite or of the wrong sign and the other is not; a result that overflowed counts as the next power of two.
 */
export function ulps(type: 'f32' | 'f64', got: number, high: number, low = 0): number {
  const p = precision[type];
  if (Number.isNaN(high) || Number.isNaN(got)) return Object.is(high, got) ? 0 : Number.POSITIVE_INFINITY;
  if (!Number.isFinite(high)) return got === high ? 0 : Number.POSITIVE_INFINITY;
  if (high === 0) return Object.is(got, high) ? 0 : Number.POSITIVE_INFINITY;
  if (Math.sign(high) === -Math.sign(got) || Object.is(got, -0) !== (got === 0 && high < 0))
    return Number.POSITIVE_INFINITY;
  if (!Number.isFinite(got)) {
    // An f32 result may be infinite for a true value that a double still holds.
    if (Math.fround(high) === got && type === 'f32') return 0;
    return Math.abs(Math.abs(high) - p.largest) / p.top + 1;
  }
  const exponent = Math.max(exponentOf(high) - p.mantissa + 1, p.smallest);
  // In two steps, as 2^1074 is out of range.
  const half = Math.trunc(exponent / 2);
  return Math.abs(((got - high) / 2 ** half - low / 2 ** half) / 2 ** (exponent - half));
}

const view = new DataView(new ArrayBuffer(8));

function exponentOf(v: number): number {
  view.setFloat64(0, v);
  const e = (view.getUint16(0) >> 4) & 0x7ff;
  if (e > 0) return e - 1023;
  view.setFloat64(0, v * 2 ** 64);
  return ((view.getUint16(0) >> 4) & 0x7ff) - 1023 - 64;
}
