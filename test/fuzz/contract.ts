// Einstein summation and pooling in the fuzzer's evaluator, straight from their definitions.

import { accumulatorFor, type DType, isFloat, isSigned, promote } from '../../src/base/dtype.ts';
import { sizeOf } from '../../src/base/shape.ts';
import { roundTo, type Value } from '../../src/kernel/semantics.ts';
import { extreme, floatSum, statistic, strays, type Term } from './accumulate.ts';
import { cast } from './elementwise.ts';
import { type Bounded, epsilon, fill, ravel, undecided, unravel, whole } from './value.ts';

/** The parts of `ab,bc->ac`. */
export interface Spec {
  readonly inputs: readonly string[];
  readonly output: string;
}

export const textOf = ({ inputs, output }: Spec): string => `${inputs.join(',')}->${output}`;

/** The size of every label; axes of size 1 stretch between operands. */
export function sizesOf({ inputs }: Spec, operands: readonly Bounded[]): Map<string, number> {
  const sizes = new Map<string, number>();
  inputs.forEach((labels, k) => {
    [...labels].forEach((label, i) => {
      const d = operands[k]!.shape[i]!;
      if ((sizes.get(label) ?? 1) === 1) sizes.set(label, d);
    });
  });
  return sizes;
}

/** Every product, summed: the definition, however a device goes about it. */
export function einsum(spec: Spec, operands: readonly Bounded[]): Bounded {
  const dtype = operands.map((x) => x.dtype).reduce(promote);
  const xs = operands.map((x) => cast(x, dtype));
  const sizes = sizesOf(spec, xs);
  const summed = [...sizes.keys()].filter((l) => !spec.output.includes(l));
  const [kept, inner] = [[...spec.output], summed].map((list) => list.map((l) => sizes.get(l)!)) as [
    number[],
    number[],
  ];
  const count = sizeOf(inner);
  const at = (k: number, outer: readonly number[], within: readonly number[]): number => {
    const { shape } = xs[k]!;
    const position = [...spec.inputs[k]!].map((l, i) => {
      if (shape[i] === 1) return 0;
      const o = spec.output.indexOf(l);
      return o >= 0 ? outer[o]! : within[summed.indexOf(l)]!;
    });
    return ravel(position, shape);
  };
  return fill(dtype, kept, (i) => {
    const outer = unravel(i, kept);
    const places = Array.from({ length: count }, (_, j) => {
      const within = unravel(j, inner);
      return xs.map((_, k) => at(k, outer, within));
    });
    return isFloat(dtype) ? floatTotal(dtype, xs, places) : wholeTotal(dtype, xs, places);
  });
}

function floatTotal(dtype: DType, xs: readonly Bounded[], places: readonly (readonly number[])[]): [number, number] {
  const wide = accumulatorFor(dtype);
  // Which operands are multiplied or summed first is open wherever there is a choice.
  const steps = xs.length + (places.length > 1 ? 1 : 0);
  const terms = places.map((at): Term => {
    const factors = at.map((p, k): Term => [xs[k]!.values[p] as number, xs[k]!.errors[p]!]);
    if (steps > 2 && strays(factors, wide, places.length)) return [0, undecided];
    let [v, e] = [1, 0];
    for (const [w, f] of factors) {
      // Infinities may cancel or not, depending on which sums are taken first.
      if (f === undecided || !Number.isFinite(w)) e = undecided;
      else [v, e] = [v * w, Math.abs(v) * f + Math.abs(w) * e + e * f];
    }
    return e === undecided ? [0, undecided] : [v, e];
  });
  const [v, e] = floatSum(terms, wide, dtype);
  const exact = terms.every(([t]) => Number.isInteger(t));
  // Each product is rounded once for every operand beside the first, and what is summed first once more.
  const products = exact ? 0 : 2 * xs.length * epsilon(wide) * terms.reduce((s, [t]) => s + Math.abs(t), 0);
  return [v, e === undecided ? e : e + products];
}

function wholeTotal(
  dtype: DType,
  xs: readonly Bounded[],
  places: readonly (readonly number[])[],
): readonly [Value, number] {
  const sum = places.reduce((s, at) => s + at.reduce((p, q, k) => p * BigInt(xs[k]!.values[q]!), 1n), 0n);
  const bad = places.some((at) => at.some((q, k) => xs[k]!.errors[q] !== 0));
  return whole(wrapped(dtype, sum), bad ? undecided : 0);
}

/** A whole number as the type holds it. */
export function wrapped(dtype: DType, v: bigint): Value {
  if (dtype === 'bool') return v === 0n ? 0 : 1;
  return dtype === 'i64' || dtype === 'u64' ? roundTo[dtype](v) : roundTo[dtype](Number(BigInt.asIntN(32, v)));
}

const lowest = (t: DType): Value => {
  if (isFloat(t)) return Number.NEGATIVE_INFINITY;
  if (!isSigned(t)) return t === 'u64' ? 0n : 0;
  return t === 'i64' ? -(2n ** 63n) : -(2 ** 31);
};

/** Largest or mean element of windows over the last axes. What lies outside never is the largest, and counts as zero in a mean. */
export function pool(
  op: 'maxPool' | 'avgPool',
  x: Bounded,
  window: readonly number[],
  stride: readonly number[],
  padding: number,
): Bounded {
  const first = x.shape.length - window.length;
  const counts = window.map((k, i) => Math.floor((x.shape[first + i]! + 2 * padding - k) / stride[i]!) + 1);
  const shape = [...x.shape.slice(0, first), ...counts, ...window];
  const outside: Value = op === 'maxPool' ? lowest(x.dtype) : x.dtype === 'i64' || x.dtype === 'u64' ? 0n : 0;
  const windows = fill(x.dtype, shape, (i) => {
    const at = unravel(i, shape);
    const position = at
      .slice(0, x.shape.length)
      .map((p, d) => (d < first ? p : p * stride[d - first]! + at[d + window.length]! - padding));
    if (position.some((p, d) => p < 0 || p >= x.shape[d]!)) return [outside, 0];
    const from = ravel(position, x.shape);
    return [x.values[from]!, x.errors[from]!];
  });
  const axes = window.map((_, i) => x.shape.length + i);
  return op === 'maxPool' ? extreme('max', windows, axes) : statistic('mean', windows, axes);
}
