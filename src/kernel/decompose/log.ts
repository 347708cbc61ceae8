// log, log2, log10 and log1p: x = 2^k·m with m near 1, and a series in s = f/(2+f), f = m - 1.

import type { Expr } from '../expr.ts';
import type { Float, FloatType } from './float.ts';

interface Table {
  readonly ln2High: number;
  readonly ln2Low: number;
  /** 2·artanh(s) = 2s + s·z·L(z), z = s². */
  readonly series: readonly number[];
  /** log2(e), log10(e) and log10(2) in two parts, the first with few bits. */
  readonly log2e: readonly [number, number];
  readonly log10e: readonly [number, number];
  readonly log10of2: readonly [number, number];
}

const tables: Readonly<Record<FloatType, Table>> = {
  f32: {
    ln2High: 0.693145751953125,
    ln2Low: 1.4286068203094173e-6,
    series: [0.6666678190231323, 0.3997679054737091, 0.2989351153373718],
    log2e: [1.4423828125, 0.00031222838896340733],
    log10e: [0.4342041015625, 9.038034075182765e-5],
    log10of2: [0.301025390625, 4.605038981195214e-6],
  },
  f64: {
    ln2High: 0.6931471803691238,
    ln2Low: 1.9082149292705877e-10,
    series: [
      0.666666666666674, 0.3999999999937659, 0.28571428751636974, 0.22222197550708547, 0.18183621005433837,
      0.15312515587383352, 0.14812108342577956,
    ],
    log2e: [1.4426950216293335, 1.9259629911266175e-8],
    log10e: [0.4342944771051407, 4.798111141615973e-9],
    log10of2: [0.3010299950838089, 5.801722962879576e-10],
  },
};

export interface Split {
  /** x = 2^k · m with √½ ≤ m < √2. */
  readonly k: Expr;
  readonly m: Expr;
}

export function split(f: Float, x: Expr): Split {
  const { mantissa, smallestNormal } = f.format;
  const small = f.lt(x, smallestNormal);
  const { k, m } = splitNormal(f, f.where(small, f.mul(x, 2 ** mantissa), x));
  return { k: f.sub(k, f.where(small, mantissa, 0)), m };
}

/** The same of a number that is not subnormal. */
export function splitNormal(f: Float, x: Expr): Split {
  const { mantissa } = f.format;
  const bits = f.bits(x);
  const k = f.shr(f.isub(bits, f.int(sqrtHalfBits[f.type])), mantissa);
  return { k: f.fromInt(k), m: f.fromBits(f.isub(bits, f.shl(k, mantissa))) };
}

/** The same of a number that is neither subnormal nor negative, in steps of which vector units have an instruction for each. */
function splitUsual(f: Float, x: Expr): Split {
  const { mantissa, bias, uint } = f.format;
  const bits = f.bits(x);
  const above = f.isub(bits, f.int(sqrtHalfBits[f.type]));
  const m = f.fromBits(f.isub(bits, f.iand(above, f.int(-(1n << BigInt(mantissa))))));
  if (f.type === 'f32') return { k: f.fromInt(f.shr(above, mantissa)), m };
  // Put into the mantissa of 2^52, a whole number is a float.
  const whole = f.b.bitcast(uint, f.iadd(above, f.int(BigInt(bias) << BigInt(mantissa))));
  const k = f.fromBits(f.b.alu('or', f.b.bitcast(f.format.int, f.shr(whole, mantissa)), f.bits(2 ** mantissa)));
  return { k: f.sub(k, 2 ** mantissa + bias), m };
}

export const sqrtHalfBits: Readonly<Record<FloatType, bigint>> = { f32: 0x3f3504f3n, f64: 0x3fe6a09e667f3bcdn };

/** log(1+f) = f - half + rest, with half = f²/2: the pieces from which each logarithm is put together. */
function pieces(f: Float, x: Expr): { readonly half: Expr; readonly rest: Expr } {
  const s = f.div(x, f.add(x, 2));
  const z = f.mul(s, s);
  const half = f.mul(f.mul(x, 0.5), x);
  return { half, rest: f.mul(s, f.add(half, f.mul(z, f.poly(z, tables[f.type].series)))) };
}

/** The result for ordinary arguments, put right for 0, negative numbers, infinity and NaN. `pole` is where it is -∞. */
function inDomain(f: Float, x: Expr, result: Expr, pole: number): Expr {
  const atInfinity = f.where(f.lt(x, Number.POSITIVE_INFINITY), result, x);
  return f.where(f.lt(pole, x), atInfinity, f.where(f.eq(x, pole), Number.NEGATIVE_INFINITY, Number.NaN));
}

/**
 * A logarithm for any x. Where a device skips what no element takes, whatever is special about 0, negative, subnormal and infinite
 * numbers is behind a choice of its own; both ways give the same bits.
 */
function ofAny(f: Float, x: Expr, ofParts: (parts: Split) => Expr): Expr {
  const any = inDomain(f, x, ofParts(split(f, x)), 0);
  return f.b.skips ? f.where(f.unusual(x), any, ofParts(splitUsual(f, x))) : any;
}

export function log(f: Float, x: Expr): Expr {
  const t = tables[f.type];
  return ofAny(f, x, ({ k, m }) => {
    const y = f.sub(m, 1);
    const { half, rest } = pieces(f, y);
    const low = f.add(rest, f.mul(k, t.ln2Low));
    return f.add(f.mul(k, t.ln2High), f.sub(y, f.sub(half, low)));
  });
}

export function log1p(f: Float, x: Expr): Expr {
  const sum = f.add(x, 1);
  const any = inDomain(f, x, log1pOf(f, x, sum, split(f, sum)), -1);
  return f.b.skips ? f.where(f.unusual(sum), any, usualLog1p(f, x, sum)) : any;
}

/** log(1 + x) = log(sum) + lost/sum, where the sum is a positive number: no case is special. */
function usualLog1p(f: Float, x: Expr, sum: Expr): Expr {
  const t = tables[f.type];
  const { k, m } = splitUsual(f, sum);
  const one = f.sub(sum, x);
  const lost = f.add(f.sub(1, one), f.sub(x, f.sub(sum, one)));
  const y = f.sub(m, 1);
  const { half, rest } = pieces(f, y);
  const low = f.add(f.add(rest, f.div(lost, sum)), f.mul(k, t.ln2Low));
  const result = f.add(f.mul(k, t.ln2High), f.sub(y, f.sub(half, low)));
  // The sum above would turn -0 into 0.
  return f.withSign(result, x);
}

/** log(1 + x), given the sum as it was rounded, in parts. */
function log1pOf(f: Float, x: Expr, sum: Expr, { k, m }: Split): Expr {
  const t = tables[f.type];
  // What 1 + x lost, relative to it. For large x the roles of x and 1 change.
  const lost = f.where(f.lt(x, 1), f.sub(x, f.sub(sum, 1)), f.sub(1, f.sub(sum, x)));
  const near = f.eq(k, 0);
  const correction = f.where(near, 0, f.div(lost, sum));
  const y = f.where(near, x, f.sub(m, 1));
  const { half, rest } = pieces(f, y);
  const low = f.add(rest, f.add(f.mul(k, t.ln2Low), correction));
  const result = f.add(f.mul(k, t.ln2High), f.sub(y, f.sub(half, low)));
  // The sum above would turn -0 into 0.
  const tiny = f.lt(f.abs(x), 2 ** -(f.format.mantissa + 2));
  return f.where(tiny, x, result);
}

/** k·unit + log(m)·factor, both constants in two parts, with the head of log(m) multiplied exactly. */
const scaledLog = (f: Float, x: Expr, factor: readonly [number, number], unit: readonly [number, number]): Expr =>
  ofAny(f, x, (parts) => scaledLogOf(f, parts, factor, unit));

function scaledLogOf(
  f: Float,
  { k, m }: Split,
  factor: readonly [number, number],
  unit: readonly [number, number],
): Expr {
  const y = f.sub(m, 1);
  const { half, rest } = pieces(f, y);
  const high = f.head(f.sub(y, half));
  const low = f.add(f.sub(f.sub(y, high), half), rest);
  const product = f.mul(high, factor[0]);
  const kHigh = f.mul(k, unit[0]);
  const sum = f.add(kHigh, product);
  const lost = f.add(f.sub(kHigh, sum), product);
  const small = f.add(f.mul(f.add(low, high), factor[1]), f.mul(low, factor[0]));
  const tail = unit[1] === 0 ? small : f.add(f.mul(k, unit[1]), small);
  return f.add(f.add(tail, lost), sum);
}

export const log2 = (f: Float, x: Expr): Expr => scaledLog(f, x, tables[f.type].log2e, [1, 0]);
export const log10 = (f: Float, x: Expr): Expr => scaledLog(f, x, tables[f.type].log10e, tables[f.type].log10of2);
