// Rows to be sorted, for the tests of sorts and selections.

import { byteSize, type DType } from '../../src/base/dtype.ts';
import type { Sort } from '../../src/kernel/kernel.ts';
import { random } from './cpu.ts';

/** A sort of rows, with positions or without. */
export const sortOf = (type: DType, rows: number, columns: number, descending: boolean, valuesOnly: boolean): Sort => ({
  kind: 'routine',
  op: 'sort',
  name: `sort_${type}_${rows}x${columns}${valuesOnly ? '_values' : ''}`,
  type,
  rows,
  columns,
  descending,
  valuesOnly,
  estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
});

/** Kinds of data: any bits, and those that leave few bits to sort by. */
export const sortKinds: Readonly<Record<string, (type: DType, n: number, seed?: number) => Uint8Array>> = {
  'any bits': (type, n, seed = n) => filled(type, n, seed, () => 0xff),
  'few distinct values': (type, n, seed = n) => filled(type, n, seed, (byte, size) => (byte === size - 1 ? 0xc1 : 0)),
  'low bits only': (type, n, seed = n) => filled(type, n, seed, (byte) => (byte === 0 ? 0x1f : 0)),
  'zeros of both signs, and NaN': (type, n, seed = n) =>
    filled(type, n, seed, (byte, size) => (byte === size - 1 ? 0xff : byte === size - 2 ? 0x80 : 0)),
  'all the same': (type, n) => new Uint8Array(n * byteSize(type)).fill(1),
};

/** Random bytes under masks; a bool is 0 or 1. */
function filled(type: DType, n: number, seed: number, mask: (byte: number, size: number) => number): Uint8Array {
  const next = random(seed);
  const size = byteSize(type);
  const masks = Array.from({ length: size }, (_, byte) => mask(byte, size) & (type === 'bool' ? 1 : 0xff));
  const bytes = new Uint8Array(n * size);
  // Each number is good for four of them.
  for (let i = 0, word = 0; i < bytes.length; i++, word >>>= 8) {
    if (i % 4 === 0) word = (next() * 2 ** 32) >>> 0;
    bytes[i] = word & masks[i % size]!;
  }
  return bytes;
}
