// XOR with a key, byte for byte: its own inverse for every type, floats and 64-bit integers included. The data is left as it is.

import type { DType, Runtime, Tensor } from '../index.ts';
import { blank, bytesOf, type HostData, isTyped, kindOf, type TypedArray } from './arrays.ts';
import { invalidArgument, KeyLengthError, ValueRangeError } from './errors.ts';
import { Draws } from './threefry.ts';
import { xorInPieces } from './xor-words.ts';

export interface XorOptions {
  /** A key of any length repeats. A key of one element always does. */
  readonly cycle?: boolean | undefined;
}

/** On the host. Plain numbers must be bytes; a number as key repeats. */
export function xorHost<T extends HostData>(data: T, key: T | number, o: XorOptions = {}): T {
  if (!isTyped(data)) {
    const bytes = plainBytes(data, 'the data has');
    if (typeof key !== 'number' && !Array.isArray(key))
      throw invalidArgument({
        where: 'xor',
        problem: `the data is an array of numbers, the key ${kindOf(key)}`,
        fix: 'Give a key of the same kind, or one number.',
      });
    const by = typeof key === 'number' ? plainBytes([key], 'the key is') : plainBytes(key, 'the key has');
    return [...xorTyped(bytes, by, o)] as unknown as T;
  }
  return xorTyped(data, keyFor(data, key as TypedArray | number), o) as T;
}

function xorTyped<T extends TypedArray>(data: T, key: T, o: XorOptions): T {
  checkKeyLength(data.length, key.length, o.cycle === true);
  const result = blank(data.constructor as Parameters<typeof blank<T>>[0], data.length);
  const [to, from, by] = [bytesOf(result), bytesOf(data), bytesOf(key)];
  combine(to, from, by.length === to.length ? by : repeated(by, to.length));
  return result;
}

/** A short key is written out: one pass of whole words is faster than counting bytes. */
function repeated(key: Uint8Array, length: number): Uint8Array {
  const long = new Uint8Array(length);
  long.set(key.subarray(0, Math.min(key.length, length)));
  for (let filled = key.length; filled < length; filled *= 2)
    long.copyWithin(filled, 0, Math.min(filled, length - filled));
  return long;
}

/** Bytes from which on it is worth copying them to where vectors are. */
const longBytes = 2 ** 13;

/** to = from ^ by: in vectors where there are many, else as words where all are aligned, four at a time. */
function combine(to: Uint8Array, from: Uint8Array, by: Uint8Array): void {
  if (to.length >= longBytes && xorInPieces(to, from, by)) return;
  const aligned = [to, from, by].every((x) => x.byteOffset % 4 === 0);
  const words = aligned ? (to.length >> 4) << 2 : 0;
  if (words > 0) {
    const [r, a, b] = [to, from, by].map((x) => new Int32Array(x.buffer, x.byteOffset, words)) as Words;
    for (let i = 0; i < words; i += 4) {
      r[i] = a[i]! ^ b[i]!;
      r[i + 1] = a[i + 1]! ^ b[i + 1]!;
      r[i + 2] = a[i + 2]! ^ b[i + 2]!;
      r[i + 3] = a[i + 3]! ^ b[i + 3]!;
    }
  }
  for (let i = 4 * words; i < to.length; i++) to[i] = from[i]! ^ by[i]!;
}

type Words = [Int32Array, Int32Array, Int32Array];

/** The key as an array of the data's type. */
function keyFor<T extends TypedArray>(data: T, key: TypedArray | number): T {
  const Type = data.constructor as new (from: number | ArrayLike<number | bigint>) => T;
  if (typeof key !== 'number') {
    if (isTyped(key) && key.constructor === Type) return key as T;
    throw invalidArgument({
      where: 'xor',
      problem: `the data is ${kindOf(data)}, the key ${kindOf(key)}`,
      fix: 'Give a key of the same type as the data, or a number.',
    });
  }
  if (data instanceof Float32Array || data instanceof Float64Array) {
    // A number has no meaning as bits of a float: it is the byte that every byte is combined with.
    const [byte] = plainBytes([key], 'for floats the key is');
    const one = new Type(1);
    bytesOf(one).fill(byte!);
    return one;
  }
  const big = data instanceof BigInt64Array || data instanceof BigUint64Array;
  const one = new Type([big && Number.isSafeInteger(key) ? BigInt(key) : big ? 0n : key]);
  if (Number(one[0]) === key) return one;
  throw new ValueRangeError({
    where: 'xor',
    problem: `the key is ${key}, which ${kindOf(data)} cannot hold`,
    fix: 'Use a whole number within the range of the type.',
  });
}

/** A tensor and its key, of equal shape or of rank 0. */
export interface Combining {
  readonly x: Tensor;
  readonly by: Tensor;
}

/** All of them, of equal dtype and shape, in one kernel; `bits` is the integer type whose bits stand for those of the dtype. */
export function xorTensors(rt: Runtime, calls: readonly Combining[], bits: DType): Tensor[] {
  const [asBits, back] = [(t: Tensor) => as(t, bits), (t: Tensor) => as(t, calls[0]!.x.dtype)];
  const combined = ({ x, by }: Combining): Tensor => asBits(x).bitwiseXor(asBits(by));
  if (calls.length === 1) return [back(combined(calls[0]!)).compute()];
  const all = rt.stack(calls.map(combined)).compute();
  const { shape } = calls[0]!.x;
  return calls.map((_, i) => {
    // Views: a kernel of its own is launched only for those that are read. Bits stay whole numbers until then: a device may flush
    // floats that it moves.
    const part = all.slice([[i, i + 1], ...shape.map((n): [number, number] => [0, n])]);
    return back(part.reshape(shape));
  });
}

const as = (t: Tensor, dtype: DType): Tensor => (t.dtype === dtype ? t : t.bitcast(dtype));

/** The key of a tensor: another tensor of its dtype, as long or of one element, or a number. */
export function checkTensorKey(data: Tensor, key: Tensor, o: XorOptions): void {
  if (key.dtype !== data.dtype) {
    throw invalidArgument({
      where: 'xor',
      problem: `the data is ${kindOf(data)}, the key ${kindOf(key)}`,
      fix: 'Give a key of the same dtype as the data, or a number.',
    });
  }
  checkKeyLength(data.size, key.size, o.cycle === true);
}

function checkKeyLength(data: number, key: number, cycle: boolean): void {
  if (key > 0 && (key === data || key === 1 || cycle)) return;
  throw new KeyLengthError({
    where: 'xor',
    problem: key === 0 ? 'the key is empty' : `the key has ${key} elements, the data ${data}`,
    fix: 'Give a key as long as the data, of one element, or set cycle: true to repeat it.',
  });
}

function plainBytes(values: readonly number[], what: string): Uint8Array {
  const bad = values.find((v) => !(Number.isInteger(v) && v >= 0 && v <= 255));
  if (bad === undefined) return Uint8Array.from(values);
  throw new ValueRangeError({
    where: 'xor',
    problem: `${what} ${String(bad)}, which is no byte`,
    fix: 'Use whole numbers from 0 to 255, or a typed array of a wider type.',
  });
}

/** A random key for data of the host, as long as it. */
export function newKey<T extends HostData>(data: T, seed: number | undefined): T {
  const bytes = isTyped(data) ? data.byteLength : data.length;
  const key = randomBytes(bytes, seed);
  if (!isTyped(data)) return [...key] as unknown as T;
  const Type = data.constructor as new (buffer: ArrayBuffer) => T;
  return new Type(key.buffer);
}

/** From the seed; from the system's generator where there is none. */
export function randomBytes(count: number, seed: number | undefined): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(count / 4));
  if (seed === undefined)
    for (let i = 0; i < words.length; i += 16_384) crypto.getRandomValues(words.subarray(i, i + 16_384));
  else {
    const draws = new Draws(seed);
    for (let i = 0; i < words.length; i++) words[i] = draws.word();
  }
  return new Uint8Array(count % 4 === 0 ? words.buffer : words.buffer.slice(0, count));
}
