// Conversions between dtypes with TF.js's rules.

import type { DType, Runtime, Tensor } from '../../index.ts';

const two32 = 2 ** 32;

/** JavaScript's ToInt32, which is what a typed array of TF.js does with a float: no fraction, modulo 2^32, 0 for NaN and ∞. */
export function toInt(rt: Runtime, x: Tensor): Tensor {
  if (x.dtype === 'i32') return x;
  if (x.dtype !== 'f32') return x.cast('i32');
  const whole = x.trunc();
  // Exact: scaling by a power of two loses nothing, and the remainder has no more digits than x.
  const positive = whole.sub(whole.div(two32).floor().mul(two32));
  const wrapped = rt.where(positive.greaterEqual(two32 / 2), positive.sub(two32), positive);
  return rt.where(x.abs().less(two32 / 2), whole, rt.where(x.isfinite(), wrapped, 0)).cast('i32');
}

/** A result computed as numbers, in the dtype it is stored in. */
export function stored(rt: Runtime, y: Tensor, dtype: DType): Tensor {
  if (y.dtype === dtype) return y;
  return dtype === 'i32' ? toInt(rt, y) : y.cast(dtype);
}

/** Bools count as numbers in arithmetic. */
export const numbers = (x: Tensor): Tensor => (x.dtype === 'bool' ? x.cast('i32') : x);
