// How far each op may be from the correctly rounded value.
//
// Ops that are not listed must be exact. Functions are bounded by the accuracy the documentation states. Sums carry their own bound: the
// case states how many terms it adds and how large they are, and the error of adding them in any order follows.

import { type DType, isFloat } from '../../src/base/dtype.ts';
import { type Accuracy, accuracy } from '../../src/kernel/decompose/accuracy.ts';
import { precision, type Tolerance } from './compare.ts';
import type { Case } from './format.ts';

/** Functions made of several ops, in ulp of f32 and f64. The others stand in the table that the documentation is made from. */
const composed: Readonly<Record<string, Accuracy>> = {
  rsqrt: { f32: 1.5, f64: 1.5 },
  sigmoid: { f32: 3, f64: 3 },
  hypot: { f32: 2.5, f64: 2.5 },
};

/** Half types are computed in f32 and rounded once per step. */
const halfSteps: Readonly<Record<string, number>> = { rsqrt: 2, sigmoid: 3, hypot: 3 };

const documented: Readonly<Record<string, Accuracy>> = { ...accuracy, ...composed };

/** How far from the correctly rounded value: the documented error, and half a unit for the rounding of that value. */
function functionUlp(op: string, dtype: DType): number {
  const bound = documented[op];
  if (!bound || op === 'mod') return 0;
  if (dtype === 'f16' || dtype === 'bf16') return halfSteps[op] ?? 1;
  return bound[dtype === 'f64' ? 'f64' : 'f32'] + 0.5;
}

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
  'fft',
  'rfft',
  'irfft',
]);

const epsilon = (dtype: DType): number => 2 ** -precision[dtype]![0];

/** What a device allows itself beyond the table: WGSL promises less than IEEE for division and square roots. */
export interface Allowances {
  readonly ulp?: Readonly<Partial<Record<string, number>>>;
  readonly flushes?: boolean;
}

// WGSL promises 2.5 ulp for division, inherited by what is made of it, and lets a device flush subnormals.
export const wgsl: Allowances = {
  flushes: true,
  ulp: { div: 3, reciprocal: 3, sqrt: 3, rsqrt: 4, mod: 4, floorDivide: 0, hypot: 6 },
};

export function toleranceOf(c: Case, dtype: DType, device: Allowances): Tolerance {
  const flushes = device.flushes ?? false;
  if (!isFloat(dtype)) return { ulp: 0, absolute: 0, flushes };
  const half = dtype === 'f16' || dtype === 'bf16';
  const ulp = Math.max(functionUlp(c.op, dtype), device.ulp?.[c.op] ?? 0);
  if (!c.acc) return { ulp, absolute: 0, flushes };
  const [terms, magnitude] = c.acc;
  const step = half && accumulatedWide.has(c.op) ? epsilon('f32') : epsilon(dtype);
  return { ulp: Math.max(ulp, 1), absolute: step * magnitude * (3 + 2 * Math.sqrt(terms)), flushes };
}
