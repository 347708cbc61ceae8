// Radix sorts go by the bytes of keys, the lowest first: each byte has a table of 256 counts.

import type { Code } from '../../wasm/code.ts';

export type Word = 'i32' | 'i64';

/** Of the table of one byte. */
export const tableBytes = 1024;

/** Leaves the address of the count, in the first of the tables at `tables`, that a byte of a key stands for. */
export function countAddress(c: Code, word: Word, tables: number, key: number, byte: number): Code {
  c.get(tables).get(key);
  if (word === 'i64')
    c.i64(BigInt(8 * byte))
      .op('i64.shr_u')
      .op('i32.wrap_i64');
  else c.i32(8 * byte).op('i32.shr_u');
  return c.i32(255).op('i32.and').i32(2).ops('i32.shl', 'i32.add');
}
