// Arithmetic with a second operand: sums, products, comparison, logic, bits.

import type { DType } from '../base/dtype.ts';
import { checked } from '../base/signatures.ts';
import { aluNode, aluNumberNode, dtypeBit, type Node } from '../graph/node.ts';
import { type BinaryOp, binaryOps, floatBits } from './binary.ts';
import type { ScalarInput } from './build.ts';
import { TensorCore } from './core.ts';
import { isOperand, tensorKinds } from './signatures.ts';
import type { Tensor } from './tensor.ts';

/** The dtype of two operands of one dtype; known only at run time if they differ. */
export type Joined<A extends DType, B extends DType> = [A] extends [B] ? ([B] extends [A] ? A : DType) : DType;

/** What arithmetic takes besides the tensor itself. */
export type Operand = Tensor | ScalarInput;

/** The dtype of a tensor and an operand: numbers take that of the tensor. */
export type With<D extends DType, O> = O extends { readonly dtype: infer E extends DType } ? Joined<D, E> : D;

/** The dtype of several tensors of one dtype; known only at run time if they differ. */
export type Common<D extends DType> =
  Joined<D, D> extends infer J ? (IsUnion<D> extends true ? DType : J & DType) : never;

type IsUnion<D, All = D> = D extends unknown ? ([All] extends [D] ? false : true) : never;

/** The dtype of true division and of functions. */
export type FloatOf<D extends DType> = D extends 'f16' | 'bf16' | 'f32' | 'f64'
  ? D
  : D extends 'bool' | 'u8'
    ? 'f32'
    : 'f64';

export abstract class Arithmetic<D extends DType = DType> extends TensorCore<D> {
  /**
   * Sum, with broadcasting; `or` for bool.
   * @example rt.tensor([1, 2]).add(1) // → [2, 3]
   */
  add<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('add', binaryOps.add, other);
  }

  /**
   * Difference, with broadcasting.
   * @example rt.tensor([3, 4]).sub(rt.tensor([1])) // → [2, 3]
   */
  sub<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('sub', binaryOps.sub, other);
  }

  /**
   * Product, with broadcasting; `and` for bool.
   * @example rt.tensor([1, 2]).mul(3) // → [3, 6]
   */
  mul<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('mul', binaryOps.mul, other);
  }

  /**
   * The larger of two values; NaN if either is NaN.
   * @example rt.tensor([1, 5]).maximum(3) // → [3, 5]
   */
  maximum<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('maximum', binaryOps.maximum, other);
  }

  /**
   * The smaller of two values; NaN if either is NaN.
   * @example rt.tensor([1, 5]).minimum(3) // → [1, 3]
   */
  minimum<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('minimum', binaryOps.minimum, other);
  }

  /**
   * Quotient rounded towards minus infinity; integers divided by zero give 0.
   * @example rt.tensor([7, -7]).floorDivide(2) // → [3, -4]
   */
  floorDivide<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('floorDivide', binaryOps.floorDivide, other);
  }

  /**
   * Remainder with the sign of the divisor.
   * @example rt.tensor([7, -7]).mod(3) // → [1, 2]
   */
  mod<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('mod', binaryOps.mod, other);
  }

  /**
   * Power. Integer powers wrap around.
   * @example rt.tensor([2, 3]).pow(2) // → [4, 9]
   */
  pow<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('pow', binaryOps.pow, other);
  }

  /**
   * True quotient; integers give floats.
   * @example rt.tensor([1, 2]).div(4) // → [0.25, 0.5]
   */
  div<O extends Operand>(other: O): Tensor<FloatOf<With<D, O>>> {
    return this.arithmetic('div', binaryOps.div, other);
  }

  /**
   * The angle of the point (other, this).
   * @example rt.tensor([0]).atan2(1) // → [0]
   */
  atan2<O extends Operand>(other: O): Tensor<FloatOf<With<D, O>>> {
    return this.arithmetic('atan2', binaryOps.atan2, other);
  }

  /**
   * `sqrt(this² + other²)` without overflow on the way.
   * @example rt.tensor([3]).hypot(4) // → [5]
   */
  hypot<O extends Operand>(other: O): Tensor<FloatOf<With<D, O>>> {
    return this.arithmetic('hypot', binaryOps.hypot, other);
  }

  /**
   * Bitwise and of integers or bools.
   * @example rt.tensor([6], [1], { dtype: 'i32' }).bitwiseAnd(3) // → [2]
   */
  bitwiseAnd<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('bitwiseAnd', binaryOps.bitwiseAnd, other);
  }

  /**
   * Bitwise or of integers or bools.
   * @example rt.tensor([6], [1], { dtype: 'i32' }).bitwiseOr(3) // → [7]
   */
  bitwiseOr<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('bitwiseOr', binaryOps.bitwiseOr, other);
  }

  /**
   * Bitwise exclusive or of integers or bools.
   * @example rt.tensor([6], [1], { dtype: 'i32' }).bitwiseXor(3) // → [5]
   */
  bitwiseXor<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('bitwiseXor', binaryOps.bitwiseXor, other);
  }

  /**
   * Bits moved up; counts of the width or more give 0.
   * @example rt.tensor([3], [1], { dtype: 'i32' }).leftShift(2) // → [12]
   */
  leftShift<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('leftShift', binaryOps.leftShift, other);
  }

  /**
   * Bits moved down, keeping the sign of signed types.
   * @example rt.tensor([-8], [1], { dtype: 'i32' }).rightShift(1) // → [-4]
   */
  rightShift<O extends Operand>(other: O): Tensor<With<D, O>> {
    return this.arithmetic('rightShift', binaryOps.rightShift, other);
  }

  /**
   * Both are not zero.
   * @example rt.tensor([0, 2]).logicalAnd(1) // → [false, true]
   */
  logicalAnd(other: Operand): Tensor<'bool'> {
    return this.arithmetic('logicalAnd', binaryOps.logicalAnd, other);
  }

  /**
   * Either is not zero.
   * @example rt.tensor([0, 2]).logicalOr(0) // → [false, true]
   */
  logicalOr(other: Operand): Tensor<'bool'> {
    return this.arithmetic('logicalOr', binaryOps.logicalOr, other);
  }

  /**
   * Exactly one is not zero.
   * @example rt.tensor([0, 2]).logicalXor(1) // → [true, false]
   */
  logicalXor(other: Operand): Tensor<'bool'> {
    return this.arithmetic('logicalXor', binaryOps.logicalXor, other);
  }

  /**
   * Whether the values are equal; NaN is equal to nothing.
   * @example rt.tensor([1, 2]).equal(2) // → [false, true]
   */
  equal(other: Operand): Tensor<'bool'> {
    return this.arithmetic('equal', binaryOps.equal, other);
  }

  /**
   * Whether the values differ.
   * @example rt.tensor([1, 2]).notEqual(2) // → [true, false]
   */
  notEqual(other: Operand): Tensor<'bool'> {
    return this.arithmetic('notEqual', binaryOps.notEqual, other);
  }

  /**
   * this < other
   * @example rt.tensor([1, 2]).less(2) // → [true, false]
   */
  less(other: Operand): Tensor<'bool'> {
    return this.arithmetic('less', binaryOps.less, other);
  }

  /**
   * this ≤ other
   * @example rt.tensor([1, 3]).lessEqual(2) // → [true, false]
   */
  lessEqual(other: Operand): Tensor<'bool'> {
    return this.arithmetic('lessEqual', binaryOps.lessEqual, other);
  }

  /**
   * this > other
   * @example rt.tensor([1, 3]).greater(2) // → [false, true]
   */
  greater(other: Operand): Tensor<'bool'> {
    return this.arithmetic('greater', binaryOps.greater, other);
  }

  /**
   * this ≥ other
   * @example rt.tensor([1, 2]).greaterEqual(2) // → [false, true]
   */
  greaterEqual(other: Operand): Tensor<'bool'> {
    return this.arithmetic('greaterEqual', binaryOps.greaterEqual, other);
  }

  private arithmetic<E extends DType>(name: string, row: BinaryOp, other: Operand): Tensor<E> {
    const a = this.node;
    // The two common cases, kept short: a number, which takes the dtype of a float tensor,
    if (typeof other === 'number') {
      if ((row.plain & floatBits & dtypeBit(a)) !== 0) return this.make<E>(aluNumberNode(row.op!, a, other));
      return this.make<E>(row.build(a, other, name));
    }
    const b = this.own(other);
    if (b === null) return this.make<E>(row.build(a, this.operand(other, name), name));
    // and equal dtypes that need no conversion, with equal shapes.
    if (a.shape === b.shape && dtypeBit(a) === dtypeBit(b) && (row.plain & dtypeBit(a)) !== 0)
      return this.make<E>(aluNode(row.op!, [a, b]));
    return this.make<E>(row.build(a, b, name));
  }

  /** An operand of a call: the node of a tensor of the same runtime, or a scalar. */
  protected operand(other: Operand, where: string): Node | ScalarInput {
    return other instanceof TensorCore ? this.sibling(other, where).node : other;
  }
}

interface Operations {
  arithmetic(name: string, row: BinaryOp, other: unknown): Tensor;
}

// The methods above as they are called: checked, and without a call in between, for these are the ops that are called most.
for (const name of Object.keys(binaryOps) as (keyof typeof binaryOps)[]) {
  const prototype = Arithmetic.prototype as unknown as Record<string, (other: never) => Tensor>;
  const refusing = checked(name, 'other:operand', prototype[name]!, tensorKinds);
  const row = binaryOps[name];
  const method = function (this: Operations, other: unknown): Tensor {
    // biome-ignore lint/complexity/noArguments: an array of them would be made at every call.
    if (arguments.length === 1 && isOperand(other)) return this.arithmetic(name, row, other);
    // biome-ignore lint/complexity/noArguments: as above.
    return Reflect.apply(refusing, this, arguments);
  };
  Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
}
