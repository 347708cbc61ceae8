// Host arrays of equal length as one array, and back: one copy to the device instead of one for each.

import type { TypedArray } from '../index.ts';

export const bytesOf = (a: TypedArray): Uint8Array => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);

type ArrayClass<T> = new (buffer: ArrayBufferLike, offset?: number, length?: number) => T;

/** The bytes of all, each at a multiple of `stride` bytes. */
export function packBytes(arrays: readonly TypedArray[], stride: number): Uint8Array {
  // A single one is used where it lies, if words can be read there.
  const [first] = arrays;
  if (arrays.length === 1 && first!.byteLength === stride && first!.byteOffset % 4 === 0) return bytesOf(first!);
  const all = new Uint8Array(arrays.length * stride);
  for (let i = 0; i < arrays.length; i++) all.set(bytesOf(arrays[i]!), i * stride);
  return all;
}

/** Arrays of one class, one behind the other. A single one is used as it is. */
export function pack<T extends TypedArray>(arrays: readonly T[]): T {
  if (arrays.length === 1) return arrays[0]!;
  const [first] = arrays;
  const bytes = packBytes(arrays, first!.byteLength);
  return new (first!.constructor as unknown as ArrayClass<T>)(bytes.buffer);
}

/** Arrays of `length` elements, each with memory of its own. */
export function unpack<T extends TypedArray>(all: T, count: number): T[] {
  if (count === 1) return [all];
  const length = all.length / count;
  return Array.from({ length: count }, (_, i) => all.slice(i * length, (i + 1) * length) as T);
}

/** Arrays like `like`, of so many bytes each, found at multiples of `stride` bytes. */
export function unpackBytes<T extends TypedArray>(all: Uint8Array, like: T, count: number, stride: number): T[] {
  const Class = like.constructor as unknown as ArrayClass<T>;
  if (count === 1 && all.byteOffset % 8 === 0) return [new Class(all.buffer, all.byteOffset, like.length)];
  return Array.from({ length: count }, (_, i) => {
    const own = all.slice(i * stride, i * stride + like.byteLength);
    return new Class(own.buffer);
  });
}
