// What the file formats read and write: an array as plain bytes, and the checks they share.

import { byteSize, type DType } from '../base/dtype.ts';
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
export function byteLength(dtype: DType, shape: Shape, available: number): number | null {
  let elements = 1n;
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) return null;
    elements *= BigInt(size);
  }
  const bytes = elements * BigInt(byteSize(dtype));
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

/** Bools as 0 and 1; files may hold any byte for true. The same bytes where nothing has to change. */
export function canonicalBools(bytes: Uint8Array): Uint8Array {
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i]! > 1) return bytes.map((b) => (b ? 1 : 0));
  }
  return bytes;
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
