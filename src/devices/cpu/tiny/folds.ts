// Reductions of the tiny-kernel interpreter: `rows` results, each from `length` values.
//
// Float sums and products are pairwise and rounded at every step, as a device computes them, but for long sums of f32, and those down columns;
// the order depends on the length, the type and whether the values of a row lie side by side, and on nothing else. A sum of negative zeros
// is 0. Positions of extremes are the first, and the first NaN wins.

import { type DType, is64BitInt, isFloat, type TypedArray } from '../../../base/dtype.ts';
import type { ReduceOp } from '../../../kernel/ops.ts';
import { meaning, roundTo, type Value } from '../../../kernel/semantics.ts';

/** The first value is at `base`, rows are `apart` from each other, values of a row `step`; the first result goes to `at`. */
export type Fold = (
  values: TypedArray,
  base: number,
  apart: number,
  step: number,
  rows: number,
  length: number,
  out: TypedArray,
  at: number,
) => void;

type Combine = (a: Value, b: Value) => Value;

function rounded(op: 'add' | 'mul' | 'max' | 'min', type: DType): Combine {
  const apply = meaning(op, type)!;
  const round = roundTo[type];
  return (a, b) => round(apply(a, b, 0));
}

/** Halves until eight or fewer are left, so that the error grows with the logarithm of the length. */
function pairwise(values: TypedArray, at: number, step: number, n: number, combine: Combine): Value {
  if (n <= 8) {
    let acc: Value = values[at]!;
    for (let i = 1; i < n; i++) acc = combine(acc, values[at + i * step]!);
    return acc;
  }
  const half = n >> 1;
  return combine(
    pairwise(values, at, step, half, combine),
    pairwise(values, at + half * step, step, n - half, combine),
  );
}

// Sums of neighbouring f32 are by far the most common. Short ones have NumPy's order: up to 128 elements in eight sums side by side, and
// halves of more. Rounding every step to f32 takes JavaScript three conversions, so longer ones are added up in double precision
// and rounded once: that is NumPy's value or one nearer to the truth. What is beyond f32 then is left to the steps.

const { fround } = Math;
/** Values side by side from which on they are. */
export const longSum = 64;
const largest32 = 2 ** 127 * (2 - 2 ** -23);
/** Whether a sum in double precision is within f32, and not lost. */
export const isSum32 = (sum: number): boolean => Math.abs(sum) <= largest32;

function sum32Of(v: Float32Array, base: number, n: number): number {
  if (n < longSum) return neighbours32(v, base, n);
  // Tells the engine that positions are whole numbers, so that it need not look at every step.
  const at = base | 0;
  let a = 0 + v[at]!;
  let b = v[at + 1]!;
  let c = v[at + 2]!;
  let d = v[at + 3]!;
  let e = v[at + 4]!;
  let f = v[at + 5]!;
  let g = v[at + 6]!;
  let h = v[at + 7]!;
  const whole = at + (n & ~7);
  for (let i = at + 8; i < whole; i += 8) {
    a += v[i]!;
    b += v[i + 1]!;
    c += v[i + 2]!;
    d += v[i + 3]!;
    e += v[i + 4]!;
    f += v[i + 5]!;
    g += v[i + 6]!;
    h += v[i + 7]!;
  }
  let sum = a + b + (c + d) + (e + f + (g + h));
  for (let i = whole; i < at + n; i++) sum += v[i]!;
  return isSum32(sum) ? sum : neighbours32(v, at, n);
}

function neighbours32(v: Float32Array, at: number, n: number): number {
  if (n > 128) {
    const half = (n >> 1) & ~7;
    return fround(neighbours32(v, at, half) + neighbours32(v, at + half, n - half));
  }
  const end = at + n;
  if (n < 8) return onwards32(v, at, end, 0);
  let a = 0 + v[at]!;
  let b = v[at + 1]!;
  let c = v[at + 2]!;
  let d = v[at + 3]!;
  let e = v[at + 4]!;
  let f = v[at + 5]!;
  let g = v[at + 6]!;
  let h = v[at + 7]!;
  const whole = at + (n & ~7);
  for (let i = at + 8; i < whole; i += 8) {
    a = fround(a + v[i]!);
    b = fround(b + v[i + 1]!);
    c = fround(c + v[i + 2]!);
    d = fround(d + v[i + 3]!);
    e = fround(e + v[i + 4]!);
    f = fround(f + v[i + 5]!);
    g = fround(g + v[i + 6]!);
    h = fround(h + v[i + 7]!);
  }
  const first = fround(fround(a + b) + fround(c + d));
  const second = fround(fround(e + f) + fround(g + h));
  return onwards32(v, whole, end, fround(first + second));
}

/** One after the other. */
function onwards32(v: Float32Array, from: number, end: number, start: number): number {
  let sum = start;
  for (let i = from; i < end; i++) sum = fround(sum + v[i]!);
  return sum;
}

/** Sums of products of two stretches of neighbouring values, long ones, as `sum` takes them of products that were stored. */
export function sumProducts32(
  v: Float32Array,
  base: number,
  w: Float32Array,
  other: number,
  rows: number,
  length: number,
  out: TypedArray,
  at: number,
): void {
  for (let r = 0; r < rows; r++) out[at + r] = products32Of(v, base + r * length, w, other + r * length, length);
}

function products32Of(v: Float32Array, base: number, w: Float32Array, other: number, n: number): number {
  const at = base | 0;
  const apart = (other - base) | 0;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = 0;
  let f = 0;
  let g = 0;
  let h = 0;
  const whole = at + (n & ~7);
  for (let i = at; i < whole; i += 8) {
    const k = i + apart;
    a += fround(v[i]! * w[k]!);
    b += fround(v[i + 1]! * w[k + 1]!);
    c += fround(v[i + 2]! * w[k + 2]!);
    d += fround(v[i + 3]! * w[k + 3]!);
    e += fround(v[i + 4]! * w[k + 4]!);
    f += fround(v[i + 5]! * w[k + 5]!);
    g += fround(v[i + 6]! * w[k + 6]!);
    h += fround(v[i + 7]! * w[k + 7]!);
  }
  let sum = a + b + (c + d) + (e + f + (g + h));
  for (let i = whole; i < at + n; i++) sum += fround(v[i]! * w[i + apart]!);
  if (isSum32(sum)) return sum;
  const products = new Float32Array(n);
  for (let i = 0; i < n; i++) products[i] = v[at + i]! * w[at + apart + i]!;
  return neighbours32(products, 0, n);
}

/** Sums of f32. */
export const sum32: Fold = (values, base, apart, step, rows, length, out, at) => {
  const v = values as Float32Array;
  if (step === 0) anySum32(values, base, apart, step, rows, length, out, at);
  else if (step === 1) for (let r = 0; r < rows; r++) out[at + r] = sum32Of(v, base + r * apart, length);
  else columnSums32(v, base, apart, step, rows, length, out, at);
};

/** Value after value in double precision, four columns at a time: an addition need not wait for the one before. */
function columnSums32(
  v: Float32Array,
  base: number,
  apart: number,
  step: number,
  rows: number,
  length: number,
  out: TypedArray,
  at: number,
): void {
  let r = 0;
  for (; r + 4 <= rows; r += 4) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    let k = (base + r * apart) | 0;
    for (let i = 0; i < length; i++, k += step) {
      a += v[k]!;
      b += v[k + apart]!;
      c += v[k + 2 * apart]!;
      d += v[k + 3 * apart]!;
    }
    out[at + r] = a;
    out[at + r + 1] = b;
    out[at + r + 2] = c;
    out[at + r + 3] = d;
  }
  for (; r < rows; r++) {
    let sum = 0;
    let k = (base + r * apart) | 0;
    for (let i = 0; i < length; i++, k += step) sum += v[k]!;
    out[at + r] = sum;
  }
}

const combining =
  (op: 'add' | 'mul' | 'max' | 'min') =>
  (type: DType): Fold => {
    const combine = rounded(op, type);
    const isFloatSum = op === 'add' && isFloat(type);
    return (values, base, apart, step, rows, length, out, at) => {
      for (let r = 0; r < rows; r++) {
        const value = pairwise(values, base + r * apart, step, length, combine);
        out[at + r] = isFloatSum ? 0 + (value as number) : value;
      }
    };
  };

const anySum32 = combining('add')('f32');

const logic = (stopsAt: 0 | 1): Fold => {
  return (values, base, apart, step, rows, length, out, at) => {
    for (let r = 0; r < rows; r++) {
      let found: number = 1 - stopsAt;
      for (let i = 0; i < length; i++) if ((values[base + r * apart + i * step] ? 1 : 0) === stopsAt) found = stopsAt;
      out[at + r] = found;
    }
  };
};

/** Extremes of numbers, four side by side: which of equal ones is kept, nobody can tell, and NaN and the sign of zeros do not depend on the order. */
const extreme =
  (better: (a: number, b: number) => number): Fold =>
  (values, base, apart, step, rows, length, out, at) => {
    const v = values as Float32Array;
    for (let r = 0; r < rows; r++) {
      const first = base + r * apart;
      let a = v[first]!;
      let b = a;
      let c = a;
      let d = a;
      let i = 1;
      for (let k = first + step; i + 4 <= length; i += 4, k += 4 * step) {
        a = better(a, v[k]!);
        b = better(b, v[k + step]!);
        c = better(c, v[k + 2 * step]!);
        d = better(d, v[k + 3 * step]!);
      }
      for (; i < length; i++) a = better(a, v[first + i * step]!);
      out[at + r] = better(better(a, b), better(c, d));
    }
  };

/** `behind`: one value does not beat the best so far. It is true of no NaN. */
const position =
  (behind: (v: Value, best: Value) => boolean): Fold =>
  (values, base, apart, step, rows, length, out, at) => {
    for (let r = 0; r < rows; r++) {
      const first = base + r * apart;
      let best: Value = values[first]!;
      let found = 0;
      for (let i = 1; i < length && !Number.isNaN(best); i++) {
        const v = values[first + i * step]!;
        if (behind(v, best)) continue;
        best = v;
        found = i;
      }
      out[at + r] = found;
    }
  };

export const folds: Readonly<Record<ReduceOp, (type: DType) => Fold>> = {
  sum: (type) => (type === 'f32' ? sum32 : combining('add')(type)),
  prod: combining('mul'),
  max: (type) => (is64BitInt(type) ? combining('max')(type) : extreme((a, b) => Math.max(a, b))),
  min: (type) => (is64BitInt(type) ? combining('min')(type) : extreme((a, b) => Math.min(a, b))),
  any: () => logic(1),
  all: () => logic(0),
  argmax: () => position((v, best) => v <= best),
  argmin: () => position((v, best) => v >= best),
};
