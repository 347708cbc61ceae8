// How far each op may be from the correctly rounded value.
//
// Ops that are not listed must be exact. Functions are bounded in ulp of the result. Sums carry their own bound: the
// case states how many terms it adds and how large they are, and the error of adding them in any order follows.

import { type DType, isFloat } from '../../src/base/dtype.ts';
import { precision, type Tolerance } from './compare.ts';
import type { Case } from './format.ts';

/** Bounds in ulp: f32, f64, and the half types, which are computed in f32 and rounded once per step. */
type Bound = readonly [f32: number, f64: number, half: number];

const functions: Readonly<Record<string, Bound>> = {
  rsqrt: [2, 2, 2],
  exp: [2, 2, 1],
  exp2: [2, 2, 1],
  expm1: [2, 3, 1],
  log: [2, 2, 1],
  log2: [2, 2, 1],
  log10: [2, 3, 1],
  log1p: [2, 3, 1],
  sin: [2, 2, 1],
  cos: [2, 2, 1],
  tan: [4, 4, 1],
  asin: [3, 3, 1],
  acos: [3, 3, 1],
  atan: [2, 2, 1],
  sinh: [4, 4, 1],
  cosh: [3, 3, 1],
  tanh: [3, 3, 1],
  asinh: [4, 4, 1],
  acosh: [4, 4, 1],
  atanh: [4, 4, 1],
  erf: [4, 4, 1],
  sigmoid: [4, 4, 3],
  pow: [4, 4, 1],
  atan2: [4, 4, 1],
  hypot: [3, 3, 3],
};

/** Ops whose half results come from an f32 accumulator and are rounded once. The other sums round at each step. */
const accumulatedWide = new Set([
  'sum',
  'prod',
  'mean',
  'matmul',
  'dot',
  'einsum',
  'conv1d',
  'conv2d',
  'conv3d',
  'avgPool',
  'cumsum',
]);

const epsilon = (dtype: DType): number => 2 ** -precision[dtype]![0];

/** What a device allows itself beyond the table: WGSL promises less than IEEE for division and square roots. */
export interface Allowances {
  readonly ulp?: Readonly<Partial<Record<string, number>>>;
  readonly flushes?: boolean;
}

export function toleranceOf(c: Case, dtype: DType, device: Allowances): Tolerance {
  const flushes = device.flushes ?? false;
  if (!isFloat(dtype)) return { ulp: 0, absolute: 0, flushes };
  const half = dtype === 'f16' || dtype === 'bf16';
  const bound = functions[c.op];
  const ulp = Math.max(bound ? bound[half ? 2 : dtype === 'f64' ? 1 : 0] : 0, device.ulp?.[c.op] ?? 0);
  if (!c.acc) return { ulp, absolute: 0, flushes };
  const [terms, magnitude] = c.acc;
  const step = half && accumulatedWide.has(c.op) ? epsilon('f32') : epsilon(dtype);
  return { ulp: Math.max(ulp, 1), absolute: step * magnitude * (3 + 2 * Math.sqrt(terms)), flushes };
}
