// Host arrays of equal length as one array, and back: one copy to the device instead of one for each.
//
// They are packed into memory that a runtime uses again and again, from which uploads are fastest: an upload has read it when it returns.

import type { Runtime, TypedArray } from '../index.ts';

export const bytesOf = (a: TypedArray): Uint8Array => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);

interface ArrayClass<T> {
  new (length: number): T;
  new (buffer: ArrayBufferLike, offset?: number, length?: number): T;
}

const classOf = <T extends TypedArray>(like: T): ArrayClass<T> => like.constructor as unknown as ArrayClass<T>;

/** What is larger gets memory of its own. */
const mostStaged = 8 << 20;
const staged = new WeakMap<Runtime, Uint8Array>();

/** Room for so many bytes, for the next upload. What it held before is still there. */
function roomFor(runtime: Runtime, bytes: number): Uint8Array {
  if (bytes > mostStaged) return new Uint8Array(bytes);
  let room = staged.get(runtime);
  if (!room || room.length < bytes) {
    room = runtime.pinned(2 ** Math.ceil(Math.log2(Math.max(bytes, 1 << 16))), { dtype: 'u8' });
    staged.set(runtime, room);
  }
  return room.subarray(0, bytes);
}

/** The bytes of all, each at a multiple of `stride` bytes, for the next upload. */
export function packBytes(runtime: Runtime, arrays: readonly TypedArray[], stride: number): Uint8Array {
  // A single one is used where it lies, if words can be read there.
  const [first] = arrays;
  if (arrays.length === 1 && first!.byteLength === stride && first!.byteOffset % 4 === 0) return bytesOf(first!);
  const all = roomFor(runtime, arrays.length * stride);
  if (stride === first!.byteLength) fill(all, arrays);
  else for (let i = 0; i < arrays.length; i++) all.set(bytesOf(arrays[i]!), i * stride);
  return all;
}

/** Arrays of one class, one behind the other, for the next upload. A single one is used as it is. */
export function pack<T extends TypedArray>(runtime: Runtime, arrays: readonly T[]): T {
  const [first] = arrays;
  return arrays.length === 1 ? first! : fill(roomFor(runtime, arrays.length * first!.byteLength), arrays);
}

/** Elements of one class are copied bit by bit, and sooner than their bytes. */
function fill<T extends TypedArray>(room: Uint8Array, arrays: readonly T[]): T {
  const [first] = arrays;
  const { length } = first!;
  const all = new (classOf(first!))(room.buffer, room.byteOffset, arrays.length * length) as Exclude<
    TypedArray,
    BigInt64Array | BigUint64Array
  >;
  for (let i = 0; i < arrays.length; i++) all.set(arrays[i] as unknown as typeof all, i * length);
  return all as unknown as T;
}

/** Arrays of equal length, each with memory of its own. */
export function unpack<T extends TypedArray>(all: T, count: number): T[] {
  if (count === 1) return [all];
  const length = all.length / count;
  const Class = classOf(all);
  const out = new Array<T>(count);
  for (let i = 0; i < count; i++) {
    const own = new Class(length) as unknown as Uint8Array;
    own.set(all.subarray(i * length, (i + 1) * length) as unknown as Uint8Array);
    out[i] = own as unknown as T;
  }
  return out;
}

/** Arrays like `like`, found at multiples of `stride` bytes. */
export function unpackBytes<T extends TypedArray>(all: Uint8Array, like: T, count: number, stride: number): T[] {
  const Class = classOf(like);
  const size = like.byteLength;
  if (count === 1 && all.byteOffset % 8 === 0) return [new Class(all.buffer, all.byteOffset, like.length)];
  const out = new Array<T>(count);
  for (let i = 0; i < count; i++) {
    const own = new Class(like.length);
    bytesOf(own).set(all.subarray(i * stride, i * stride + size));
    out[i] = own;
  }
  return out;
}
