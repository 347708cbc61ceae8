// Float modulus with the sign of the divisor, exact for every pair: long division of the mantissas.
//
// With a = ma·2^ea and b = mb·2^eb the remainder is (ma·2^(ea-eb) mod mb)·2^eb. The power is taken in over steps of half a
// mantissa: in each, the quotient and its products with the halves of mb are exact.

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

/** The remainder of |a| by |b|, both positive and finite. */
function remainder(f: Float, a: Expr, b: Expr): Expr {
  const { mantissa, bias } = f.format;
  const step = (mantissa + 1) >> 1;
  const [x, y] = [parts(f, a), parts(f, b)];
  const high = f.head(y.mantissa);
  const low = f.sub(y.mantissa, high);
  const wrap = (r: Expr): Expr => {
    // Rounded division gives the quotient, or one more; so the difference is off by the divisor at most.
    const q = f.floor(f.div(r, y.mantissa));
    const rest = f.sub(f.sub(r, f.mul(q, high)), f.mul(q, low));
    return f.where(f.lt(rest, 0), f.add(rest, y.mantissa), rest);
  };
  const distance = f.fromInt(f.isub(x.exponent, y.exponent));
  const full = f.floor(f.mul(f.max(distance, 0), 1 / step));
  const first = f.sub(f.max(distance, 0), f.mul(full, step));
  let r = wrap(x.mantissa);
  r = wrap(f.scale(r, f.b.cast(f.format.int, first)));
  const steps = Math.ceil((2 * bias + mantissa) / step);
  for (let i = 0; i < steps; i++) r = f.where(f.lt(i, full), wrap(f.mul(r, 2 ** step)), r);
  const result = f.scale(r, f.isub(y.exponent, f.int(bias + mantissa)));
  return f.where(f.lt(a, b), a, result);
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
