// pow: 2^(y·log2 x), with log2 x to well more than the precision of the type.
//
// Numbers are pairs of a head (half the bits, so that products of heads are exact) and a tail.
//
// Zeros, negative numbers, infinities, subnormals and results out of range take as much work again. Where a device skips what no
// element takes, that is behind a choice of its own; both ways give the same bits.

import type { Expr } from '../expr.ts';
import { expTail, longTail } from './exp.ts';
import { Float, type FloatType } from './float.ts';
import { type Split, split, splitNormal, sqrtHalfBits } from './log.ts';

interface Table {
  /** 2·artanh(s) = ⅔·s·(3 + s² + s⁴·P(s²)). */
  readonly series: readonly number[];
  /** 2/(3·ln 2) and ln 2, each as head and tail. */
  readonly scale: readonly [number, number];
  readonly ln2: readonly [number, number];
  /** Exponents beyond this change nothing: x^y is 0, 1 or infinite. */
  readonly largestY: number;
  /** Beyond these the result is 0 or infinite. */
  readonly lowest: number;
  readonly highest: number;
}

const tables: Readonly<Record<FloatType, Table>> = {
  f32: {
    series: [0.6000023484230042, 0.4281998872756958, 0.35145696997642517],
    scale: [0.961669921875, 0.0001267720509756049],
    ln2: [0.693115234375, 3.1946184945309415e-5],
    largestY: 2 ** 40,
    lowest: -152,
    highest: 129,
  },
  f64: {
    series: [
      0.6000000000000363, 0.4285714285502609, 0.33333333802888376, 0.2727267445930788, 0.23080235598174845,
      0.19882838428594035, 0.19817241194586882,
    ],
    scale: [0.9617966860532761, 7.872699542894897e-9],
    ln2: [0.6931471675634384, 1.2996506893889889e-8],
    largestY: 2 ** 80,
    lowest: -1078,
    highest: 1025,
  },
};

type Pair = readonly [Expr, Expr];

/** log2 of a positive finite number, which was split. */
function log2Pair(f: Float, { k, m }: Split): Pair {
  const t = tables[f.type];
  const y = f.sub(m, 1);
  const sum = f.add(y, 2);
  const reciprocal = f.div(1, sum);
  const s = f.mul(y, reciprocal);
  const sHead = f.head(s);
  const sumHead = f.head(sum);
  const sumTail = f.sub(y, f.sub(sumHead, 2));
  const sTail = f.mul(f.sub(f.sub(y, f.mul(sHead, sumHead)), f.mul(sHead, sumTail)), reciprocal);
  // 3 + s² + s⁴·P
  const z = f.mul(s, s);
  const square = f.mul(sHead, sHead);
  const rest = f.add(f.mul(f.mul(z, z), f.series(z, t.series)), f.mul(sTail, f.add(sHead, s)));
  const bracket = f.head(f.add(f.add(square, 3), rest));
  const bracketTail = f.sub(rest, f.sub(f.sub(bracket, 3), square));
  // ⅔·s·(…) / ln 2
  const u = f.mul(sHead, bracket);
  const v = f.add(f.mul(sTail, bracket), f.mul(bracketTail, s));
  const p = f.head(f.add(u, v));
  const pTail = f.sub(v, f.sub(p, u));
  const high = f.mul(p, t.scale[0]);
  const low = f.add(f.mul(p, t.scale[1]), f.mul(pTail, t.scale[0] + t.scale[1]));
  const total = f.head(f.add(f.add(high, low), k));
  return [total, f.sub(low, f.sub(f.sub(total, k), high))];
}

/** y·log2 x. */
function exponentOf(f: Float, y: Expr, [logHead, logTail]: Pair): Pair {
  const yHead = f.head(y);
  return [f.mul(yHead, logHead), f.add(f.mul(f.sub(y, yHead), logHead), f.mul(y, logTail))];
}

/** 2^(high + low), without what is taken off in whole powers. */
function exp2Reduced(f: Float, high: Expr, low: Expr): Expr {
  const t = tables[f.type];
  const head = f.head(f.add(high, low));
  const tail = f.sub(low, f.sub(head, high));
  const u = f.mul(head, t.ln2[0]);
  const v = f.add(f.mul(tail, t.ln2[0] + t.ln2[1]), f.mul(head, t.ln2[1]));
  // e^(u + v) = 1 + u + (v + what follows), the small parts first: only the last two sums round where it counts.
  const rest = f.add(v, (f.b.skips ? longTail : expTail)(f, f.add(u, v)));
  return f.add(f.add(u, rest), 1);
}

/** 2^(high + low). */
function exp2Pair(f: Float, [high, low]: Pair): Expr {
  const t = tables[f.type];
  const sum = f.add(high, low);
  const bounded = f.min(f.max(sum, t.lowest), t.highest);
  const inside = f.eq(sum, bounded);
  const { n, bits } = f.nearest(bounded);
  return f.scale(exp2Reduced(f, f.where(inside, f.sub(high, n), 0), f.where(inside, low, 0)), bits);
}

export function pow(f: Float, x: Expr, y: Expr): Expr {
  if (!f.b.skips) return anyPower(f, x, y);
  return f.type === 'f32' ? throughDouble(f, x, y) : f.where(...ordinary(f, x, y));
}

/** 2·artanh(s) / ln 2 = s·A(s²), to more than f32 needs for exponents of a hundred. */
const log2Series = [2.885390081790111, 0.9617966733082844, 0.5770835917914365, 0.41167228637143316, 0.3407385004881789];

/** 2^x = 1 + x·P(x), |x| ≤ ½. */
const exp2Series = [
  0.6931472029849443, 0.24022647896931165, 0.055503321629874536, 0.009618438596557054, 0.001339900344341528,
  0.0001535325900819512,
];

/** Powers of f32 for devices with f64: what takes pairs of numbers otherwise is one number of double precision. */
function throughDouble(f: Float, x: Expr, y: Expr): Expr {
  const { mantissa } = f.format;
  const g = new Float(f.b, 'f64');
  const bits = f.bits(x);
  const above = f.isub(bits, f.int(sqrtHalfBits.f32));
  const k = f.shr(above, mantissa);
  const m = f.fromBits(f.isub(bits, f.iand(above, f.int(-(1n << BigInt(mantissa))))));
  const fraction = f.b.cast('f64', f.sub(m, 1));
  const s = g.div(fraction, g.add(fraction, 2));
  const z = g.mul(s, s);
  const log2 = g.add(g.mul(s, g.pairs(z, g.mul(z, z), log2Series)), f.b.cast('f64', k));
  const exponent = g.mul(log2, f.b.cast('f64', y));
  const { n, bits: whole } = g.nearest(exponent);
  const rest = g.sub(exponent, n);
  const power = f.b.cast('f32', g.add(g.mul(rest, g.pairs(rest, g.mul(rest, rest), exp2Series)), 1));
  // Zeros, negative numbers, infinities, subnormals and NaN have a k of 126 or more, whatever its sign.
  const most = f.mul(f.add(f.abs(y), 1), f.add(f.abs(f.fromInt(k)), 0.5));
  const far = f.b.alu('lt', f.bits(125), f.bits(most));
  return f.where(far, anyPower(f, x, y), f.moved(power, f.b.cast('i32', whole)));
}

/**
 * Whether x or the result may be anything but a positive number of full precision, told from the exponent of x so that it is known soon;
 * the power if so, and if not. The condition compares integers: NaN is above all of them.
 */
function ordinary(f: Float, x: Expr, y: Expr): readonly [Expr, Expr, Expr] {
  const { mantissa, bias, uint } = f.format;
  const parts = splitNormal(f, x);
  const [high, low] = exponentOf(f, y, log2Pair(f, parts));
  const { n, bits } = f.nearest(f.add(high, low));
  const power = f.scaleNormal(exp2Reduced(f, f.sub(high, n), low), bits);
  const unit = 1n << BigInt(mantissa);
  const fromSmallest = f.b.bitcast(uint, f.isub(f.bits(x), f.int(unit)));
  const normal = f.b.alu('lt', fromSmallest, f.b.const(uint, BigInt(2 * bias) * unit));
  const most = f.mul(f.abs(y), f.add(f.abs(parts.k), 0.5));
  const reach = f.b.alu('where', normal, f.bits(most), f.int(f.signBit ^ -1n));
  return [f.b.alu('lt', f.bits(bias - 2), reach), anyPower(f, x, y), power];
}

function anyPower(f: Float, x: Expr, y: Expr): Expr {
  const t = tables[f.type];
  const a = f.abs(x);
  const exponent = f.min(f.max(y, -t.largestY), t.largestY);
  const power = exp2Pair(f, exponentOf(f, exponent, log2Pair(f, split(f, a))));

  const zero = f.eq(a, 0);
  const infinite = f.eq(a, Number.POSITIVE_INFINITY);
  const extreme = f.where(f.differ(zero, f.lt(y, 0)), 0, Number.POSITIVE_INFINITY);
  const magnitude = f.where(f.either(zero, infinite), extreme, power);

  const half = f.mul(y, 0.5);
  const whole = f.eq(f.floor(y), y);
  const odd = f.both(whole, f.ne(f.floor(half), half));
  const negated = f.where(f.both(f.signed(x), odd), f.neg(magnitude), magnitude);
  const undefinedPower = f.both(f.both(f.lt(x, 0), f.not(infinite)), f.not(whole));
  const result = f.where(undefinedPower, Number.NaN, negated);
  const nan = f.either(f.ne(x, x), f.ne(y, y));
  const one = f.either(f.eq(x, 1), f.eq(y, 0));
  return f.where(one, 1, f.where(nan, Number.NaN, result));
}
