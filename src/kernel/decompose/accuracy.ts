// How far a decomposed function may be from the true value, in units in the last place of the result, anywhere in its range.
// The tests beside this file assert it; docs/accuracy.md is made from it.

import type { AluOp } from '../ops.ts';

export interface Accuracy {
  readonly f32: number;
  readonly f64: number;
}

export const accuracy = {
  exp: { f32: 1.1, f64: 1.1 },
  exp2: { f32: 1.1, f64: 1.1 },
  expm1: { f32: 1.8, f64: 2.1 },
  log: { f32: 0.9, f64: 0.9 },
  log2: { f32: 0.9, f64: 0.8 },
  log10: { f32: 0.8, f64: 0.8 },
  log1p: { f32: 0.9, f64: 0.9 },
  sin: { f32: 1.7, f64: 1.6 },
  cos: { f32: 1.7, f64: 1.6 },
  tan: { f32: 3.2, f64: 3 },
  asin: { f32: 1.3, f64: 1.3 },
  acos: { f32: 1.2, f64: 1.2 },
  atan: { f32: 1.6, f64: 1.8 },
  atan2: { f32: 1.7, f64: 1.8 },
  sinh: { f32: 2.4, f64: 2.4 },
  cosh: { f32: 1.5, f64: 1.5 },
  tanh: { f32: 4.3, f64: 2.6 },
  asinh: { f32: 1.8, f64: 1.8 },
  acosh: { f32: 2, f64: 2 },
  atanh: { f32: 2.1, f64: 2.1 },
  erf: { f32: 1.5, f64: 1.5 },
  pow: { f32: 1.1, f64: 1.3 },
  mod: { f32: 0.5, f64: 0.5 },
} as const satisfies Partial<Record<AluOp, Accuracy>>;
