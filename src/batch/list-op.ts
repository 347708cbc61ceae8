// An operation on lists, as the loop sees it: what items are, which of them run together, what is done with packed host arrays. The
// operations themselves are elementwise.ts, xor.ts and products.ts.

import { type Maybe, type OperationType, type Runtime, type Shape, Tensor, type TypedArray } from '../index.ts';
import { badArgument } from './failures.ts';
import { type ItemOp, open } from './fused.ts';
import { dtypeOf, type Item } from './lists.ts';
import { readThrough } from './packing.ts';
import { type Padding, paddedLengths, wasteOf } from './padding.ts';

/** Where host arrays are computed. */
export interface ArraysCall {
  readonly runtime: Runtime;
  /** Every device computes when it is called: nothing has to be awaited. */
  readonly host: boolean;
  /** Runs something as part of the attempt. */
  run<T>(body: () => T): T;
  /** Told of each result when it was read: its device is known then. */
  ran(result: Tensor): void;
}

/** Tells of a tensor that is disposed of when the result was read. */
export type Own = <T extends Tensor>(tensor: T) => T;

/**
 * Computes something and reads it; the result of several items is handed out in pieces. Not a scope: those follow asynchronous calls,
 * which makes every promise of the process slower while one is in progress.
 */
export function computed(
  call: ArraysCall,
  items: number,
  body: (own: Own) => Tensor,
  unpacked: (data: TypedArray) => TypedArray[],
): Maybe<TypedArray[]> {
  return call.host ? computedNow(call, body, unpacked) : computedLater(call, items, body, unpacked);
}

/** Where everything is done when it is called: no promise is made for it. */
function computedNow(
  call: ArraysCall,
  body: (own: Own) => Tensor,
  unpacked: (data: TypedArray) => TypedArray[],
): TypedArray[] {
  const tensors: Tensor[] = [];
  try {
    return call.run(() => {
      const result = owning(tensors)(body(owning(tensors)));
      // A single result is the array that was read.
      const made = unpacked(result.dataSync() as TypedArray);
      call.ran(result);
      return made;
    });
  } finally {
    for (const t of tensors) t.dispose();
  }
}

async function computedLater(
  call: ArraysCall,
  items: number,
  body: (own: Own) => Tensor,
  unpacked: (data: TypedArray) => TypedArray[],
): Promise<TypedArray[]> {
  const tensors: Tensor[] = [];
  try {
    return await call.run(async () => {
      const result = owning(tensors)(body(owning(tensors)));
      const made =
        items === 1 ? unpacked((await result.data()) as TypedArray) : await readThrough(call.runtime, result, unpacked);
      call.ran(result);
      return made;
    });
  } finally {
    for (const t of tensors) t.dispose();
  }
}

/**
 * One item where everything is done when it is called: what a loop over the items would do, and no more. `second` is what it is
 * combined with, if it is. The caller makes it part of an attempt, for all items at once.
 */
export function computedAlone(
  call: ArraysCall,
  first: TypedArray,
  second: TypedArray | null,
  shapes: readonly [Shape, Shape] | null,
  item: ItemOp,
): TypedArray {
  const { runtime } = call;
  const x = runtime.tensor(first, shapes?.[0]) as Tensor;
  let [y, made]: [Tensor, Tensor | null] = [x, null];
  try {
    if (second) y = runtime.tensor(second, shapes?.[1]) as Tensor;
    made = item.run(x, y, open);
    const data = made.dataSync() as TypedArray;
    call.ran(made);
    return data;
  } finally {
    made?.dispose();
    if (y !== x) y.dispose();
    x.dispose();
  }
}

const owning =
  (tensors: Tensor[]): Own =>
  (tensor) => {
    tensors.push(tensor);
    return tensor;
  };

/** Items that travel together need no copy in host memory: if their device is lost, each is run again by itself. */
export const uploaded = (rt: Runtime, data: TypedArray, shape: Shape, items: number): Tensor =>
  (items === 1 ? rt.tensor(data, shape) : rt.tensor(data, shape, { keep: false })) as Tensor;

/** Operands of one item: the item, and what it is combined with. */
export interface ListOp {
  readonly name: string;
  /** What the work is to the router. */
  readonly route: OperationType;
  readonly item: ItemOp;
  /** Whether all items are of one kind; else those with equal keys are run together. */
  readonly uniform: boolean;
  keyOf(index: number): string;
  /** Bytes of inputs and results of one item. */
  bytesOf(index: number): number;
  /** Bytes of the copies of one tensor item, where items are stacked. */
  stackedBytesOf?(index: number): number;
  /** Elements of its first operand, and the shape of its result. */
  elementsOf(index: number): number;
  shapeOf(index: number): Shape;
  /** Host arrays: the items at these positions in one go. */
  arrays(call: ArraysCall, at: readonly number[]): Maybe<TypedArray[]>;
  /** The same for a single one, where everything is done when it is called. */
  alone(call: ArraysCall, index: number): TypedArray;
  /** The operands of a tensor item; `second` is the same object for all where it is shared. */
  readonly first: readonly Item[];
  readonly second: readonly Item[] | Item | undefined;
}

export const secondAt = (second: readonly Item[] | Item | undefined, i: number): Item | undefined =>
  Array.isArray(second) ? second[i] : (second as Item | undefined);

/** The lengths that arrays are filled up to, if they may be. */
export function groupLengths(where: string, data: readonly Item[], pad: Padding | undefined): readonly number[] | null {
  if (pad === undefined) return null;
  const waste = wasteOf(where, pad);
  if (data[0] instanceof Tensor)
    throw badArgument(
      where,
      'pad is for lists of arrays, and these are tensors',
      'Leave it out: tensors travel nowhere.',
    );
  return paddedLengths(data.map(lengthOf), waste);
}

/** The longest of a group. */
export const strideOf = (arrays: readonly TypedArray[]): number => arrays.reduce((n, a) => Math.max(n, a.length), 0);

/** Of operations whose results have the shape of their items. */
export class SameShape implements Pick<ListOp, 'first' | 'elementsOf' | 'shapeOf'> {
  readonly first: readonly Item[];

  constructor(data: readonly Item[]) {
    this.first = data;
  }

  elementsOf(i: number): number {
    return lengthOf(this.first[i]!);
  }

  shapeOf(i: number): Shape {
    const item = this.first[i]!;
    return item instanceof Tensor ? item.shape : [item.length];
  }
}

export function checkDTypes(where: string, items: readonly Item[]): void {
  const [first] = items;
  if (first === undefined || first instanceof Tensor || dtypeOf(first)) return;
  throw badArgument(
    where,
    `${first.constructor.name} has no dtype`,
    'Use Float32Array, Float64Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array or Uint8Array.',
  );
}

export const lengthOf = (item: Item): number => (item instanceof Tensor ? item.size : item.length);
export const sizeOf = (item: Item): number => (item instanceof Tensor ? item.nbytes : item.byteLength);
export const elementBytes = (item: Item): number => (lengthOf(item) === 0 ? 4 : sizeOf(item) / lengthOf(item));
/** Bytes of an item, filled up to so many elements if it is. */
export const paddedSize = (item: Item, length: number | undefined): number =>
  length === undefined ? sizeOf(item) : length * elementBytes(item);
