// sinh, cosh, tanh and their inverses.

import type { Expr } from '../expr.ts';
import { clampExponent, expm1From, expReduced, isBeyond, notDominant, reduce, usualExp, usualExpm1 } from './exp.ts';
import type { Float, FloatType } from './float.ts';
import { log1p } from './log.ts';

/** From here on e^-x no longer counts beside e^x. */
const oneSided: Readonly<Record<FloatType, number>> = { f32: 10, f64: 20 };

/** e^x / 2, which overflows only where the hyperbolic functions do. */
function halfExp(f: Float, r: Expr, bits: Expr): Expr {
  return f.scale(expReduced(f, r), f.isub(bits, f.int(1)));
}

/** A function of |x| that is shorter where e^|x| is a number of full precision and 1 counts beside it. */
const unlessFar = (f: Float, x: Expr, any: Expr, usual: (a: Expr) => Expr): Expr =>
  f.b.skips ? f.where(isBeyond(f, x, notDominant[f.type]), any, usual(f.abs(x))) : any;

export function sinh(f: Float, x: Expr): Expr {
  return unlessFar(f, x, anySinh(f, x), (a) => {
    const e = usualExpm1(f, a);
    return f.withSign(f.mul(f.add(e, f.div(e, f.add(e, 1))), 0.5), x);
  });
}

function anySinh(f: Float, x: Expr): Expr {
  const a = f.abs(x);
  const { r, n, bits } = reduce(f, clampExponent(f, a));
  const e = expm1From(f, r, n, bits);
  const near = f.mul(f.add(e, f.div(e, f.add(e, 1))), 0.5);
  return f.withSign(f.where(f.lt(oneSided[f.type], a), halfExp(f, r, bits), near), x);
}

export function cosh(f: Float, x: Expr): Expr {
  return unlessFar(f, x, anyCosh(f, x), (a) => {
    const { r, bits } = reduce(f, a);
    const e = f.moved(usualExp(f, r), f.isub(bits, f.int(1)));
    return f.add(e, f.div(0.25, e));
  });
}

function anyCosh(f: Float, x: Expr): Expr {
  const { r, bits } = reduce(f, clampExponent(f, f.abs(x)));
  const e = halfExp(f, r, bits);
  return f.add(e, f.div(0.25, e));
}

// In f32, tanh x = 2t/(1 + t²) with t = tanh(x/2) ≈ u/2q, u = x·(1 + …), q = 1 + e, e small near 0. Near 1, where a unit in the
// last place is smallest, errors of u and q cancel; near 0 the ones are added late, so x stays x.
const numerator = [0.02977951297814641, 0.00011437835877926247];
const denominator = [0.11311281239275858, 0.0012071484267630838, 1.2316523840620717e-6];

export function tanh(f: Float, x: Expr): Expr {
  if (f.type === 'f32') {
    const y = f.min(f.max(x, -9.02), 9.02);
    const z = f.mul(y, y);
    const u = f.add(y, f.mul(y, f.mul(z, f.poly(z, numerator))));
    const e = f.mul(z, f.poly(z, denominator));
    const q = f.add(e, 1);
    // u·q / (q² + u²/4), which rounding may take beyond 1.
    const ratio = f.div(f.mul(u, q), f.add(q, f.add(f.mul(e, q), f.mul(f.mul(u, u), 0.25))));
    return f.min(f.max(ratio, -1), 1);
  }
  const far = isBeyond(f, x, notDominant.f64 / 2);
  return f.b.skips ? f.where(far, anyTanh(f, x), tanhFrom(f, usualExpm1(f, twice(f, f.abs(x))), x)) : anyTanh(f, x);
}

const twice = (f: Float, x: Expr): Expr => f.add(x, x);

/** tanh x = e / (e + 2), e = e^2|x| - 1. */
const tanhFrom = (f: Float, e: Expr, x: Expr): Expr => f.withSign(f.div(e, f.add(e, 2)), x);

function anyTanh(f: Float, x: Expr): Expr {
  const { r, n, bits } = reduce(f, twice(f, f.min(f.abs(x), 20)));
  return tanhFrom(f, expm1From(f, r, n, bits), x);
}

/** Above this the argument of log1p below is 2x to the last bit, and squares are about to overflow. */
const huge: Readonly<Record<FloatType, number>> = { f32: 2 ** 60, f64: 2 ** 500 };

/** log(1 + near), or log(2x) where x is huge. */
function inverse(f: Float, x: Expr, near: Expr): Expr {
  const far = f.lt(huge[f.type], x);
  return f.add(log1p(f, f.where(far, x, near)), f.where(far, Math.LN2, 0));
}

export function asinh(f: Float, x: Expr): Expr {
  const a = f.abs(x);
  const z = f.mul(a, a);
  return f.withSign(inverse(f, a, f.add(a, f.div(z, f.add(f.sqrt(f.add(z, 1)), 1)))), x);
}

export function acosh(f: Float, x: Expr): Expr {
  const t = f.sub(x, 1);
  const result = inverse(f, x, f.add(t, f.sqrt(f.add(f.mul(t, t), f.add(t, t)))));
  return f.where(f.lt(x, 1), Number.NaN, result);
}

export function atanh(f: Float, x: Expr): Expr {
  const a = f.abs(x);
  return f.withSign(f.mul(log1p(f, f.div(f.add(a, a), f.sub(1, a))), 0.5), x);
}
