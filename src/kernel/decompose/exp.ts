// exp, exp2 and expm1: 2^n · e^r with |r| ≤ ln 2 / 2, and a polynomial for e^r.

import type { Expr } from '../expr.ts';
import type { Float, FloatType } from './float.ts';

interface Table {
  /** ln 2 in two parts: n · high is exact for every n that occurs. */
  readonly ln2High: number;
  readonly ln2Low: number;
  /** Beyond these the result is 0 or infinite. */
  readonly lowest: number;
  readonly highest: number;
  readonly lowest2: number;
  readonly highest2: number;
  /** e^r = 1 + r + r²·Q(r), to full precision relative to e^r - 1. */
  readonly tail: readonly number[];
}

const tables: Readonly<Record<FloatType, Table>> = {
  f32: {
    ln2High: 0.693145751953125,
    ln2Low: 1.4286068203094173e-6,
    lowest: -104,
    highest: 90,
    lowest2: -151,
    highest2: 129,
    tail: [0.4999999701976776, 0.16666539013385773, 0.04166774824261665, 0.008367087692022324, 0.0013837862061336637],
  },
  f64: {
    ln2High: 0.6931471803691238,
    ln2Low: 1.9082149292705877e-10,
    lowest: -746,
    highest: 711,
    lowest2: -1076,
    highest2: 1025,
    tail: [
      0.5, 0.16666666666666677, 0.04166666666666651, 0.008333333333321653, 0.0013888888888962548,
      0.00019841269886075388, 2.4801587172332893e-5, 2.755724425249684e-6, 2.7557402687531926e-7, 2.510902498495041e-8,
      2.0875356893661406e-9,
    ],
  },
};

export interface Reduced {
  /** x ≈ n · ln 2 + r. */
  readonly r: Expr;
  readonly n: Expr;
  /** n for `Float.scale`. */
  readonly bits: Expr;
}

export function reduce(f: Float, x: Expr): Reduced {
  const t = tables[f.type];
  const { n, bits } = f.nearest(f.mul(x, Math.LOG2E));
  return { r: f.sub(f.sub(x, f.mul(n, t.ln2High)), f.mul(n, t.ln2Low)), n, bits };
}

/** x within the range where e^x and e^x/2 are neither 0 nor infinite, or just outside it. NaN stays NaN. */
export function clampExponent(f: Float, x: Expr): Expr {
  const t = tables[f.type];
  return f.min(f.max(x, t.lowest), t.highest);
}

/** e^r - 1 - r for a reduced argument. */
export const expTail = (f: Float, r: Expr): Expr => f.mul(f.mul(r, r), f.poly(r, tables[f.type].tail));

/** e^r - 1 for a reduced argument, without loss near 0. */
const expm1Reduced = (f: Float, r: Expr): Expr => f.add(expTail(f, r), r);

/** e^r for a reduced argument. */
export const expReduced = (f: Float, r: Expr): Expr => f.add(expm1Reduced(f, r), 1);

/** Up to here e^x and what it is made of are numbers of full precision. */
const usual: Readonly<Record<FloatType, number>> = { f32: 86, f64: 707 };

/** Q of f64 as precise as e^r itself needs: one term less than in the table. */
const shortTerms = [
  0.5000000000000012, 0.166666666666667, 0.04166666666651542, 0.008333333333307203, 0.0013888888947016812,
  0.00019841269917388656, 2.4801489941420257e-5, 2.7557216295643833e-6, 2.763128058485837e-7, 2.5117862845418935e-8,
];

/**
 * Where a device skips what no element takes, results that are not numbers of full precision are behind a choice of their own. In f32
 * both ways give the same bits.
 */
export function exp(f: Float, x: Expr): Expr {
  const any = anyExp(f, x);
  if (!f.b.skips) return any;
  const { r, bits } = reduce(f, x);
  return f.where(isBeyond(f, x, usual[f.type]), any, f.moved(usualExp(f, r), bits));
}

/** e^r - 1 - r for a reduced argument, precise beside 1, in few steps one after the other. */
function shortTail(f: Float, r: Expr): Expr {
  const square = f.mul(r, r);
  return f.mul(square, f.pairs(r, square, f.type === 'f32' ? tables.f32.tail : shortTerms));
}

function anyExp(f: Float, x: Expr): Expr {
  const { r, bits } = reduce(f, clampExponent(f, x));
  return f.scale(expReduced(f, r), bits);
}

/** e^r for a reduced argument, as the device computes it best. */
export const usualExp = (f: Float, r: Expr): Expr =>
  f.type === 'f32' ? expReduced(f, r) : f.add(f.add(shortTail(f, r), r), 1);

/** Whether |x| is beyond a limit, or NaN. */
export const isBeyond = (f: Float, x: Expr, limit: number): Expr => f.b.alu('lt', f.bits(limit), f.bits(f.abs(x)));

export function exp2(f: Float, x: Expr): Expr {
  const any = anyExp2(f, x);
  if (!f.b.skips) return any;
  const { n, bits } = f.nearest(x);
  const usual = f.moved(usualExp(f, f.mul(f.sub(x, n), Math.LN2)), bits);
  return f.where(isBeyond(f, x, f.format.bias - 2), any, usual);
}

function anyExp2(f: Float, x: Expr): Expr {
  const t = tables[f.type];
  const y = f.min(f.max(x, t.lowest2), t.highest2);
  const { n, bits } = f.nearest(y);
  return f.scale(expReduced(f, f.mul(f.sub(y, n), Math.LN2)), bits);
}

/** From this many halvings or doublings on, e^x - 1 is e^x but for a rounding. */
const dominant: Readonly<Record<FloatType, number>> = { f32: 26, f64: 55 };

export function expm1(f: Float, x: Expr): Expr {
  const { r, n, bits } = reduce(f, clampExponent(f, x));
  const any = f.where(f.eq(x, 0), x, expm1From(f, r, n, bits));
  // The sums within would turn -0 into 0.
  return f.b.skips ? f.where(isBeyond(f, x, notDominant[f.type]), any, f.withSign(usualExpm1(f, x), x)) : any;
}

/** Up to here e^x - 1 is far from e^x, and 2^n far from both ends. */
export const notDominant: Readonly<Record<FloatType, number>> = { f32: 16, f64: 36 };

/** e^x - 1 up to that, but for the sign of 0. */
export function usualExpm1(f: Float, x: Expr): Expr {
  const { r, bits } = reduce(f, x);
  const p = f.type === 'f32' ? expm1Reduced(f, r) : f.add(longTail(f, r), r);
  const power = f.moved(f.const(1), bits);
  return f.add(f.mul(power, p), f.sub(power, 1));
}

/** `expTail` in few steps one after the other. */
export function longTail(f: Float, r: Expr): Expr {
  const square = f.mul(r, r);
  return f.mul(square, f.pairs(r, square, tables[f.type].tail));
}

/** e^x - 1 for a reduced argument: 2^n·(e^r - 1) + (2^n - 1). */
export function expm1From(f: Float, r: Expr, n: Expr, bits: Expr): Expr {
  const p = expm1Reduced(f, r);
  const power = f.scale(f.const(1), bits);
  const near = f.add(f.mul(power, p), f.sub(power, 1));
  return f.where(f.lt(dominant[f.type], n), f.scale(f.add(p, 1), bits), near);
}
