// Float modulus with the sign of the divisor, exact for every pair.
//
// A quotient of half a mantissa at most has exact products with the halves of the divisor: one division does. Larger ones take a
// long division of the mantissas: with a = ma·2^ea and b = mb·2^eb the remainder is (ma·2^(ea-eb) mod mb)·2^eb, and the power is
// taken in over steps of half a mantissa. Both are computed and one is chosen; a device may skip the second where no quotient is
// large: its subexpressions are used only under `where(far, …)`.

import type { Expr } from '../expr.ts';
import type { Float } from './float.ts';

interface Parts {
  /** A whole number with its leading bit set. */
  readonly mantissa: Expr;
  readonly exponent: Expr;
}

/** Mantissa and (biased) exponent of a positive finite number, subnormals included. */
function parts(f: Float, x: Expr): Parts {
  const { mantissa, smallestNormal, bias } = f.format;
  const small = f.lt(x, smallestNormal);
  const shift = mantissa + 1;
  const bits = f.bits(f.where(small, f.mul(x, 2 ** shift), x));
  const low = f.iand(bits, f.int((1n << BigInt(mantissa)) - 1n));
  const whole = f.fromBits(f.iadd(low, f.int(BigInt(bias + mantissa) << BigInt(mantissa))));
  const exponent = f.isub(f.shr(bits, mantissa), f.b.alu('where', small, f.int(shift), f.int(0)));
  return { mantissa: whole, exponent };
}

/** What is left of a number by a divisor, given its quotient, or one more: the difference is off by the divisor at most. */
function restAfter(f: Float, divisor: Expr): (r: Expr, q: Expr) => Expr {
  const high = f.head(divisor);
  const low = f.sub(divisor, high);
  return (r, q) => {
    const rest = f.sub(f.sub(r, f.mul(q, high)), f.mul(q, low));
    return f.where(f.lt(rest, 0), f.add(rest, divisor), rest);
  };
}

/** What is left of a number by a divisor, for quotients of half a mantissa at most. Rounded division gives the quotient, or one more. */
const remainderBy = (f: Float, r: Expr, divisor: Expr): Expr => restAfter(f, divisor)(r, f.floor(f.div(r, divisor)));

/** The remainder of |a| by |b|, both positive and finite. */
function remainder(f: Float, a: Expr, b: Expr): Expr {
  const { bias } = f.format;
  // Products with one more than the quotient must not overflow either.
  const limit = f.min(f.mul(b, 2 ** stepOf(f)), 2 ** (bias - 1));
  const result = f.where(f.lt(limit, a), longDivision(f, a, b), remainderBy(f, a, b));
  return f.where(f.lt(a, b), a, result);
}

/** Bits of a quotient whose products with half a mantissa are exact. */
const stepOf = (f: Float): number => (f.format.mantissa + 1) >> 1;

/** The remainder where |a| is larger. */
function longDivision(f: Float, a: Expr, b: Expr): Expr {
  const { mantissa, bias } = f.format;
  const step = stepOf(f);
  const [x, y] = [parts(f, a), parts(f, b)];
  // The steps share one division. Its result is made larger by more than all roundings take off, so that no quotient comes out too small.
  const inverse = f.mul(f.div(1, y.mantissa), 1 + 2 ** (3 - mantissa));
  const rest = restAfter(f, y.mantissa);
  const wrap = (r: Expr): Expr => rest(r, f.floor(f.mul(r, inverse)));
  const distance = f.fromInt(f.isub(x.exponent, y.exponent));
  const full = f.floor(f.mul(f.max(distance, 0), 1 / step));
  const first = f.sub(f.max(distance, 0), f.mul(full, step));
  let r = wrap(x.mantissa);
  r = wrap(f.scale(r, f.b.cast(f.format.int, first)));
  const steps = Math.ceil((2 * bias + mantissa) / step);
  for (let i = 0; i < steps; i++) r = f.where(f.lt(i, full), wrap(f.mul(r, 2 ** step)), r);
  return f.scale(r, f.isub(y.exponent, f.int(bias + mantissa)));
}

export function mod(f: Float, a: Expr, b: Expr): Expr {
  const [x, y] = [f.abs(a), f.abs(b)];
  const infinity = Number.POSITIVE_INFINITY;
  const defined = f.both(f.lt(x, infinity), f.lt(0, y));
  const r = f.where(f.both(defined, f.le(y, infinity)), remainder(f, x, y), Number.NaN);
  const zero = f.eq(r, 0);
  const signs = f.differ(f.signed(a), f.signed(b));
  const signed = f.withSign(r, a);
  return f.where(zero, f.withSign(f.const(0), b), f.where(signs, f.add(signed, b), signed));
}
