// Sums and everything made of them, in the fuzzer's evaluator.
//
// Devices may add in any order, so the bound of a sum is that of the worst order: terms × epsilon × the sum of magnitudes.
// Where all partial sums are whole numbers that the type holds exactly, every order gives the same and the bound is zero.

import { accumulatorFor, type DType, floatFor, isFloat, promote, sumTypeFor } from '../../src/base/dtype.ts';
import { sizeOf } from '../../src/base/shape.ts';
import { roundTo, type Value } from '../../src/kernel/semantics.ts';
import { cast } from './elementwise.ts';
import { lines, permute, reshape } from './rearrange.ts';
import {
  type Bounded,
  broadcastIndex,
  countOf,
  epsilon,
  fill,
  largest,
  precisionOf,
  rounded,
  undecided,
  whole,
  zeroOf,
} from './value.ts';

export type Term = readonly [value: number, error: number];

/** The sum of terms as a device might compute it in `wide`, rounded to `result`. */
export function floatSum(terms: readonly Term[], wide: DType, result: DType): readonly [number, number] {
  let sum = 0;
  let lost = 0;
  let magnitude = 0;
  let error = 0;
  let exact = true;
  for (const [v, e] of terms) {
    if (e === undecided) return [0, undecided];
    const t = sum + v;
    lost += Math.abs(sum) >= Math.abs(v) ? sum - t + v : v - t + sum;
    sum = t;
    magnitude += Math.abs(v) + e;
    error += e;
    exact &&= Number.isInteger(v);
  }
  if (!Number.isFinite(magnitude)) return Number.isFinite(error) ? nonFinite(terms, error) : [0, undecided];
  if (magnitude > 0.5 * largest[wide]!) return [0, undecided];
  const total = Number.isFinite(lost) ? sum + lost : sum;
  const inOrder = exact && magnitude < 2 ** precisionOf(wide) ? 0 : (terms.length + 2) * epsilon(wide) * magnitude;
  return rounded(result, total, error + inOrder, 1);
}

/** Infinities and NaN decide a sum in any order, unless the finite part could overflow on the way. */
function nonFinite(terms: readonly Term[], error: number): readonly [number, number] {
  if (error > 0) return [0, undecided];
  const sum = terms.reduce((s, [v]) => s + v, 0);
  const finite = terms.reduce((s, [v]) => (Number.isFinite(v) ? s + Math.abs(v) : s), 0);
  return finite > 1e30 || Number.isFinite(sum) ? [0, undecided] : [sum, 0];
}

/** Whether a product of terms, or a sum of `count` such products, could overflow or vanish on the way in some order. */
export function strays(terms: readonly Term[], wide: DType, count = 1): boolean {
  let grown = count;
  let shrunk = 1;
  for (const [v, e] of terms) {
    grown *= Math.max(1, Math.abs(v) + e);
    shrunk *= Math.min(1, v === 0 ? 1 : Math.abs(v));
  }
  return !(grown <= 0.1 * largest[wide]!) || shrunk < 2 ** (wide === 'f64' ? -900 : -100);
}

/** The product of terms: any order that could overflow or vanish on the way is undecided. */
function floatProduct(terms: readonly Term[], wide: DType, result: DType): readonly [number, number] {
  let product = 1;
  let high = 1;
  let grown = 1;
  for (const [v, e] of terms) {
    if (e === undecided || !Number.isFinite(v)) return [0, undecided];
    product *= v;
    high *= Math.abs(v) + e;
    grown *= Math.max(1, Math.abs(v) + e);
  }
  if (strays(terms, wide)) return [0, undecided];
  const wholeNumbers = terms.every(([v, e]) => e === 0 && Number.isInteger(v)) && grown < 2 ** precisionOf(wide);
  const order = wholeNumbers ? 0 : 2 * (terms.length + 1) * epsilon(wide) * high;
  return rounded(result, product, high - Math.abs(product) + order, 1);
}

/** Reduces over axes: the lines of elements that make one result, and where the results go. */
function groups(x: Bounded, axes: readonly number[]): { shape: number[]; groups: number[][] } {
  const kept = x.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  const shape = kept.map((i) => x.shape[i]!);
  const n = sizeOf(axes.map((i) => x.shape[i]!));
  const order = permute({ ...x, values: x.values.map((_, i) => i), dtype: 'i32' }, [...kept, ...axes]);
  const flat = order.values as readonly number[];
  return { shape, groups: Array.from({ length: countOf(shape) }, (_, i) => flat.slice(i * n, (i + 1) * n)) };
}

const termsOf = (x: Bounded, at: readonly number[]): Term[] => at.map((i) => [x.values[i] as number, x.errors[i]!]);
const isSteady = (x: Bounded, at: readonly number[]): number => (at.some((i) => x.errors[i] !== 0) ? undecided : 0);

export const total = (op: 'sum' | 'prod', x: Bounded, axes: readonly number[]): Bounded =>
  totalOf(op, sumTypeFor(x.dtype, x.values.length), x, axes);

/** A sum or product in a type of its own. */
export const totalAs = (op: 'sum' | 'prod', result: DType, x: Bounded, axes: readonly number[]): Bounded =>
  totalOf(op, result, cast(x, accumulatorFor(result)), axes);

function totalOf(op: 'sum' | 'prod', result: DType, x: Bounded, axes: readonly number[]): Bounded {
  const wide = accumulatorFor(result);
  const { shape, groups: parts } = groups(x, axes);
  if (isFloat(result)) {
    const fold = op === 'sum' ? floatSum : floatProduct;
    return fill(result, shape, (i) => fold(termsOf(x, parts[i]!), wide, result));
  }
  const y = cast(x, result);
  return fill(result, shape, (i) => wholeTotal(op, y, parts[i]!));
}

/** The sum or product of integers, wrapped around. */
function wholeTotal(op: 'sum' | 'prod', x: Bounded, at: readonly number[]): readonly [Value, number] {
  let v = op === 'sum' ? 0n : 1n;
  for (const i of at) v = op === 'sum' ? v + BigInt(x.values[i]!) : v * BigInt(x.values[i]!);
  const narrow = x.dtype === 'i32';
  return whole(roundTo[x.dtype](narrow ? Number(BigInt.asIntN(32, v)) : v), isSteady(x, at));
}

export function extreme(op: 'max' | 'min', x: Bounded, axes: readonly number[]): Bounded {
  const { shape, groups: parts } = groups(x, axes);
  return fill(x.dtype, shape, (i) => {
    const at = parts[i]!;
    const values = at.map((k) => x.values[k]!);
    const bound = at.reduce((m, k) => Math.max(m, x.errors[k]!), 0);
    const nan = values.find((v) => Number.isNaN(v));
    if (nan !== undefined) return bound === undecided ? [0, undecided] : [nan, 0];
    const best = values.reduce((a, b) => ((op === 'max' ? b > a : b < a) ? b : a));
    return bound === undecided ? [best, undecided] : [best, bound];
  });
}

/** The position is decided if no other element comes within reach of the best. */
export function position(op: 'argmax' | 'argmin', x: Bounded, axis: number): Bounded {
  const { shape, groups: parts } = groups(x, [axis]);
  const better = (a: Value, b: Value): boolean => (op === 'argmax' ? a > b : a < b);
  return fill('i32', shape, (i) => {
    const at = parts[i]!;
    if (at.some((k) => x.errors[k] === undecided)) return [0, undecided];
    const nan = at.findIndex((k) => Number.isNaN(x.values[k]));
    if (nan >= 0) return [nan, 0];
    let best = 0;
    for (let k = 1; k < at.length; k++) if (better(x.values[at[k]!]!, x.values[at[best]!]!)) best = k;
    const [v, e] = [x.values[at[best]!]!, x.errors[at[best]!]!];
    const close = at.some(
      (k, p) => p !== best && e + x.errors[k]! > 0 && Math.abs(Number(v) - Number(x.values[k]!)) <= e + x.errors[k]!,
    );
    return close ? [0, undecided] : [best, 0];
  });
}

export function truth(op: 'any' | 'all', x: Bounded, axes: readonly number[]): Bounded {
  const b = cast(x, 'bool');
  const { shape, groups: parts } = groups(b, axes);
  return fill('bool', shape, (i) => {
    const values = parts[i]!.map((k) => Boolean(b.values[k]));
    return whole((op === 'any' ? values.some(Boolean) : values.every(Boolean)) ? 1 : 0, isSteady(b, parts[i]!));
  });
}

export function countNonzero(x: Bounded, axes: readonly number[]): Bounded {
  const b = cast(x, 'bool');
  const { shape, groups: parts } = groups(b, axes);
  return fill('i32', shape, (i) =>
    whole(
      parts[i]!.reduce((n, k) => n + (b.values[k] as number), 0),
      isSteady(b, parts[i]!),
    ),
  );
}

/** Mean, variance, deviation, norm, logsumexp: in double, with bounds from the size of what is added. */
export function statistic(op: string, x: Bounded, axes: readonly number[]): Bounded {
  const result = floatFor(x.dtype);
  const wide = accumulatorFor(result);
  const y = cast(x, result);
  const { shape, groups: parts } = groups(y, axes);
  return fill(result, shape, (i) => statisticOf(op, termsOf(y, parts[i]!), wide, result));
}

function statisticOf(op: string, terms: readonly Term[], wide: DType, result: DType): readonly [number, number] {
  const n = terms.length;
  // Infinities and NaN take their own ways through these; the cases cover them.
  if (n === 0 || terms.some(([v, e]) => e === undecided || !Number.isFinite(v))) return [0, undecided];
  const top = terms.reduce((m, [v, e]) => Math.max(m, Math.abs(v) + e), 0);
  const off = terms.reduce((m, [, e]) => Math.max(m, e), 0);
  if (top > 0 && (top * top * n > 0.1 * largest[wide]! || top * top < 2 ** -100)) return [0, undecided];
  const sum = terms.reduce((s, [v]) => s + v, 0);
  const eps = epsilon(wide) * (n + 4);
  const mean = sum / n;
  switch (op) {
    case 'mean':
      return rounded(result, mean, off + eps * top, 2);
    case 'variance':
    case 'std': {
      const v = terms.reduce((s, [t]) => s + (t - mean) ** 2, 0) / n;
      // A distance is at most 2·top and is off by at most twice the inputs' bounds and the mean's rounding.
      const d = 2 * off + eps * top;
      const bound = 4 * top * d + d * d + eps * 4 * top * top;
      if (op === 'variance') return rounded(result, v, bound, 2);
      return rounded(
        result,
        Math.sqrt(v),
        Math.max(Math.sqrt(v + bound) - Math.sqrt(v), Math.sqrt(v) - Math.sqrt(Math.max(0, v - bound))),
        2,
      );
    }
    case 'norm': {
      const square = terms.reduce((s, [t]) => s + t * t, 0);
      const bound = n * (2 * top * off + off * off) + eps * square;
      return rounded(result, Math.sqrt(square), Math.sqrt(square + bound) - Math.sqrt(Math.max(0, square - bound)), 2);
    }
    default: {
      const high = terms.reduce((m, [v]) => Math.max(m, v), Number.NEGATIVE_INFINITY);
      const value = high + Math.log(terms.reduce((s, [v]) => s + Math.exp(v - high), 0));
      return rounded(result, value, off + eps * (top + 4), 4);
    }
  }
}

/** Softmax along an axis, or its logarithm. */
export function softmax(x: Bounded, axis: number, log: boolean): Bounded {
  const result = floatFor(x.dtype);
  const y = cast(x, result);
  const values = new Array<Value>(y.values.length);
  const errors = new Float64Array(y.values.length);
  // Between its steps a half type may round; a device may also keep f32.
  const eps = epsilon(result);
  for (const line of lines(y.shape, axis)) {
    const terms = termsOf(y, line);
    const bad = terms.some(([, e]) => e === undecided);
    const high = terms.reduce((m, [v]) => Math.max(m, v), Number.NEGATIVE_INFINITY);
    const top = terms.reduce((m, [v, e]) => (Number.isFinite(v) ? Math.max(m, Math.abs(v) + e) : m), 0);
    const off = terms.reduce((m, [, e]) => Math.max(m, e), 0);
    const sum = terms.reduce((s, [v]) => s + Math.exp(v - high), 0);
    // The distance to an infinite maximum is no number, and so is the sum.
    const lost = !Number.isFinite(high) || terms.some(([v]) => Number.isNaN(v));
    const gone: Term = [log ? Number.NEGATIVE_INFINITY : 0, 0];
    const relative = Math.expm1(2 * off + eps * 4 * (top + 1)) + eps * (line.length + 12);
    const decided = (v: number): Term => {
      if (log) return rounded(result, v - high - Math.log(sum), 2 * off + eps * (4 * top + line.length + 8), 4);
      const share = Math.exp(v - high) / sum;
      return rounded(result, share, relative * share, 4);
    };
    line.forEach((at, k) => {
      const v = terms[k]![0];
      const [r, e] = bad ? [0, undecided] : lost ? [Number.NaN, 0] : v === Number.NEGATIVE_INFINITY ? gone : decided(v);
      values[at] = r;
      errors[at] = e;
    });
  }
  return { dtype: result, shape: y.shape, values, errors };
}

const runningCell = (
  op: 'sum' | 'prod',
  y: Bounded,
  part: readonly number[],
  result: DType,
): readonly [Value, number] =>
  isFloat(result)
    ? (op === 'sum' ? floatSum : floatProduct)(termsOf(y, part), accumulatorFor(result), result)
    : wholeTotal(op, y, part);

export function runningTotal(
  op: 'sum' | 'prod',
  x: Bounded,
  axis: number,
  result: DType = sumTypeFor(x.dtype, x.values.length),
): Bounded {
  const y = isFloat(result) ? x : cast(x, result);
  const values = new Array<Value>(y.values.length);
  const errors = new Float64Array(y.values.length);
  for (const line of lines(y.shape, axis)) {
    // Of a long line some: every sum is made anew from its terms.
    const apart = Math.ceil(line.length / 256);
    line.forEach((at, k) => {
      const told = k < 64 || k % apart === 0;
      const cell = told ? runningCell(op, y, line.slice(0, k + 1), result) : ([zeroOf(result), undecided] as const);
      values[at] = cell[0];
      errors[at] = cell[1];
    });
  }
  return { dtype: result, shape: y.shape, values, errors };
}

/** Σ a·b of pairs of elements, in any order. */
export function dotProduct(
  dtype: DType,
  a: Bounded,
  b: Bounded,
  pairs: readonly (readonly [number, number])[],
): readonly [Value, number] {
  if (!isFloat(dtype)) {
    const v = pairs.reduce((s, [p, q]) => s + BigInt(a.values[p]!) * BigInt(b.values[q]!), 0n);
    const bad = pairs.some(([p, q]) => a.errors[p] !== 0 || b.errors[q] !== 0);
    const wrapped =
      dtype === 'i64' || dtype === 'u64' ? roundTo[dtype](v) : roundTo[dtype](Number(BigInt.asIntN(32, v)));
    return whole(wrapped, bad ? undecided : 0);
  }
  const terms = pairs.map(([p, q]): Term => {
    const [v, e, w, f] = [a.values[p] as number, a.errors[p]!, b.values[q] as number, b.errors[q]!];
    if (e === undecided || f === undecided) return [0, undecided];
    // An exact operand adds nothing, even to an infinite one.
    return [v * w, (f === 0 ? 0 : Math.abs(v) * f) + (e === 0 ? 0 : Math.abs(w) * e) + e * f];
  });
  const wide = accumulatorFor(dtype);
  const [v, e] = floatSum(terms, wide, dtype);
  // Each product is rounded once, unless all of them are whole.
  const products = terms.every(([t]) => Number.isInteger(t))
    ? 0
    : epsilon(wide) * terms.reduce((s, [t]) => s + Math.abs(t), 0);
  return [v, e === undecided ? e : e + products];
}

export function matmul(a: Bounded, b: Bounded): Bounded {
  const dtype = promote(a.dtype, b.dtype);
  const [x, y] = [cast(a, dtype), cast(b, dtype)];
  const [m, k] = x.shape.slice(-2) as [number, number];
  const n = y.shape[y.shape.length - 1]!;
  const lead = x.shape.length >= y.shape.length ? x.shape.slice(0, -2) : y.shape.slice(0, -2);
  const [left, right] = [broadcastIndex(x.shape.slice(0, -2), lead), broadcastIndex(y.shape.slice(0, -2), lead)];
  return fill(dtype, [...lead, m, n], (i) => {
    const batch = Math.floor(i / (m * n));
    const [row, column] = [Math.floor(i / n) % m, i % n];
    const [p, q] = [left(batch) * m * k, right(batch) * k * n];
    return dotProduct(
      dtype,
      x,
      y,
      Array.from({ length: k }, (_, j) => [p + row * k + j, q + j * n + column] as const),
    );
  });
}

export const flatten = (x: Bounded): Bounded => reshape(x, [x.values.length]);
