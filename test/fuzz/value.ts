// Arrays with error bounds: what the fuzzer's own evaluator computes with.
//
// Each element has a value and a bound on how far a correct device may be from it. A bound of 0 means exactly this; an
// infinite bound means that rounding decides (a comparison of values that nearly agree, an overflow): such elements
// are not compared. Integers and bools are exact or undecided.

import type { DType } from '../../src/base/dtype.ts';
import { sizeOf, stridesOf } from '../../src/base/shape.ts';
import { roundTo, type Value } from '../../src/kernel/semantics.ts';
import { precision, ulpAt } from '../cases/compare.ts';

export interface Bounded {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: readonly Value[];
  readonly errors: Float64Array;
}

export const undecided = Number.POSITIVE_INFINITY;

export const largest: Readonly<Partial<Record<DType, number>>> = {
  f16: 65504,
  bf16: (2 - 2 ** -7) * 2 ** 127,
  f32: (2 - 2 ** -23) * 2 ** 127,
  f64: Number.MAX_VALUE,
};

/** Bits of a whole number that the type holds exactly. */
export const precisionOf = (dtype: DType): number => precision[dtype]![0] + 1;

export const epsilon = (dtype: DType): number => 2 ** -precision[dtype]![0];

/** Zero, as the type has it. */
export const zeroOf = (t: DType): Value => (t === 'i64' || t === 'u64' ? 0n : 0);

/** More elements than are worth evaluating. */
export class TooLarge extends Error {}
const most = 100_000;

/** The number of elements of a shape that is worth evaluating. */
export function countOf(shape: readonly number[]): number {
  const n = sizeOf(shape);
  if (n > most) throw new TooLarge();
  return n;
}

/** An array made element by element. */
export function fill(dtype: DType, shape: readonly number[], at: (i: number) => readonly [Value, number]): Bounded {
  const n = countOf(shape);
  const values = new Array<Value>(n);
  const errors = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const [v, e] = at(i);
    values[i] = v;
    errors[i] = Number.isNaN(e) ? undecided : e;
  }
  return { dtype, shape, values, errors };
}

/**
 * A float result: rounds the true value into the dtype and widens the bound by `ulps` of rounding error, unless the value
 * is exact there. Overflow is left undecided, because a device may keep more range between fused ops.
 */
export function rounded(dtype: DType, value: number, error: number, ulps: number): readonly [number, number] {
  if (error === undecided || Number.isNaN(error)) return [0, undecided];
  if (!Number.isFinite(value)) return error === 0 ? [value, 0] : [0, undecided];
  const v = roundTo[dtype](value) as number;
  if (!Number.isFinite(v) || Math.abs(value) + error > 0.999 * largest[dtype]!) return [0, undecided];
  // Below the normal numbers a device may flush to zero.
  const smallest = 2 ** precision[dtype]![1];
  const flushed = value !== 0 && Math.abs(v) < 2 * smallest ? smallest : 0;
  const inexact = v !== value || ulps > 1;
  return [v, inexact || error + flushed > 0 ? error + flushed + ulps * ulpAt(dtype, v) : 0];
}

/** An exact op on floats: one rounding. Values that come out exact stay exact. */
export const exactly = (dtype: DType, value: number, error: number): readonly [number, number] =>
  rounded(dtype, value, error, 1);

/** An integer or bool: exact, or undecided if an operand was. */
export const whole = (v: Value, ...errors: readonly number[]): readonly [Value, number] =>
  errors.every((e) => e === 0) ? [v, 0] : [typeof v === 'bigint' ? 0n : 0, undecided];

/** For every element of a broadcast shape, its position in an array of another shape. */
export function broadcastIndex(shape: readonly number[], target: readonly number[]): (i: number) => number {
  const strides = stridesOf(target);
  const own = stridesOf(shape);
  const offset = target.length - shape.length;
  return (i) => {
    let at = 0;
    for (let d = 0; d < shape.length; d++) {
      if (shape[d] === 1) continue;
      at += (Math.floor(i / strides[d + offset]!) % target[d + offset]!) * own[d]!;
    }
    return at;
  };
}

/** The same elements at other places. */
export function moved(x: Bounded, shape: readonly number[], from: (i: number) => number): Bounded {
  return fill(x.dtype, shape, (i) => {
    const at = from(i);
    return [x.values[at]!, x.errors[at]!];
  });
}

/** Position of a linear index as coordinates. */
export function unravel(i: number, shape: readonly number[]): number[] {
  const out = new Array<number>(shape.length);
  for (let d = shape.length - 1; d >= 0; d--) {
    out[d] = i % shape[d]!;
    i = Math.floor(i / shape[d]!);
  }
  return out;
}

export function ravel(at: readonly number[], shape: readonly number[]): number {
  let i = 0;
  for (let d = 0; d < shape.length; d++) i = i * shape[d]! + at[d]!;
  return i;
}

/** Lowest and highest value an element may have. */
export const interval = (v: number, e: number): readonly [number, number] => [v - e, v + e];
