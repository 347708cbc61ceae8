// Elementwise ops: arithmetic, functions, comparison, logic, bits.

import { accumulatorFor, type DType, dtypeInfo, floatFor, isFloat } from '../base/dtype.ts';
import { show } from '../base/shape.ts';
import { DTypeError } from '../errors.ts';
import { noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import type { AluOp } from '../kernel/ops.ts';
import { binaryOps } from './binary.ts';
import { alu, cast, checkScalar, constant, type ScalarInput } from './build.ts';
import { TensorCore } from './core.ts';
import type { Tensor } from './tensor.ts';

/** The dtype of two operands of one dtype; known only at run time if they differ. */
export type Joined<A extends DType, B extends DType> = [A] extends [B] ? ([B] extends [A] ? A : DType) : DType;

/** The dtype of true division and of functions. */
export type FloatOf<D extends DType> = D extends 'f16' | 'bf16' | 'f32' | 'f64'
  ? D
  : D extends 'bool' | 'u8'
    ? 'f32'
    : 'f64';

export abstract class Elementwise<D extends DType = DType> extends TensorCore<D> {
  /**
   * Square root.
   * @example rt.tensor([4, 9]).sqrt() // → [2, 3]
   */
  sqrt(): Tensor<FloatOf<D>> {
    return this.unaryFloat('sqrt');
  }

  /**
   * e to the power of each element.
   * @example rt.tensor([0]).exp() // → [1]
   */
  exp(): Tensor<FloatOf<D>> {
    return this.unaryFloat('exp');
  }

  /**
   * 2 to the power of each element.
   * @example rt.tensor([3]).exp2() // → [8]
   */
  exp2(): Tensor<FloatOf<D>> {
    return this.unaryFloat('exp2');
  }

  /**
   * `exp(x) - 1`, accurate near zero.
   * @example rt.tensor([0]).expm1() // → [0]
   */
  expm1(): Tensor<FloatOf<D>> {
    return this.unaryFloat('expm1');
  }

  /**
   * Natural logarithm.
   * @example rt.tensor([1]).log() // → [0]
   */
  log(): Tensor<FloatOf<D>> {
    return this.unaryFloat('log');
  }

  /**
   * Logarithm to base 2.
   * @example rt.tensor([8]).log2() // → [3]
   */
  log2(): Tensor<FloatOf<D>> {
    return this.unaryFloat('log2');
  }

  /**
   * Logarithm to base 10.
   * @example rt.tensor([1]).log10() // → [0]
   */
  log10(): Tensor<FloatOf<D>> {
    return this.unaryFloat('log10');
  }

  /**
   * `log(1 + x)`, accurate near zero.
   * @example rt.tensor([0]).log1p() // → [0]
   */
  log1p(): Tensor<FloatOf<D>> {
    return this.unaryFloat('log1p');
  }

  /**
   * Sine of radians.
   * @example rt.tensor([0]).sin() // → [0]
   */
  sin(): Tensor<FloatOf<D>> {
    return this.unaryFloat('sin');
  }

  /**
   * Cosine of radians.
   * @example rt.tensor([0]).cos() // → [1]
   */
  cos(): Tensor<FloatOf<D>> {
    return this.unaryFloat('cos');
  }

  /**
   * Tangent of radians.
   * @example rt.tensor([0]).tan() // → [0]
   */
  tan(): Tensor<FloatOf<D>> {
    return this.unaryFloat('tan');
  }

  /**
   * Inverse sine.
   * @example rt.tensor([0]).asin() // → [0]
   */
  asin(): Tensor<FloatOf<D>> {
    return this.unaryFloat('asin');
  }

  /**
   * Inverse cosine.
   * @example rt.tensor([1]).acos() // → [0]
   */
  acos(): Tensor<FloatOf<D>> {
    return this.unaryFloat('acos');
  }

  /**
   * Inverse tangent.
   * @example rt.tensor([0]).atan() // → [0]
   */
  atan(): Tensor<FloatOf<D>> {
    return this.unaryFloat('atan');
  }

  /**
   * Hyperbolic sine.
   * @example rt.tensor([0]).sinh() // → [0]
   */
  sinh(): Tensor<FloatOf<D>> {
    return this.unaryFloat('sinh');
  }

  /**
   * Hyperbolic cosine.
   * @example rt.tensor([0]).cosh() // → [1]
   */
  cosh(): Tensor<FloatOf<D>> {
    return this.unaryFloat('cosh');
  }

  /**
   * Hyperbolic tangent.
   * @example rt.tensor([0]).tanh() // → [0]
   */
  tanh(): Tensor<FloatOf<D>> {
    return this.unaryFloat('tanh');
  }

  /**
   * Inverse hyperbolic sine.
   * @example rt.tensor([0]).asinh() // → [0]
   */
  asinh(): Tensor<FloatOf<D>> {
    return this.unaryFloat('asinh');
  }

  /**
   * Inverse hyperbolic cosine.
   * @example rt.tensor([1]).acosh() // → [0]
   */
  acosh(): Tensor<FloatOf<D>> {
    return this.unaryFloat('acosh');
  }

  /**
   * Inverse hyperbolic tangent.
   * @example rt.tensor([0]).atanh() // → [0]
   */
  atanh(): Tensor<FloatOf<D>> {
    return this.unaryFloat('atanh');
  }

  /**
   * The error function.
   * @example rt.tensor([0]).erf() // → [0]
   */
  erf(): Tensor<FloatOf<D>> {
    return this.unaryFloat('erf');
  }

  /**
   * Largest whole number not above each element. Integers are returned as they are.
   * @example rt.tensor([1.5, -1.5]).floor() // → [1, -2]
   */
  floor(): Tensor<D> {
    return isFloat(this.dtype) ? this.make<D>(alu('floor', this.node)) : this.make<D>(this.node);
  }

  /**
   * Smallest whole number not below each element. Integers are returned as they are.
   * @example rt.tensor([1.5, -1.5]).ceil() // → [2, -1]
   */
  ceil(): Tensor<D> {
    return isFloat(this.dtype) ? this.make<D>(alu('ceil', this.node)) : this.make<D>(this.node);
  }

  /**
   * The whole part, rounded towards zero. Integers are returned as they are.
   * @example rt.tensor([1.5, -1.5]).trunc() // → [1, -1]
   */
  trunc(): Tensor<D> {
    return isFloat(this.dtype) ? this.make<D>(alu('trunc', this.node)) : this.make<D>(this.node);
  }

  /**
   * Nearest whole number, ties to even. Integers are returned as they are.
   * @example rt.tensor([0.5, 1.5, 2.5]).round() // → [0, 2, 2]
   */
  round(): Tensor<D> {
    return isFloat(this.dtype) ? this.make<D>(alu('round', this.node)) : this.make<D>(this.node);
  }

  /**
   * Sum, with broadcasting; `or` for bool.
   * @example rt.tensor([1, 2]).add(1) // → [2, 3]
   */
  add<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('add', other);
  }

  /**
   * Difference, with broadcasting.
   * @example rt.tensor([3, 4]).sub(rt.tensor([1])) // → [2, 3]
   */
  sub<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('sub', other);
  }

  /**
   * Product, with broadcasting; `and` for bool.
   * @example rt.tensor([1, 2]).mul(3) // → [3, 6]
   */
  mul<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('mul', other);
  }

  /**
   * The larger of two values; NaN if either is NaN.
   * @example rt.tensor([1, 5]).maximum(3) // → [3, 5]
   */
  maximum<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('maximum', other);
  }

  /**
   * The smaller of two values; NaN if either is NaN.
   * @example rt.tensor([1, 5]).minimum(3) // → [1, 3]
   */
  minimum<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('minimum', other);
  }

  /**
   * Quotient rounded towards minus infinity; integers divided by zero give 0.
   * @example rt.tensor([7, -7]).floorDivide(2) // → [3, -4]
   */
  floorDivide<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('floorDivide', other);
  }

  /**
   * Remainder with the sign of the divisor.
   * @example rt.tensor([7, -7]).mod(3) // → [1, 2]
   */
  mod<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('mod', other);
  }

  /**
   * Power. Integer powers wrap around.
   * @example rt.tensor([2, 3]).pow(2) // → [4, 9]
   */
  pow<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('pow', other);
  }

  /**
   * True quotient; integers give floats.
   * @example rt.tensor([1, 2]).div(4) // → [0.25, 0.5]
   */
  div<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<FloatOf<Joined<D, E>>> {
    return this.arithmetic('div', other);
  }

  /**
   * The angle of the point (other, this).
   * @example rt.tensor([0]).atan2(1) // → [0]
   */
  atan2<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<FloatOf<Joined<D, E>>> {
    return this.arithmetic('atan2', other);
  }

  /**
   * `sqrt(this² + other²)` without overflow on the way.
   * @example rt.tensor([3]).hypot(4) // → [5]
   */
  hypot<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<FloatOf<Joined<D, E>>> {
    return this.arithmetic('hypot', other);
  }

  /**
   * Bitwise and of integers or bools.
   * @example rt.tensor([6], [1], { dtype: 'i32' }).bitwiseAnd(3) // → [2]
   */
  bitwiseAnd<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('bitwiseAnd', other);
  }

  /**
   * Bitwise or of integers or bools.
   * @example rt.tensor([6], [1], { dtype: 'i32' }).bitwiseOr(3) // → [7]
   */
  bitwiseOr<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('bitwiseOr', other);
  }

  /**
   * Bitwise exclusive or of integers or bools.
   * @example rt.tensor([6], [1], { dtype: 'i32' }).bitwiseXor(3) // → [5]
   */
  bitwiseXor<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('bitwiseXor', other);
  }

  /**
   * Bits moved up; counts of the width or more give 0.
   * @example rt.tensor([3], [1], { dtype: 'i32' }).leftShift(2) // → [12]
   */
  leftShift<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('leftShift', other);
  }

  /**
   * Bits moved down, keeping the sign of signed types.
   * @example rt.tensor([-8], [1], { dtype: 'i32' }).rightShift(1) // → [-4]
   */
  rightShift<E extends DType = D>(other: Tensor<E> | ScalarInput): Tensor<Joined<D, E>> {
    return this.arithmetic('rightShift', other);
  }

  /**
   * Both are not zero.
   * @example rt.tensor([0, 2]).logicalAnd(1) // → [false, true]
   */
  logicalAnd(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('logicalAnd', other);
  }

  /**
   * Either is not zero.
   * @example rt.tensor([0, 2]).logicalOr(0) // → [false, true]
   */
  logicalOr(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('logicalOr', other);
  }

  /**
   * Exactly one is not zero.
   * @example rt.tensor([0, 2]).logicalXor(1) // → [true, false]
   */
  logicalXor(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('logicalXor', other);
  }

  /**
   * Whether the values are equal; NaN is equal to nothing.
   * @example rt.tensor([1, 2]).equal(2) // → [false, true]
   */
  equal(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('equal', other);
  }

  /**
   * Whether the values differ.
   * @example rt.tensor([1, 2]).notEqual(2) // → [true, false]
   */
  notEqual(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('notEqual', other);
  }

  /**
   * this < other
   * @example rt.tensor([1, 2]).less(2) // → [true, false]
   */
  less(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('less', other);
  }

  /**
   * this ≤ other
   * @example rt.tensor([1, 3]).lessEqual(2) // → [true, false]
   */
  lessEqual(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('lessEqual', other);
  }

  /**
   * this > other
   * @example rt.tensor([1, 3]).greater(2) // → [false, true]
   */
  greater(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('greater', other);
  }

  /**
   * this ≥ other
   * @example rt.tensor([1, 2]).greaterEqual(2) // → [false, true]
   */
  greaterEqual(other: Tensor | ScalarInput): Tensor<'bool'> {
    return this.arithmetic('greaterEqual', other);
  }

  /**
   * The opposite sign; unsigned integers wrap around.
   * @example rt.tensor([1, -2]).neg() // → [-1, 2]
   */
  neg(): Tensor<D> {
    this.refuse('neg', 'bool');
    return this.make<D>(alu('neg', this.node));
  }

  /**
   * Absolute value.
   * @example rt.tensor([1, -2]).abs() // → [1, 2]
   */
  abs(): Tensor<D> {
    return this.dtype === 'bool' ? this.make<D>(this.node) : this.make<D>(alu('abs', this.node));
  }

  /**
   * -1, 0 or 1; NaN stays NaN.
   * @example rt.tensor([-3, 0, 5]).sign() // → [-1, 0, 1]
   */
  sign(): Tensor<D> {
    this.refuse('sign', 'bool');
    const x = this.node;
    const zero = constant(x.dtype, 0);
    const positive = alu('where', alu('lt', zero, x), constant(x.dtype, 1), zero);
    if (!dtypeInfo[x.dtype].signed) return this.make<D>(positive);
    const result = alu('where', alu('lt', x, zero), constant(x.dtype, -1), positive);
    return this.make<D>(isFloat(x.dtype) ? alu('where', alu('eq', x, x), result, x) : result);
  }

  /**
   * Each element times itself.
   * @example rt.tensor([2, 3]).square() // → [4, 9]
   */
  square(): Tensor<D> {
    this.refuse('square', 'bool');
    return this.make<D>(alu('mul', this.node, this.node));
  }

  /**
   * `1 / x`
   * @example rt.tensor([4]).reciprocal() // → [0.25]
   */
  reciprocal(): Tensor<FloatOf<D>> {
    const x = cast(this.node, floatFor(this.dtype));
    return this.make(alu('div', constant(x.dtype, 1), x));
  }

  /**
   * `1 / sqrt(x)`
   * @example rt.tensor([4]).rsqrt() // → [0.5]
   */
  rsqrt(): Tensor<FloatOf<D>> {
    const x = cast(this.node, floatFor(this.dtype));
    return this.make(alu('div', constant(x.dtype, 1), alu('sqrt', x)));
  }

  /**
   * `1 / (1 + exp(-x))`
   * @example rt.tensor([0]).sigmoid() // → [0.5]
   */
  sigmoid(): Tensor<FloatOf<D>> {
    const type = floatFor(this.dtype);
    // exp(-x) leaves the range of f16 long before 1 / (1 + exp(-x)) does.
    const x = cast(this.node, accumulatorFor(type));
    const one = constant(x.dtype, 1);
    return this.make(cast(alu('div', one, alu('add', alu('exp', alu('neg', x)), one)), type));
  }

  /**
   * `max(x, 0)`
   * @example rt.tensor([-1, 2]).relu() // → [0, 2]
   */
  relu(): Tensor<D> {
    this.refuse('relu', 'bool');
    return this.make<D>(alu('max', this.node, constant(this.dtype, 0)));
  }

  /**
   * Values limited to lo … hi.
   * @example rt.tensor([-1, 0.5, 2]).clip(0, 1) // → [0, 0.5, 1]
   */
  clip(lo: Tensor | ScalarInput, hi: Tensor | ScalarInput): Tensor {
    return this.maximum(lo).minimum(hi) as Tensor;
  }

  /**
   * Whether each element is not a number.
   * @example rt.tensor([Number.NaN, 1]).isnan() // → [true, false]
   */
  isnan(): Tensor<'bool'> {
    return isFloat(this.dtype) ? this.make(alu('ne', this.node, this.node)) : this.allFalse();
  }

  /**
   * Whether each element is plus or minus infinity.
   * @example rt.tensor([Number.POSITIVE_INFINITY, 1]).isinf() // → [true, false]
   */
  isinf(): Tensor<'bool'> {
    if (!isFloat(this.dtype)) return this.allFalse();
    return this.make(alu('eq', alu('abs', this.node), constant(this.dtype, Number.POSITIVE_INFINITY)));
  }

  /**
   * Whether each element is neither infinite nor NaN.
   * @example rt.tensor([Number.POSITIVE_INFINITY, 1]).isfinite() // → [false, true]
   */
  isfinite(): Tensor<'bool'> {
    if (!isFloat(this.dtype)) return this.make(alu('not', this.allFalse().node));
    return this.make(alu('lt', alu('abs', this.node), constant(this.dtype, Number.POSITIVE_INFINITY)));
  }

  /**
   * Whether each element is zero.
   * @example rt.tensor([0, 2]).logicalNot() // → [true, false]
   */
  logicalNot(): Tensor<'bool'> {
    return this.make(alu('not', cast(this.node, 'bool')));
  }

  /**
   * All bits flipped; logical not for bool.
   * @example rt.tensor([0], [1], { dtype: 'i32' }).bitwiseNot() // → [-1]
   */
  bitwiseNot(): Tensor<D> {
    this.refuse('bitwiseNot', 'float');
    return this.make<D>(alu('not', this.node));
  }

  /**
   * The values as another dtype: floats to integers truncate and saturate (NaN gives 0), integers to narrower ones wrap.
   * @example rt.tensor([1.7, -1.7]).cast('i32') // → [1, -1]
   */
  cast<E extends DType>(dtype: E): Tensor<E> {
    if (dtypeInfo[dtype] === undefined) {
      throw new DTypeError({
        code: 'UNKNOWN_DTYPE',
        message: `cast: there is no dtype '${String(dtype)}'`,
        fix: `Use one of ${Object.keys(dtypeInfo).join(', ')}.`,
        where: 'cast',
      });
    }
    return this.make(cast(this.node, dtype));
  }

  /**
   * The same bits as another dtype of the same width (32 or 64 bits).
   * @example rt.tensor([1]).bitcast('u32') // → [1065353216]
   */
  bitcast<E extends DType>(dtype: E): Tensor<E> {
    const [from, to] = [dtypeInfo[this.dtype], dtypeInfo[dtype]];
    if (!to || from.bytes !== to.bytes || from.bytes < 4) {
      throw new DTypeError({
        code: 'BAD_BITCAST',
        message: `bitcast: ${this.dtype} ${show(this.shape)} cannot be read as ${dtype}`,
        fix: 'Both dtypes must have the same width of 32 or 64 bits.',
        where: 'bitcast',
      });
    }
    return this.make(
      this.dtype === (dtype as DType) ? this.node : new Node('bitcast', dtype, this.node.shape, [this.node], noInts),
    );
  }

  private unaryFloat<E extends DType>(op: AluOp): Tensor<E> {
    return this.make<E>(alu(op, cast(this.node, floatFor(this.dtype))));
  }

  private allFalse(): Tensor<'bool'> {
    return this.make(alu('ne', this.node, this.node));
  }

  private arithmetic<E extends DType>(name: keyof typeof binaryOps, other: TensorCore | ScalarInput): Tensor<E> {
    const a = this.node;
    const row = binaryOps[name];
    if (other instanceof TensorCore) {
      const b = this.sibling(other, name).node;
      // The common case, kept short: equal dtypes that need no conversion and equal shapes.
      if (a.dtype === b.dtype && a.shape === b.shape && row.plain?.has(a.dtype))
        return this.make<E>(alu(row.op!, a, b));
      return this.make<E>(row.build(a, b, name));
    }
    return this.make<E>(row.build(a, checkScalar(other, name), name));
  }

  private refuse(op: string, what: 'bool' | 'float'): void {
    if (dtypeInfo[this.dtype].class !== what) return;
    throw new DTypeError({
      code: 'UNSUPPORTED_DTYPE',
      message: `${op}: not defined for ${this.dtype} ${show(this.shape)}`,
      fix:
        what === 'bool'
          ? "Cast to an integer or float dtype first: x.cast('i32')."
          : "Cast to an integer dtype first: x.cast('i32').",
      where: op,
    });
  }
}
