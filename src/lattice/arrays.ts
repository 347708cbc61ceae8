// Arrays and tensors as methods of the lattice take them.

import { Tensor } from '../index.ts';
import { invalidArgument } from './errors.ts';

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** Data of the host: typed arrays keep their type; plain numbers stay plain. */
export type HostData = TypedArray | readonly number[];
export type LatticeData = HostData | Tensor;

export const isTyped = (x: unknown): x is TypedArray => ArrayBuffer.isView(x) && !(x instanceof DataView);
/** A typed array of numbers that are no bigints. */
export const isNumeric = (x: unknown): x is Exclude<TypedArray, BigInt64Array | BigUint64Array> =>
  isTyped(x) && !(x instanceof BigInt64Array || x instanceof BigUint64Array);
export const isTensor = (x: unknown): x is Tensor => x instanceof Tensor;

/** An array to be written as a whole: where the platform can, it is not cleared before. */
export function blank<T extends TypedArray>(
  Type: { new (from: number | ArrayBufferLike): T; readonly BYTES_PER_ELEMENT: number },
  length: number,
): T {
  const bytes = length * Type.BYTES_PER_ELEMENT;
  const { Buffer } = globalThis as { readonly Buffer?: { allocUnsafeSlow(bytes: number): Uint8Array } };
  return bytes < clearedBytes || !Buffer ? new Type(length) : new Type(Buffer.allocUnsafeSlow(bytes).buffer);
}

/** Below this, clearing takes no time. */
const clearedBytes = 2 ** 14;

export const bytesOf = (x: TypedArray): Uint8Array => new Uint8Array(x.buffer, x.byteOffset, x.byteLength);

/** What a value is, for messages. */
export function kindOf(x: unknown): string {
  if (isTensor(x)) return `${x.dtype} [${x.shape.join(', ')}]`;
  if (isTyped(x)) return `${x.constructor.name}(${x.length})`;
  return Array.isArray(x) ? `an array of ${x.length}` : String(x);
}

/** Refuses what is no data. */
export function checkData(x: unknown, where: string): LatticeData {
  if (isTensor(x) || isTyped(x) || (Array.isArray(x) && x.every((v) => typeof v === 'number'))) return x as LatticeData;
  throw invalidArgument({
    where,
    problem: `the data is ${kindOf(x)}`,
    fix: 'Give a typed array, an array of numbers, or a tensor.',
  });
}
