// What each op is built from where a device lacks it: one row an op.

import type { DType } from '../../base/dtype.ts';
import type { Expr } from '../expr.ts';
import type { AluOp } from '../ops.ts';
import { abs, boolProduct, boolSum, eq, floatMax, floatMin, le, lt, ne, neg } from './basic.ts';
import { erf, erfOfBf16 } from './erf.ts';
import { exp, exp2, expm1 } from './exp.ts';
import { Float } from './float.ts';
import { acosh, asinh, atanh, cosh, sinh, tanh } from './hyperbolic.ts';
import { idiv, imod, pow as integerPow, shl, shr } from './integer.ts';
import { acos, asin, atan, atan2 } from './inverse-trig.ts';
import { log, log1p, log2, log10 } from './log.ts';
import type { Lowering } from './lowering.ts';
import { mod } from './mod.ts';
import { pow } from './pow.ts';
import { cos, sin, tan } from './trig.ts';

/** Builds the op of this type from others; undefined where it does not handle the type. */
export type Decomposition = (b: Lowering, type: DType, src: readonly Expr[]) => Expr | undefined;

const float =
  (build: (f: Float, x: Expr, y: Expr) => Expr): Decomposition =>
  (b, type, src) =>
    type === 'f32' || type === 'f64' ? build(new Float(b, type), src[0]!, src[1]!) : undefined;

/** A shorter way for bf16, in f32, whose rounded results are the same. */
const bf16 =
  (build: (f: Float, x: Expr) => Expr): Decomposition =>
  (b, type, src) =>
    type === 'bf16' ? b.cast(type, build(new Float(b, 'f32'), b.cast('f32', src[0]!))) : undefined;

/** The first of several that handles the type. */
const either =
  (...rows: readonly Decomposition[]): Decomposition =>
  (b, type, src) => {
    for (const row of rows) {
      const found = row(b, type, src);
      if (found) return found;
    }
    return undefined;
  };

export const decompositions: Readonly<Partial<Record<AluOp, Decomposition>>> = {
  exp: float(exp),
  exp2: float(exp2),
  expm1: float(expm1),
  log: float(log),
  log2: float(log2),
  log10: float(log10),
  log1p: float(log1p),
  sin: float(sin),
  cos: float(cos),
  tan: float(tan),
  asin: float(asin),
  acos: float(acos),
  atan: float(atan),
  atan2: float(atan2),
  sinh: float(sinh),
  cosh: float(cosh),
  tanh: float(tanh),
  asinh: float(asinh),
  acosh: float(acosh),
  atanh: float(atanh),
  erf: either(float(erf), bf16(erfOfBf16)),
  mod: float(mod),
  pow: either(float(pow), integerPow),
  add: boolSum,
  mul: boolProduct,
  max: either(float(floatMax), boolSum),
  min: either(float(floatMin), boolProduct),
  neg: float(neg),
  abs: float(abs),
  idiv,
  imod,
  shl,
  shr,
  eq,
  ne,
  lt,
  le,
};
