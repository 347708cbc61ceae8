// pow: 2^(y·log2 x), with log2 x to well more than the precision of the type.
//
// Numbers are pairs of a head (half the bits, so that products of heads are exact) and a tail.

import type { Expr } from '../expr.ts';
import { expTail } from './exp.ts';
import type { Float, FloatType } from './float.ts';
import { split } from './log.ts';

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

/** log2 of a positive finite number. */
function log2Pair(f: Float, x: Expr): Pair {
  const t = tables[f.type];
  const { k, m } = split(f, x);
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
  const rest = f.add(f.mul(f.mul(z, z), f.poly(z, t.series)), f.mul(sTail, f.add(sHead, s)));
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

/** 2^(high + low). */
function exp2Pair(f: Float, high: Expr, low: Expr): Expr {
  const t = tables[f.type];
  const sum = f.add(high, low);
  const bounded = f.min(f.max(sum, t.lowest), t.highest);
  const inside = f.eq(sum, bounded);
  const { n, bits } = f.nearest(bounded);
  const h = f.where(inside, f.sub(high, n), 0);
  const l = f.where(inside, low, 0);
  const head = f.head(f.add(h, l));
  const tail = f.sub(l, f.sub(head, h));
  const u = f.mul(head, t.ln2[0]);
  const v = f.add(f.mul(tail, t.ln2[0] + t.ln2[1]), f.mul(head, t.ln2[1]));
  // e^(u + v) = 1 + u + (v + what follows), the small parts first: only the last two sums round where it counts.
  const rest = f.add(v, expTail(f, f.add(u, v)));
  return f.scale(f.add(f.add(u, rest), 1), bits);
}

export function pow(f: Float, x: Expr, y: Expr): Expr {
  const t = tables[f.type];
  const a = f.abs(x);
  const exponent = f.min(f.max(y, -t.largestY), t.largestY);
  const [logHead, logTail] = log2Pair(f, a);
  const yHead = f.head(exponent);
  const high = f.mul(yHead, logHead);
  const low = f.add(f.mul(f.sub(exponent, yHead), logHead), f.mul(exponent, logTail));
  const power = exp2Pair(f, high, low);

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
