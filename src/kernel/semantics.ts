// What each scalar op means, as plain functions: the definition that constant folding, the reference device and the tests
// share. Floats are computed in double precision; rounding to the element type is the caller's (`roundTo`).
//
// Values are numbers, except for i64 and u64, whose values are bigints. Bools are 0 or 1.

import { type DType, dtypeInfo, intRange, is64BitInt } from '../base/dtype.ts';
import { roundToBf16, roundToF16 } from '../base/half.ts';
import type { ScalarType } from './expr.ts';
import type { AluOp } from './ops.ts';

export type Value = number | bigint;
export type Apply<T extends Value = Value> = (a: T, b: T, c: T) => T;

/** Rounds or wraps a computed value into the element type. */
export const roundTo: Readonly<Record<ScalarType, (v: Value) => Value>> = {
  // NaN is not zero.
  bool: (v) => (v || Number.isNaN(v) ? 1 : 0),
  u8: (v) => (v as number) & 255,
  i32: (v) => (v as number) | 0,
  u32: (v) => (v as number) >>> 0,
  i64: (v) => BigInt.asIntN(64, v as bigint),
  u64: (v) => BigInt.asUintN(64, v as bigint),
  f16: (v) => roundToF16(v as number),
  bf16: (v) => roundToBf16(v as number),
  f32: (v) => Math.fround(v as number),
  f64: (v) => v,
  index: (v) => v,
};

const bit = (b: boolean): number => (b ? 1 : 0);

export function roundHalfEven(x: number): number {
  const r = Math.round(x);
  // Math.round takes ties upwards; -0.5 … 0 must stay -0.
  const even = r - x === 0.5 && r % 2 !== 0 ? r - 1 : r;
  return even === 0 && (x < 0 || Object.is(x, -0)) ? -0 : even;
}

/** Python's and NumPy's float modulus: the result has the sign of the divisor. */
export function floorMod(a: number, b: number): number {
  const r = a % b;
  if (r === 0) return b < 0 ? -0 : b > 0 ? 0 : r;
  return r < 0 !== b < 0 ? (Number.isFinite(b) || Number.isNaN(r) ? r + b : b) : r;
}

const floatOps: Readonly<Partial<Record<AluOp, Apply<number>>>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  mod: floorMod,
  // C's pow, which NumPy follows: 1 to any power is 1, and so is -1 to an infinite one.
  pow: (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Number.POSITIVE_INFINITY) ? 1 : a ** b),
  max: (a, b) => Math.max(a, b),
  min: (a, b) => Math.min(a, b),
  atan2: (a, b) => Math.atan2(a, b),
  eq: (a, b) => bit(a === b),
  ne: (a, b) => bit(a !== b),
  lt: (a, b) => bit(a < b),
  le: (a, b) => bit(a <= b),
  where: (c, a, b) => (c ? a : b),
  neg: (a) => -a,
  abs: (a) => Math.abs(a),
  floor: (a) => Math.floor(a),
  ceil: (a) => Math.ceil(a),
  trunc: (a) => Math.trunc(a),
  round: roundHalfEven,
  sqrt: (a) => Math.sqrt(a),
  exp: (a) => Math.exp(a),
  exp2: (a) => 2 ** a,
  expm1: (a) => Math.expm1(a),
  log: (a) => Math.log(a),
  log2: (a) => Math.log2(a),
  log10: (a) => Math.log10(a),
  log1p: (a) => Math.log1p(a),
  sin: (a) => Math.sin(a),
  cos: (a) => Math.cos(a),
  tan: (a) => Math.tan(a),
  asin: (a) => Math.asin(a),
  acos: (a) => Math.acos(a),
  atan: (a) => Math.atan(a),
  sinh: (a) => Math.sinh(a),
  cosh: (a) => Math.cosh(a),
  tanh: (a) => Math.tanh(a),
  asinh: (a) => Math.asinh(a),
  acosh: (a) => Math.acosh(a),
  atanh: (a) => Math.atanh(a),
  erf,
};

// u8, i32, u32, bool and index. Results are wrapped by roundTo; mul needs more than a double's 53 bits before wrapping.
const intOps: Readonly<Partial<Record<AluOp, Apply<number>>>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => (Math.abs(a * b) <= Number.MAX_SAFE_INTEGER ? a * b : Math.imul(a, b)),
  idiv: (a, b) => (b === 0 ? 0 : Math.floor(a / b)),
  imod: (a, b) => (b === 0 ? 0 : a - b * Math.floor(a / b)),
  max: (a, b) => Math.max(a, b),
  min: (a, b) => Math.min(a, b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  eq: (a, b) => bit(a === b),
  ne: (a, b) => bit(a !== b),
  lt: (a, b) => bit(a < b),
  le: (a, b) => bit(a <= b),
  where: (c, a, b) => (c ? a : b),
  neg: (a) => -a,
  abs: (a) => Math.abs(a),
  not: (a) => ~a,
};

/** ~1 is not 0: bool has its own. */
const boolNot: Apply<number> = (a) => (a ? 0 : 1);

const bigOps: Readonly<Partial<Record<AluOp, Apply<bigint>>>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  idiv: (a, b) => (b === 0n ? 0n : floorDivBig(a, b)),
  imod: (a, b) => (b === 0n ? 0n : a - b * floorDivBig(a, b)),
  pow: (a, b) => powBig(a, b),
  max: (a, b) => (a > b ? a : b),
  min: (a, b) => (a < b ? a : b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  where: (c, a, b) => (c ? a : b),
  neg: (a) => -a,
  abs: (a) => (a < 0n ? -a : a),
  not: (a) => ~a,
};

const bigCompare: Readonly<Partial<Record<AluOp, (a: bigint, b: bigint) => number>>> = {
  eq: (a, b) => bit(a === b),
  ne: (a, b) => bit(a !== b),
  lt: (a, b) => bit(a < b),
  le: (a, b) => bit(a <= b),
};

function shifts(bits: number, signed: boolean): Readonly<Partial<Record<AluOp, Apply<number>>>> {
  return {
    shl: (a, n) => (n < 0 || n >= bits ? 0 : a << n),
    shr: (a, n) => (n < 0 || n >= bits ? (signed && a < 0 ? -1 : 0) : signed ? a >> n : a >>> n),
  };
}

const shiftOps: Readonly<Partial<Record<DType, Readonly<Partial<Record<AluOp, Apply<number>>>>>>> = {
  u8: shifts(8, false),
  i32: shifts(32, true),
  u32: shifts(32, false),
};

const bigShift: Readonly<Partial<Record<AluOp, Apply<bigint>>>> = {
  shl: (a, n) => (n < 0n || n >= 64n ? 0n : a << n),
  shr: (a, n) => (n < 0n || n >= 64n ? (a < 0n ? -1n : 0n) : a >> n),
};

const intPow: Apply<number> = (a, b) => Number(BigInt.asIntN(32, powBig(BigInt(a), BigInt(b))));

/**
 * The function of an op on operands of one type, without the final rounding (`roundTo[result type]` does that).
 * Undefined where the table of ops.ts does not allow the type.
 */
export function meaning(op: AluOp, type: ScalarType): Apply | undefined {
  const found =
    type === 'bool' && op === 'not'
      ? boolNot
      : type === 'index' || type === 'bool'
        ? intOps[op]
        : is64BitInt(type)
          ? (bigOps[op] ?? bigCompare[op] ?? bigShift[op])
          : dtypeInfo[type].class === 'int'
            ? op === 'pow'
              ? intPow
              : (intOps[op] ?? shiftOps[type]?.[op])
            : floatOps[op];
  return found as Apply | undefined;
}

/** A value of one type as another, as `Cast` defines it. */
export function castValue(v: Value, from: ScalarType, to: ScalarType): Value {
  if (to === 'bool') return roundTo.bool(v);
  if (to === 'index') return Number(v);
  const info = dtypeInfo[to];
  if (info.class === 'float') return roundTo[to](to !== 'f64' && typeof v === 'bigint' ? oddDouble(v) : Number(v));
  const fromFloat = from !== 'index' && dtypeInfo[from].class === 'float';
  if (!fromFloat) return is64BitInt(to) ? roundTo[to](BigInt(v)) : roundTo[to](Number(BigInt.asIntN(32, BigInt(v))));
  const x = Math.trunc(v as number);
  if (Number.isNaN(x)) return is64BitInt(to) ? 0n : 0;
  const [lo, hi] = intRange[to as keyof typeof intRange];
  const clamped = x <= Number(lo) ? lo : x >= Number(hi) ? hi : BigInt(x);
  return is64BitInt(to) ? clamped : Number(clamped);
}

/**
 * A 64-bit integer as a double that a narrower float type can still round right: of the bits that do not fit, it keeps
 * whether there were any.
 */
function oddDouble(v: bigint): number {
  const magnitude = v < 0n ? -v : v;
  if (magnitude < 2n ** 53n) return Number(v);
  const kept = (magnitude >> 11n) | (magnitude & 0x7ffn ? 1n : 0n);
  return Number(kept) * (v < 0n ? -2048 : 2048);
}

const bitView = new DataView(new ArrayBuffer(8));

/** The same bits read as another type of the same width (32 and 64 bits). */
export function bitcastValue(v: Value, from: ScalarType, to: ScalarType): Value {
  const write: Partial<Record<ScalarType, () => void>> = {
    f32: () => bitView.setFloat32(0, v as number),
    i32: () => bitView.setInt32(0, v as number),
    u32: () => bitView.setUint32(0, v as number),
    f64: () => bitView.setFloat64(0, v as number),
    i64: () => bitView.setBigInt64(0, v as bigint),
    u64: () => bitView.setBigUint64(0, v as bigint),
  };
  write[from]!();
  switch (to) {
    case 'f32':
      return bitView.getFloat32(0);
    case 'i32':
      return bitView.getInt32(0);
    case 'u32':
      return bitView.getUint32(0);
    case 'f64':
      return bitView.getFloat64(0);
    case 'i64':
      return bitView.getBigInt64(0);
    default:
      return bitView.getBigUint64(0);
  }
}

function floorDivBig(a: bigint, b: bigint): bigint {
  const q = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? q - 1n : q;
}

// Integer powers wrap; a negative exponent gives 1/base rounded towards zero, and 0 to a negative power gives 0.
function powBig(base: bigint, exponent: bigint): bigint {
  if (exponent < 0n) return base === 1n ? 1n : base === -1n ? (exponent % 2n === 0n ? 1n : -1n) : 0n;
  let result = 1n;
  let factor = BigInt.asUintN(64, base);
  for (let e = exponent; e > 0n; e >>= 1n) {
    if (e & 1n) result = BigInt.asUintN(64, result * factor);
    factor = BigInt.asUintN(64, factor * factor);
  }
  return result;
}

/** The error function in double precision: a series near zero, a continued fraction beyond (both to full precision). */
export function erf(x: number): number {
  if (Number.isNaN(x)) return x;
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 2.5) {
    // erf x = 2/√π · Σ (-1)^n x^(2n+1) / (n! (2n+1)), in the alternating-free form e^(-x²) Σ 2^n x^(2n+1) / (2n+1)!!
    let term = x;
    let sum = x;
    for (let n = 1; n < 120 && Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let f = 0;
  for (let n = 60; n >= 1; n--) f = n / 2 / (a + f);
  return Math.sign(x) * (1 - Math.exp(-a * a) / ((a + f) * Math.sqrt(Math.PI)));
}
