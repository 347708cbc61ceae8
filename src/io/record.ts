// What the file formats read and write: an array as plain bytes, and the checks they share.

import { byteSize, canonicalBools, type DType } from '../base/dtype.ts';
import { type Shape, show } from '../base/shape.ts';
import { ArgumentError, FormatError } from '../errors.ts';

/** An array as it lies in memory: elements in row-major order, little-endian; f16 and bf16 as their 16 bits, bool as 0 or 1. */
export interface ArrayRecord {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/** Where in a file something is wrong, and what to do about it. */
export interface Flaw {
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
  readonly cause?: unknown;
}

const damaged = 'The file is damaged or was not written completely: copy or write it again.';

/** A FormatError about one format: `flaw('parseNpy')({ code, message })`. */
export const flaw =
  (where: string) =>
  ({ code, message, fix = damaged, cause }: Flaw): FormatError =>
    new FormatError({ code, message: `${where}: ${message}`, fix, where, cause });

/**
 * The bytes an array of this shape takes, if `available` bytes can hold it; null if not, or if it cannot be counted.
 * Nothing may be allocated from a claimed shape before this has been asked.
 */
export function byteLength(dtype: DType | NarrowInt, shape: Shape, available: number): number | null {
  let elements = 1n;
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) return null;
    elements *= BigInt(size);
  }
  const bytes = elements * BigInt(storedSize(dtype));
  return bytes <= BigInt(available) ? Number(bytes) : null;
}

/** Checks that a record given by a caller is what it says. */
export function checkRecord(record: ArrayRecord, name: string, where: string): void {
  const { dtype, shape, bytes } = record;
  if (byteLength(dtype, shape, bytes.length) === bytes.length) return;
  throw new ArgumentError({
    code: 'RECORD_MISMATCH',
    message: `${where}: ${name} is ${dtype} of shape ${show(shape)} but has ${bytes.length} bytes`,
    fix: 'Give the bytes of exactly as many elements as the shape has.',
    where,
  });
}

/** Integers narrower than any dtype: they are read as i32, which holds them all, as `rt.tensor` takes them from typed arrays. */
export type NarrowInt = 'i8' | 'i16' | 'u16';

const narrowInts: Readonly<
  Record<NarrowInt, { readonly bytes: number; readonly at: (view: DataView, i: number) => number }>
> = {
  i8: { bytes: 1, at: (view, i) => view.getInt8(i) },
  i16: { bytes: 2, at: (view, i) => view.getInt16(i, true) },
  u16: { bytes: 2, at: (view, i) => view.getUint16(i, true) },
};

const isNarrow = (type: DType | NarrowInt): type is NarrowInt => Object.hasOwn(narrowInts, type);

/** The bytes of an element as a file holds it. */
export const storedSize = (type: DType | NarrowInt): number =>
  isNarrow(type) ? narrowInts[type].bytes : byteSize(type);

/** Little-endian elements of a file as a record: narrow integers widened, bools as 0 and 1. */
export function toRecord(type: DType | NarrowInt, shape: Shape, bytes: Uint8Array): ArrayRecord {
  if (!isNarrow(type)) return { dtype: type, shape, bytes: type === 'bool' ? canonicalBools(bytes) : bytes };
  const { bytes: size, at } = narrowInts[type];
  const view = viewOf(bytes);
  const wide = Int32Array.from({ length: bytes.length / size }, (_, i) => at(view, i * size));
  return { dtype: 'i32', shape, bytes: new Uint8Array(wide.buffer) };
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}
