// Host arrays of equal length as one array, and back: one copy to the device instead of one for each.
//
// They are packed into memory that a runtime uses again and again, from which transfers are fastest: an upload has read it when it
// returns. Results that are unpacked are read into such memory too, one piece for each read that is under way.

import type { DType, Runtime, Tensor, TypedArray } from '../index.ts';
import { arrayTypes } from './lists.ts';

export const bytesOf = (a: TypedArray): Uint8Array => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);

interface ArrayClass<T> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): T;
  new (buffer: ArrayBufferLike, offset?: number, length?: number): T;
}

const classes: ReadonlyMap<DType, ArrayClass<TypedArray>> = new Map(
  [...arrayTypes].map(([Class, dtype]) => [dtype, Class as ArrayClass<TypedArray>]),
);

/** The class of arrays like this one. Node's Buffer may not be called with `new`, and names the class that may. */
export const classOf = <T extends TypedArray>(like: T): ArrayClass<T> =>
  (like.constructor as unknown as { readonly [Symbol.species]: ArrayClass<T> })[Symbol.species];

/** What is larger gets memory of its own. */
const mostStaged = 8 << 20;
/** Pieces of a runtime that nobody uses. */
const idle = new WeakMap<Runtime, Uint8Array[]>();
const mostIdle = 4;

/** So much memory or more, whatever it holds; give it back, or leave it to the collector. */
function borrow(runtime: Runtime, bytes: number): Uint8Array {
  const pieces = idle.get(runtime);
  const at = pieces?.findIndex((p) => p.length >= bytes) ?? -1;
  if (at >= 0) return pieces!.splice(at, 1)[0]!;
  return runtime.pinned(2 ** Math.ceil(Math.log2(Math.max(bytes, 1 << 16))), { dtype: 'u8' });
}

function giveBack(runtime: Runtime, piece: Uint8Array): void {
  let pieces = idle.get(runtime);
  if (!pieces) idle.set(runtime, (pieces = []));
  pieces.push(piece);
  if (pieces.length > mostIdle) pieces.shift();
}

/** Room for so many bytes, for the next upload. */
function roomFor(runtime: Runtime, bytes: number): Uint8Array {
  if (bytes > mostStaged) return new Uint8Array(bytes);
  const piece = borrow(runtime, bytes);
  // Nobody else can ask before the upload has read it.
  giveBack(runtime, piece);
  return piece.subarray(0, bytes);
}

/** Reads a tensor and unpacks it, by way of memory that is used again where the result has to be copied anyway. */
export async function readThrough<R>(runtime: Runtime, tensor: Tensor, use: (data: TypedArray) => R): Promise<R> {
  const Class = classes.get(tensor.dtype);
  if (!Class || tensor.nbytes > mostStaged) return use((await tensor.data()) as TypedArray);
  const piece = borrow(runtime, tensor.nbytes);
  const into = new Class(piece.buffer, piece.byteOffset, tensor.size);
  // After an error nobody knows whether the device still writes to it: it is left to the collector.
  const made = use((await tensor.data({ into: into as never })) as TypedArray);
  giveBack(runtime, piece);
  return made;
}

/** The bytes of all as words, each at a multiple of `stride` bytes with zeros behind it, for the next upload. */
export function packWords(runtime: Runtime, arrays: readonly TypedArray[], stride: number): Uint32Array {
  // A single one is used where it lies, if words can be read there.
  const [first] = arrays;
  const { buffer, byteOffset } =
    arrays.length === 1 && first!.byteLength === stride && first!.byteOffset % 4 === 0
      ? first!
      : packBytes(runtime, arrays, stride);
  return new Uint32Array(buffer, byteOffset, (arrays.length * stride) / 4);
}

function packBytes(runtime: Runtime, arrays: readonly TypedArray[], stride: number): Uint8Array {
  const [first] = arrays;
  const all = roomFor(runtime, arrays.length * stride);
  const size = first!.BYTES_PER_ELEMENT;
  if (stride % size === 0) fill(all, arrays, stride / size);
  else {
    for (let i = 0; i < arrays.length; i++) {
      const { byteLength } = arrays[i]!;
      all.set(bytesOf(arrays[i]!), i * stride);
      all.fill(0, i * stride + byteLength, (i + 1) * stride);
    }
  }
  return all;
}

/** Arrays of one class at multiples of `stride` elements, for the next upload. A single one is used as it is. */
export function pack<T extends TypedArray>(runtime: Runtime, arrays: readonly T[], stride: number): T {
  const [first] = arrays;
  if (arrays.length === 1 && first!.length === stride) return first!;
  return fill(roomFor(runtime, arrays.length * stride * first!.BYTES_PER_ELEMENT), arrays, stride);
}

/** What all classes have in common, for the compiler: elements of one class are copied bit by bit, and sooner than their bytes. */
type AnyArray = Uint8Array;

function fill<T extends TypedArray>(room: Uint8Array, arrays: readonly T[], stride: number): T {
  const made = new (classOf(arrays[0]!))(room.buffer, room.byteOffset, arrays.length * stride);
  const all = made as unknown as AnyArray;
  const zero = (made instanceof BigInt64Array || made instanceof BigUint64Array ? 0n : 0) as number;
  for (let i = 0; i < arrays.length; i++) {
    const { length } = arrays[i]!;
    all.set(arrays[i] as unknown as AnyArray, i * stride);
    if (length < stride) all.fill(zero, i * stride + length, (i + 1) * stride);
  }
  return made;
}

/** Arrays of these lengths, found at equal distances. */
export function unpack<T extends TypedArray>(all: T, lengths: readonly number[]): T[] {
  const count = lengths.length;
  if (count === 1 && lengths[0] === all.length) return [all];
  return cut(bytesOf(all), classOf(all), lengths, all.byteLength / count);
}

/** Arrays at multiples of `stride` bytes, each in memory of its own: whoever takes the `buffer` of one finds nothing else in it. */
function cut<T extends TypedArray>(
  all: Uint8Array,
  Class: ArrayClass<T>,
  lengths: readonly number[],
  stride: number,
): T[] {
  const made = new Array<T>(lengths.length);
  const size = Class.BYTES_PER_ELEMENT;
  if (stride % size === 0 && all.byteOffset % size === 0) {
    const view = new Class(all.buffer, all.byteOffset, Math.floor(all.byteLength / size)) as unknown as AnyArray;
    // One call for each array, instead of one for its memory, one for the place it is copied from and one for the copy.
    if (view.slice === copied) {
      const step = stride / size;
      for (let i = 0; i < lengths.length; i++) made[i] = view.slice(i * step, i * step + lengths[i]!) as unknown as T;
      return made;
    }
  }
  for (let i = 0; i < lengths.length; i++) {
    const own = new Class(lengths[i]!);
    bytesOf(own).set(all.subarray(i * stride, i * stride + own.byteLength));
    made[i] = own;
  }
  return made;
}

/** What typed arrays have in common; Node's Buffer has another one, which copies nothing. */
const copied: AnyArray['slice'] = Object.getPrototypeOf(Uint8Array.prototype).slice;

/** Arrays like these, found at multiples of `stride` bytes. */
export function unpackBytes<T extends TypedArray>(all: TypedArray, likes: readonly T[], stride: number): T[] {
  const Class = classOf(likes[0]!);
  if (likes.length === 1 && all.byteOffset % 8 === 0) return [new Class(all.buffer, all.byteOffset, likes[0]!.length)];
  return cut(
    bytesOf(all),
    Class,
    likes.map((like) => like.length),
    stride,
  );
}
