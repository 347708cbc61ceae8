// One operation on all elements of each item.

import type { Maybe, Tensor, TypedArray } from '../index.ts';
import { badArgument } from './failures.ts';
import { type Gate, type ItemOp, open } from './fused.ts';
import {
  type ArraysCall,
  checkDTypes,
  computed,
  computedAlone,
  groupLengths,
  type ListOp,
  type Own,
  paddedSize,
  SameShape,
  strideOf,
  uploaded,
} from './list-op.ts';
import { allEqual, type Item, kindOf, signatureOf } from './lists.ts';
import { pack, unpack } from './packing.ts';
import type { Padding } from './padding.ts';

export const elementwiseNames = ['add', 'multiply', 'square', 'sqrt', 'exp'] as const;
export type ElementwiseName = (typeof elementwiseNames)[number];

const scalarOps: ReadonlySet<string> = new Set(['add', 'multiply']);

const elementwise: Readonly<Record<ElementwiseName, (x: Tensor, scalar: number) => Tensor>> = {
  add: (x, scalar) => x.add(scalar),
  multiply: (x, scalar) => x.mul(scalar),
  square: (x) => x.mul(x),
  sqrt: (x) => x.sqrt(),
  exp: (x) => x.exp(),
};

/** One operation with its number. */
class ElementwiseItem implements ItemOp {
  readonly join = 'merge';
  private readonly op: ElementwiseName;
  private readonly scalar: number;

  constructor(op: ElementwiseName, scalar: number) {
    this.op = op;
    this.scalar = scalar;
  }

  get key(): string {
    return scalarOps.has(this.op) ? `${this.op} ${Object.is(this.scalar, -0) ? '-0' : this.scalar}` : this.op;
  }

  run(x: Tensor, _: Tensor | undefined, gate: Gate): Tensor {
    return gate(elementwise[this.op](x, this.scalar));
  }
}

/** A class, not a table of closures: making those takes as long as a short item. */
class Elementwise extends SameShape implements ListOp {
  readonly name: ElementwiseName;
  readonly route = 'element_wise';
  readonly item: ElementwiseItem;
  readonly second = undefined;
  readonly uniform: boolean;
  private readonly lengths: readonly number[] | null;

  constructor(data: readonly Item[], op: ElementwiseName, scalar: number, lengths: readonly number[] | null) {
    super(data);
    this.name = op;
    this.item = new ElementwiseItem(op, scalar);
    this.uniform = allEqual(data);
    this.lengths = lengths;
  }

  keyOf(i: number): string {
    return this.lengths ? `[${this.lengths[i]}]` : signatureOf(this.first[i]!);
  }

  bytesOf(i: number): number {
    return 2 * paddedSize(this.first[i]!, this.lengths?.[i]);
  }

  arrays(call: ArraysCall, at: readonly number[]): Maybe<TypedArray[]> {
    const arrays = at.map((i) => this.first[i] as TypedArray);
    const work = (own: Own): Tensor => {
      const all = pack(call.runtime, arrays, strideOf(arrays));
      return this.item.run(own(uploaded(call.runtime, all, [all.length], at.length)), undefined, open);
    };
    const lengths = arrays.map((a) => a.length);
    return computed(call, at.length, work, (made) => unpack(made, lengths));
  }

  alone(call: ArraysCall, i: number): TypedArray {
    return computedAlone(call, this.first[i] as TypedArray, null, null, this.item);
  }
}

export function elementwiseOp(
  data: readonly Item[],
  op: ElementwiseName,
  scalar: number | undefined,
  pad?: Padding,
): ListOp {
  const where = 'batchElementwise';
  if (!elementwiseNames.includes(op))
    throw badArgument(where, `there is no operation '${String(op)}'`, `Use one of ${elementwiseNames.join(', ')}.`);
  if (scalarOps.has(op) && typeof scalar !== 'number')
    throw badArgument(
      where,
      `${op} needs a number, and the scalar is ${kindOf(scalar)}`,
      `Give a number, or use one of ${elementwiseNames.filter((n) => !scalarOps.has(n)).join(', ')}.`,
    );
  checkDTypes(where, data);
  return new Elementwise(data, op, scalar ?? 0, groupLengths(where, data, pad));
}
