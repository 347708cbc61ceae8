// An operation on lists, as the loop sees it: what items are, which of them run together, what is done with packed host arrays. The
// operations themselves are elementwise.ts, xor.ts and products.ts.

import { type Maybe, type OperationType, type Runtime, type Shape, Tensor, type TypedArray } from '../index.ts';
import { badArgument } from './failures.ts';
import type { ItemOp } from './fused.ts';
import { dtypeOf, type Item } from './lists.ts';
import { readThrough } from './packing.ts';
import { type Padding, paddedLengths, wasteOf } from './padding.ts';

/** Where host arrays are computed. */
export interface ArraysCall {
  readonly runtime: Runtime;
  /** Every device computes when it is called: nothing has to be awaited. */
  readonly host: boolean;
  /** Runs something as part of the attempt. */
  readonly run: <T>(body: () => T) => T;
  /** Told of each result when it was read: its device is known then. */
  readonly ran: (result: Tensor) => void;
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
  { run, ran }: ArraysCall,
  body: (own: Own) => Tensor,
  unpacked: (data: TypedArray) => TypedArray[],
): TypedArray[] {
  const tensors: Tensor[] = [];
  try {
    return run(() => {
      const result = owning(tensors)(body(owning(tensors)));
      // A single result is the array that was read.
      const made = unpacked(result.dataSync() as TypedArray);
      ran(result);
      return made;
    });
  } finally {
    for (const t of tensors) t.dispose();
  }
}

async function computedLater(
  { runtime, run, ran }: ArraysCall,
  items: number,
  body: (own: Own) => Tensor,
  unpacked: (data: TypedArray) => TypedArray[],
): Promise<TypedArray[]> {
  const tensors: Tensor[] = [];
  try {
    return await run(async () => {
      const result = owning(tensors)(body(owning(tensors)));
      const made =
        items === 1 ? unpacked((await result.data()) as TypedArray) : await readThrough(runtime, result, unpacked);
      ran(result);
      return made;
    });
  } finally {
    for (const t of tensors) t.dispose();
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
  /** Elements of its first operand, and the shape of its result. */
  elementsOf(index: number): number;
  shapeOf(index: number): Shape;
  /** Host arrays: the items at these positions in one go. */
  arrays(call: ArraysCall, at: readonly number[]): Maybe<TypedArray[]>;
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

export const sameShape = (data: readonly Item[]): Pick<ListOp, 'elementsOf' | 'shapeOf'> => ({
  elementsOf: (i) => lengthOf(data[i]!),
  shapeOf: (i) => {
    const item = data[i]!;
    return item instanceof Tensor ? item.shape : [item.length];
  },
});

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
