// Functions of one operand: signs, roots, exponentials, angles, rounding, tests, casts.

import { accumulatorFor, type DType, dtypeInfo, floatFor, intRange, isFloat } from '../base/dtype.ts';
import { show } from '../base/shape.ts';
import { DTypeError } from '../errors.ts';
import { noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import type { AluOp } from '../kernel/ops.ts';
import { Arithmetic, type FloatOf, type Operand, type With } from './arithmetic.ts';
import { binaryOps } from './binary.ts';
import { alu, cast, constant } from './build.ts';
import type { Tensor } from './tensor.ts';

export abstract class Functions<D extends DType = DType> extends Arithmetic<D> {
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
   * Values limited to lo … hi; null for an end without a limit.
   * @example rt.tensor([-1, 0.5, 2]).clip(0, 1) // → [0, 0.5, 1]
   * @example rt.tensor([-1, 0.5, 2]).clip(0) // → [0, 0.5, 2]
   * @example rt.tensor([-1, 0.5, 2]).clip(null, 1) // → [-1, 0.5, 1]
   */
  clip<L extends Operand | null, H extends Operand | null = null>(
    lo: L,
    hi: H | null = null,
  ): Tensor<With<With<D, L>, H>> {
    let node = this.node;
    if (lo !== null && !limitsNothing(lo, node.dtype, 'below')) {
      node = binaryOps.maximum.build(node, this.operand(lo, 'clip'), 'clip');
    }
    if (hi !== null && !limitsNothing(hi, node.dtype, 'above')) {
      node = binaryOps.minimum.build(node, this.operand(hi, 'clip'), 'clip');
    }
    return this.make(node);
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
    if (!isFloat(this.dtype)) return this.make(alu('eq', this.node, this.node));
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
    return this.make(cast(this.node, dtype));
  }

  /**
   * NumPy's name for `cast`.
   * @example rt.tensor([1.7]).astype('i32') // → [1]
   */
  astype<E extends DType>(dtype: E): Tensor<E> {
    return this.cast(dtype);
  }

  /**
   * The same bits as another dtype of the same width (32 or 64 bits).
   * @example rt.tensor([1]).bitcast('u32') // → [1065353216]
   */
  bitcast<E extends DType>(dtype: E): Tensor<E> {
    const [from, to] = [dtypeInfo[this.dtype], dtypeInfo[dtype]];
    if (from.bytes !== to.bytes || from.bytes < 4) {
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

/** Whether a whole number lies on one side of all values of an integer dtype. */
function limitsNothing(limit: Operand, dtype: DType, side: 'below' | 'above'): boolean {
  if (dtypeInfo[dtype].class !== 'int') return false;
  if (typeof limit !== 'bigint' && !(typeof limit === 'number' && Number.isInteger(limit))) return false;
  const [lo, hi] = intRange[dtype as keyof typeof intRange];
  return side === 'below' ? limit < lo : limit > hi;
}
