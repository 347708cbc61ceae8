// Integer ops for devices whose own differ at the edges: division that truncates, shift counts taken modulo the width.
//
// u8 is not handled here: it is computed in u32.

import type { DType } from '../../base/dtype.ts';
import type { Expr } from '../expr.ts';
import type { Lowering } from './lowering.ts';

interface IntegerType {
  readonly width: 32 | 64;
  readonly signed: boolean;
  readonly unsigned: 'u32' | 'u64';
}

const types: Readonly<Partial<Record<DType, IntegerType>>> = {
  i32: { width: 32, signed: true, unsigned: 'u32' },
  u32: { width: 32, signed: false, unsigned: 'u32' },
  i64: { width: 64, signed: true, unsigned: 'u64' },
  u64: { width: 64, signed: false, unsigned: 'u64' },
};

type Decomposition = (b: Lowering, type: DType, src: readonly Expr[]) => Expr | undefined;

/** Wraps a decomposition so that it only sees 32 and 64 bit integers. */
const on =
  (build: (b: Lowering, t: IntegerType, x: Expr, y: Expr) => Expr): Decomposition =>
  (b, type, src) => {
    const t = types[type];
    return t && build(b, t, src[0]!, src[1]!);
  };

/** Division of 64-bit numbers where a device divides doubles in vectors, but such numbers one by one. */
interface Doubles {
  /** Whether a number has 50 bits or more: others are doubles, and their quotients are right when they are rounded down. */
  readonly far: Expr;
  /** The quotient rounded down, and the remainder that it leaves. */
  readonly quotient: Expr;
  readonly remainder: Expr;
}

function inDoubles(b: Lowering, t: IntegerType, x: Expr, y: Expr): Doubles {
  const type = x.type as DType;
  // A whole number that is added to the bits of 1.5·2^52 is added to the float, and the other way round.
  const shifter = b.const('f64', 1.5 * 2 ** 52);
  const bits = b.bitcast(type, shifter);
  const toDouble = (v: Expr): Expr => b.alu('sub', b.bitcast('f64', b.alu('add', v, bits)), shifter);
  const toWhole = (v: Expr): Expr => b.alu('sub', b.bitcast(type, b.alu('add', v, shifter)), bits);
  const [dx, dy] = [toDouble(x), toDouble(y)];
  const quotient = b.alu('floor', b.alu('div', dx, dy));
  const fromLeast = (v: Expr): Expr => (t.signed ? b.alu('add', v, b.const(type, 1n << 50n)) : v);
  const either = b.bitcast('u64', b.alu('or', fromLeast(x), fromLeast(y)));
  const beyond = b.safe('shr', either, b.const('u64', t.signed ? 51 : 50));
  return {
    far: b.alu('lt', b.const('i64', 0), b.bitcast('i64', beyond)),
    quotient: toWhole(quotient),
    remainder: toWhole(b.alu('sub', dx, b.alu('mul', quotient, dy))),
  };
}

export const idiv = on((b, t, x, y) => {
  const zero = b.const(x.type, 0);
  const byZero = b.alu('eq', y, zero);
  if (b.skips && t.width === 64) {
    const { far, quotient } = inDoubles(b, t, x, y);
    return b.alu('where', far, b.safe('idiv', x, y), b.alu('where', byZero, zero, quotient));
  }
  const quotient = t.signed ? signedQuotient(b, t, x, y) : unsignedQuotient(b, x, y);
  return b.alu('where', byZero, zero, quotient);
});

export const imod = on((b, t, x, y) => {
  const zero = b.const(x.type, 0);
  const byZero = b.alu('eq', y, zero);
  if (b.skips && t.width === 64) {
    const { far, remainder } = inDoubles(b, t, x, y);
    return b.alu('where', far, b.safe('imod', x, y), b.alu('where', byZero, zero, remainder));
  }
  const quotient = t.signed ? signedQuotient(b, t, x, y) : unsignedQuotient(b, x, y);
  return b.alu('where', byZero, zero, b.alu('sub', x, b.alu('mul', quotient, y)));
});

const unsignedQuotient = (b: Lowering, x: Expr, y: Expr): Expr =>
  b.safe('idiv', x, b.alu('max', y, b.const(y.type, 1)));

// Magnitudes as unsigned numbers: the most negative value has one, and divided by -1 it wraps back to itself.
function signedQuotient(b: Lowering, t: IntegerType, x: Expr, y: Expr): Expr {
  const magnitude = (v: Expr): Expr => b.bitcast(t.unsigned, b.alu('abs', v));
  const zero = b.const(x.type, 0);
  const [n, d] = [magnitude(x), b.alu('max', magnitude(y), b.const(t.unsigned, 1))];
  const q = b.safe('idiv', n, d);
  const inexact = b.alu('ne', b.alu('mul', q, d), n);
  const up = b.alu('where', inexact, b.const(t.unsigned, 1), b.const(t.unsigned, 0));
  const negative = b.alu('xor', b.alu('lt', x, zero), b.alu('lt', y, zero));
  const towardsMinus = b.alu('neg', b.bitcast(x.type as DType, b.alu('add', q, up)));
  return b.alu('where', negative, towardsMinus, b.bitcast(x.type as DType, q));
}

export const shl = on((b, t, x, n) => {
  const { inRange, count } = boundedCount(b, t, n);
  return b.alu('where', inRange, b.safe('shl', x, count), b.const(x.type, 0));
});

export const shr = on((b, t, x, n) => {
  const { inRange, count } = boundedCount(b, t, n);
  const shifted = b.safe('shr', x, count);
  // All the way, a signed value leaves only its sign.
  const beyond = t.signed ? b.safe('shr', x, b.const(x.type, t.width - 1)) : b.const(x.type, 0);
  return b.alu('where', inRange, shifted, beyond);
});

function boundedCount(b: Lowering, t: IntegerType, n: Expr): { readonly inRange: Expr; readonly count: Expr } {
  const positive = b.alu('le', b.const(n.type, 0), n);
  const inRange = b.alu('and', positive, b.alu('lt', n, b.const(n.type, t.width)));
  return { inRange, count: b.alu('and', n, b.const(n.type, t.width - 1)) };
}

/** By squaring, one step for each bit of the exponent; with a constant exponent only its own bits remain. */
export const pow = on((b, t, x, n) => {
  const [zero, one] = [b.const(x.type, 0), b.const(x.type, 1)];
  let result: Expr = one;
  let factor = x;
  const bits = t.signed ? t.width - 1 : t.width;
  for (let i = 0; i < bits; i++) {
    const set = b.alu('ne', b.alu('and', n, b.const(n.type, 1n << BigInt(i))), zero);
    result = b.alu('where', set, b.alu('mul', result, factor), result);
    factor = b.alu('mul', factor, factor);
  }
  if (!t.signed) return result;
  // 1/x rounded towards zero: only 1 and -1 leave anything, and their powers are those of the lowest bit.
  const odd = b.alu('ne', b.alu('and', n, one), zero);
  const minusOne = b.const(x.type, -1);
  const ofMinusOne = b.alu('where', odd, minusOne, one);
  const reciprocal = b.alu('where', b.alu('eq', x, minusOne), ofMinusOne, zero);
  const inverse = b.alu('where', b.alu('eq', x, one), one, reciprocal);
  return b.alu('where', b.alu('lt', n, zero), inverse, result);
});
