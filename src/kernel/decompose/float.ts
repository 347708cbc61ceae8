// Arithmetic on one float type, f32 or f64, for the decompositions: constants by themselves, bits, scaling, polynomials.
//
// Every method is one op of the kernel language unless it says otherwise. Operands may be plain numbers.

import type { Expr } from '../expr.ts';
import type { AluOp } from '../ops.ts';
import type { Lowering } from './lowering.ts';

export type FloatType = 'f32' | 'f64';
export type Arg = Expr | number;

interface Format {
  /** The signed and the unsigned integer of the same width. */
  readonly int: 'i32' | 'i64';
  readonly uint: 'u32' | 'u64';
  /** Bits of the mantissa without the leading one. */
  readonly mantissa: number;
  readonly bias: number;
  readonly smallestNormal: number;
  /** Adding and subtracting this rounds to a whole number, which then stands in the low bits. */
  readonly shifter: number;
  /** Keeps so few leading bits that the product of two such numbers is exact. */
  readonly headMask: bigint;
}

export const formats: Readonly<Record<FloatType, Format>> = {
  f32: {
    int: 'i32',
    uint: 'u32',
    mantissa: 23,
    bias: 127,
    smallestNormal: 2 ** -126,
    shifter: 1.5 * 2 ** 23,
    headMask: -(1n << 12n),
  },
  f64: {
    int: 'i64',
    uint: 'u64',
    mantissa: 52,
    bias: 1023,
    smallestNormal: 2 ** -1022,
    shifter: 1.5 * 2 ** 52,
    headMask: -(1n << 27n),
  },
};

export class Float {
  readonly b: Lowering;
  readonly type: FloatType;
  readonly format: Format;

  constructor(b: Lowering, type: FloatType) {
    this.b = b;
    this.type = type;
    this.format = formats[type];
  }

  #op(op: AluOp, ...args: Arg[]): Expr {
    return this.b.alu(op, ...args.map((a) => this.const(a)));
  }

  const(v: Arg): Expr {
    return typeof v === 'number' ? this.b.const(this.type, v) : v;
  }

  add = (x: Arg, y: Arg): Expr => this.#op('add', x, y);
  sub = (x: Arg, y: Arg): Expr => this.#op('sub', x, y);
  mul = (x: Arg, y: Arg): Expr => this.#op('mul', x, y);
  div = (x: Arg, y: Arg): Expr => this.#op('div', x, y);
  max = (x: Arg, y: Arg): Expr => this.#op('max', x, y);
  min = (x: Arg, y: Arg): Expr => this.#op('min', x, y);
  neg = (x: Arg): Expr => this.#op('neg', x);
  abs = (x: Arg): Expr => this.#op('abs', x);
  sqrt = (x: Arg): Expr => this.#op('sqrt', x);
  floor = (x: Arg): Expr => this.#op('floor', x);
  lt = (x: Arg, y: Arg): Expr => this.#op('lt', x, y);
  le = (x: Arg, y: Arg): Expr => this.#op('le', x, y);
  eq = (x: Arg, y: Arg): Expr => this.#op('eq', x, y);
  ne = (x: Arg, y: Arg): Expr => this.#op('ne', x, y);
  where = (c: Expr, x: Arg, y: Arg): Expr => this.b.alu('where', c, this.const(x), this.const(y));

  /** The smaller of two, and the larger; the first if either is NaN. Vector units have an instruction for that. */
  lesser = (x: Expr, y: Expr): Expr => this.where(this.lt(y, x), y, x);
  greater = (x: Expr, y: Expr): Expr => this.where(this.lt(x, y), y, x);

  both = (p: Expr, q: Expr): Expr => this.b.alu('and', p, q);
  either = (p: Expr, q: Expr): Expr => this.b.alu('or', p, q);
  differ = (p: Expr, q: Expr): Expr => this.b.alu('xor', p, q);
  not = (p: Expr): Expr => this.b.alu('not', p);

  /** The bit pattern as the signed integer. */
  bits = (x: Arg): Expr => this.b.bitcast(this.format.int, this.const(x));
  fromBits = (i: Expr): Expr => this.b.bitcast(this.type, i);
  int = (v: number | bigint): Expr => this.b.const(this.format.int, v);
  fromInt = (i: Expr): Expr => this.b.cast(this.type, i);
  iadd = (x: Expr, y: Expr): Expr => this.b.alu('add', x, y);
  isub = (x: Expr, y: Expr): Expr => this.b.alu('sub', x, y);
  iand = (x: Expr, y: Expr): Expr => this.b.alu('and', x, y);
  /** By a count within the width. */
  shl = (x: Expr, count: number): Expr => this.b.safe('shl', x, this.b.const(x.type, count));
  shr = (x: Expr, count: number): Expr => this.b.safe('shr', x, this.b.const(x.type, count));

  /** c0 + c1·x + c2·x² + …, by Horner's rule. */
  poly(x: Expr, coefficients: readonly number[]): Expr {
    return coefficients
      .slice(0, -1)
      .reduceRight((sum: Expr, c) => this.add(this.mul(sum, x), c), this.const(coefficients.at(-1)!));
  }

  /** The same in half as many steps, one after the other: pairs of terms, by Horner's rule in `square`, which is x². */
  pairs(x: Expr, square: Expr, coefficients: readonly number[]): Expr {
    const pair = (i: number): Expr => {
      const [even, odd] = coefficients.slice(i, i + 2);
      return odd === undefined ? this.const(even!) : this.add(this.mul(x, odd), even!);
    };
    const last = (coefficients.length - 1) & ~1;
    let sum = pair(last);
    for (let i = last - 2; i >= 0; i -= 2) sum = this.add(this.mul(sum, square), pair(i));
    return sum;
  }

  /** A polynomial as the device computes it best. Which of the two it is may show in the last bit. */
  series(x: Expr, coefficients: readonly number[]): Expr {
    return this.b.skips ? this.pairs(x, this.mul(x, x), coefficients) : this.poly(x, coefficients);
  }

  /** The value with the lower half of its mantissa cleared: the difference to it, and products of two, are exact. */
  head(x: Expr): Expr {
    return this.fromBits(this.iand(this.bits(x), this.int(this.format.headMask)));
  }

  /** The magnitude of a value that is not negative, the sign of another. */
  withSign(magnitude: Expr, sign: Expr): Expr {
    const bit = this.iand(this.bits(sign), this.int(this.signBit));
    return this.fromBits(this.b.alu('or', this.bits(magnitude), bit));
  }

  /** True for -0 and all that carry the sign bit. */
  signed(x: Expr): Expr {
    return this.b.alu('lt', this.bits(x), this.int(0));
  }

  /**
   * The nearest whole number to x (|x| < 2^(mantissa-2)), twice: as a float, and as an integer whose low bits count it
   * (for `scale`; its upper bits are noise).
   */
  nearest(x: Arg): { readonly n: Expr; readonly bits: Expr } {
    const shifted = this.add(x, this.format.shifter);
    return { n: this.sub(shifted, this.format.shifter), bits: this.bits(shifted) };
  }

  /** x · 2^n, n in the low bits of an integer, |n| less than twice the exponent range: rounds once, whatever the result. */
  scale(x: Expr, n: Expr): Expr {
    const { mantissa, bias } = this.format;
    const one = this.int(BigInt(bias) << BigInt(mantissa));
    // Two steps: 2^n itself may be out of range where the result is not.
    const half = this.iand(this.shl(n, mantissa - 1), this.int(-(1n << BigInt(mantissa))));
    const rest = this.isub(this.shl(n, mantissa), half);
    return this.mul(this.mul(x, this.fromBits(this.iadd(rest, one))), this.fromBits(this.iadd(half, one)));
  }

  /** The same where x, 2^n and the result are neither subnormal nor infinite. */
  scaleNormal(x: Expr, n: Expr): Expr {
    const { mantissa, bias } = this.format;
    const power = this.iadd(this.shl(n, mantissa), this.int(BigInt(bias) << BigInt(mantissa)));
    return this.mul(x, this.fromBits(power));
  }

  /** True for all but positive numbers of full precision: 0, negative, subnormal and infinite numbers, NaN. */
  unusual(x: Expr): Expr {
    const { mantissa, bias } = this.format;
    const unit = 1n << BigInt(mantissa);
    // The smallest normal number becomes the least of all integers; one comparison does, and every processor has it.
    const fromSmallest = this.iadd(this.bits(x), this.int(-(this.signBit + unit)));
    return this.b.alu('lt', this.int(this.signBit + BigInt(2 * bias) * unit - 1n), fromSmallest);
  }

  /** x · 2^n where both are neither subnormal nor infinite nor NaN: the exponent moves. */
  moved(x: Expr, n: Expr): Expr {
    return this.fromBits(this.iadd(this.bits(x), this.shl(n, this.format.mantissa)));
  }

  /** Bits of a value. */
  get width(): 32 | 64 {
    return this.type === 'f32' ? 32 : 64;
  }

  /** The integer with only the sign bit set. */
  get signBit(): bigint {
    return this.type === 'f32' ? -(1n << 31n) : -(1n << 63n);
  }
}
