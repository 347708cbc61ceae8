// sin, cos and tan, right for every finite argument.
//
// Up to a limit the multiple of π/2 nearest to |x| is subtracted in parts (Cody and Waite). Beyond it the product of |x| with
// 2/π is formed in integers from just the bits of 2/π that matter for the exponent of x (Payne and Hanek). Both are
// computed and one is chosen; a device may skip the second where no argument is large: its subexpressions are used only
// under `where(large, …)`.

import type { Expr } from '../expr.ts';
import { isBeyond } from './exp.ts';
import type { Float, FloatType } from './float.ts';
import { largeReduction } from './payne-hanek.ts';

interface Table {
  /** Largest argument of the subtraction in parts. */
  readonly limit: number;
  /** π/2 in parts, so few bits each that a product with the multiple is exact (but for the last). */
  readonly halfPi: readonly number[];
  /** sin r = r + r³·S(r²), cos r = 1 - r²/2 + r⁴·C(r²), |r| ≤ π/4. */
  readonly sin: readonly number[];
  readonly cos: readonly number[];
  /** tan r = r + r³·P(r²) / Q(r²), |r| ≤ π/4, where Q is 1 if there is none. */
  readonly tan: readonly number[];
  readonly tanBelow: readonly number[] | null;
}

const tables: Readonly<Record<FloatType, Table>> = {
  f32: {
    limit: 256,
    halfPi: [1.570770263671875, 2.6063062250614166e-5, 6.077100506506192e-11],
    sin: [-0.16666655242443085, 0.008332187309861183, -0.00019517895998433232],
    cos: [0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-5],
    tan: [0.33333156, 0.13338803, 0.05341096, 0.024431331, 0.00311793, 0.009386618],
    tanBelow: null,
  },
  f64: {
    limit: 2 ** 20,
    halfPi: [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21],
    sin: [
      -0.1666666666666663, 0.00833333333332184, -0.00019841269829358525, 2.755731353851222e-6, -2.5050734388872477e-8,
      1.589543327554343e-10,
    ],
    cos: [
      0.041666666666666595, -0.0013888888888873307, 2.4801587288965233e-5, -2.755731420308168e-7, 2.0875703140020156e-9,
      -1.1358617035149809e-11,
    ],
    tan: [0.3333333333333333, -0.021441000594695572, 0.00024480342197984596, -1.7860873436547655e-8],
    tanBelow: [1, -0.4643230017840867, 0.02455884907481112, -0.00025595377024234815],
  },
};

/** x = q·π/2 + r + low: the quadrant counts in the low two bits of `q`. */
export interface Reduced {
  readonly q: Expr;
  readonly r: Expr;
  readonly low: Expr;
}

/** Of a number up to the limit, of either sign; `lack` is -low, which is never -0. */
function reduceUsual(f: Float, x: Expr): Reduced & { readonly lack: Expr } {
  const { n, bits } = f.nearest(f.mul(x, 2 / Math.PI));
  const [p1, p2, p3] = tables[f.type].halfPi as [number, number, number];
  const head = f.sub(f.sub(x, f.mul(n, p1)), f.mul(n, p2));
  const last = f.mul(n, p3);
  const r = f.sub(head, last);
  const lost = f.sub(head, r);
  return { q: bits, r, low: f.sub(lost, last), lack: f.sub(last, lost) };
}

/** Of a number that is not negative. Infinities have no remainder; NaN is never large, and stays NaN by itself. */
function reduce(f: Float, x: Expr): Reduced {
  const large = f.lt(tables[f.type].limit, x);
  const { q, r, low } = reduceUsual(f, x);
  const far = largeReduction(f, x);
  const remainder = f.where(f.eq(x, Number.POSITIVE_INFINITY), Number.NaN, far.r);
  return { q: f.where(large, far.q, q), r: f.where(large, remainder, r), low: f.where(large, far.low, low) };
}

/** sin(r + low) = sin r + low·cos r, and the cosine of so small a number is 1. */
function sine(f: Float, { r, low }: Reduced, z: Expr): Expr {
  return f.add(f.add(f.mul(f.mul(r, z), f.poly(z, tables[f.type].sin)), low), r);
}

/** cos(r + low) = cos r - low·sin r, with what 1 - r²/2 lost. */
function exactCosine(f: Float, { r, low }: Reduced, z: Expr): Expr {
  const half = f.mul(z, 0.5);
  const head = f.sub(1, half);
  const lost = f.sub(f.sub(1, head), half);
  const rest = f.mul(f.mul(z, z), f.poly(z, tables[f.type].cos));
  return f.add(head, f.add(lost, f.sub(rest, f.mul(r, low))));
}

/** The same in half the steps, and half a unit further from the truth at most: as far as sin and cos may be, but not their quotient. */
const shortCosine = (f: Float, z: Expr): Expr => f.add(f.mul(f.poly(z, [-0.5, ...tables[f.type].cos]), z), 1);

/** The same bits on all devices: random numbers of f64 are made of the cosine. */
const cosine = (f: Float, v: Reduced, z: Expr): Expr => (f.type === 'f32' ? shortCosine(f, z) : exactCosine(f, v, z));

/** Whether the quadrant is odd: its last bit, moved to where the sign is. */
const odd = (f: Float, q: Expr): Expr => f.b.alu('lt', f.shl(q, f.width - 1), f.int(0));

/** Turns the sign of a value where another number is negative. */
function turned(f: Float, x: Expr, by: Expr): Expr {
  return f.fromBits(f.b.alu('xor', f.bits(x), f.iand(by, f.int(f.signBit))));
}

/** The second bit of the quadrant, moved to where the sign is. */
const half = (f: Float, q: Expr): Expr => f.shl(q, f.width - 2);

export function sin(f: Float, x: Expr): Expr {
  const v = reduce(f, f.abs(x));
  const z = f.mul(v.r, v.r);
  const cosineOf = f.b.skips ? shortCosine(f, z) : cosine(f, v, z);
  const value = f.where(odd(f, v.q), cosineOf, sine(f, v, z));
  return turned(f, value, f.b.alu('xor', half(f, v.q), f.bits(x)));
}

export function cos(f: Float, x: Expr): Expr {
  const v = reduce(f, f.abs(x));
  const z = f.mul(v.r, v.r);
  const value = f.where(odd(f, v.q), sine(f, v, z), cosine(f, v, z));
  return turned(f, value, half(f, f.iadd(v.q, f.int(1))));
}

export function tan(f: Float, x: Expr): Expr {
  if (f.b.skips) return f.where(isBeyond(f, x, tables[f.type].limit), anyTan(f, x), usualTan(f, x));
  return anyTan(f, x);
}

/** Of numbers up to the limit, of either sign: tan r, or in odd quadrants -1 / tan r. */
function usualTan(f: Float, x: Expr): Expr {
  const { q, r, lack } = reduceUsual(f, x);
  const z = f.mul(r, r);
  const { tan: above, tanBelow: below } = tables[f.type];
  const series = f.mul(f.mul(r, z), f.poly(z, above));
  const rest = below ? f.div(series, f.poly(z, below)) : series;
  const tangent = f.bits(f.add(f.sub(rest, lack), r));
  const one = f.bits(1);
  const sign = f.shl(q, f.width - 1);
  // Where the quadrant is odd, the bits in which the tangent and 1 differ: they change places.
  const exchange = f.b.alu('where', f.b.alu('lt', sign, f.int(0)), f.b.alu('xor', tangent, one), f.int(0));
  const exchanged = (v: Expr): Expr => f.fromBits(f.b.alu('xor', v, exchange));
  return f.fromBits(f.b.alu('xor', f.bits(f.div(exchanged(tangent), exchanged(one))), sign));
}

function anyTan(f: Float, x: Expr): Expr {
  const v = reduce(f, f.abs(x));
  const z = f.mul(v.r, v.r);
  const [s, c] = [sine(f, v, z), exactCosine(f, v, z)];
  const cot = odd(f, v.q);
  return turned(f, f.div(f.where(cot, f.neg(c), s), f.where(cot, s, c)), f.bits(x));
}
