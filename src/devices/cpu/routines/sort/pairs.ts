// Sorting keys together with their positions, by one thread: insertion where they are few, else radix by bytes.
//
// Stable. Bytes that are the same in all keys are skipped. The steps serve whole rows (index.ts) and what a selection leaves
// (select-row.ts): both keep the keys in words of 32 or 64 bits.

import type { Func, WasmModule } from '../../wasm/module.ts';
import { address, rising } from '../emit.ts';
import { countAddress, tableBytes, type Word } from './digits.ts';

/** Pairs up to this many are sorted by insertion. */
const few = 24;

const bytesOf = (word: Word): 4 | 8 => (word === 'i64' ? 8 : 4);
const allDigits = (word: Word): readonly number[] => Array.from({ length: bytesOf(word) }, (_, digit) => digit);

/** Room for counts that a sort needs. */
export const bucketBytes = (word: Word): number => bytesOf(word) * tableBytes;

/** Where keys and their positions are: locals that hold addresses. */
export interface Pairs {
  readonly keys: number;
  readonly positions: number;
}

/** What is sorted: keys of a word each, and the code that leaves their number. */
export interface PairCount {
  readonly word: Word;
  readonly count: () => void;
}

/** Which bytes of a key differ, and the local with the address of their tables of counts, one after the other. */
export interface Digits {
  readonly digits: readonly number[];
  readonly buckets: number;
}

/** Sorts pairs where they are. */
export function insertPairs(f: Func, { word, count }: PairCount, { keys, positions }: Pairs): void {
  const c = f.code;
  const bytes = bytesOf(word);
  const [key, other] = [f.local(word), f.local(word)];
  const { i, j, position } = f.named('i32', 'i', 'j', 'position');
  c.i32(1).set(i);
  rising(c, i, count, 1, () => {
    address(c, keys, i, bytes).mem(`${word}.load`).set(key);
    address(c, positions, i, 4).mem('i32.load').set(position);
    c.get(i).set(j);
    const exit = c.block();
    const top = c.loop();
    c.get(j).op('i32.eqz').brIf(exit);
    address(c, keys, j, bytes).i32(bytes).op('i32.sub').mem(`${word}.load`).tee(other);
    c.get(key).op(`${word}.le_u`).brIf(exit);
    address(c, keys, j, bytes).get(other).mem(`${word}.store`);
    address(c, positions, j, 4);
    address(c, positions, j, 4).i32(4).op('i32.sub').mem('i32.load').mem('i32.store');
    c.get(j).i32(1).op('i32.sub').set(j).br(top).end().end();
    address(c, keys, j, bytes).get(key).mem(`${word}.store`);
    address(c, positions, j, 4).get(position).mem('i32.store');
  });
}

/** Counts a key's bytes, in tables that began as zeros. */
export function countKey(f: Func, word: Word, { digits, buckets }: Digits, key: number): void {
  const at = f.local('i32');
  digits.forEach((digit, table) => {
    const offset = table * tableBytes;
    countAddress(f.code, word, buckets, key, digit);
    f.code.tee(at).get(at).mem('i32.load', offset).i32(1).op('i32.add').mem('i32.store', offset);
  });
}

/** Sorts pairs whose bytes were counted. `from` and `to` change places with each pass: in the end, `from` is where the pairs are. */
export function radixPairs(
  f: Func,
  { word, count }: PairCount,
  { digits, buckets }: Digits,
  from: Pairs,
  to: Pairs,
): void {
  const c = f.code;
  const bytes = bytesOf(word);
  const { i, at, sum, end, counted } = f.named('i32', 'i', 'at', 'sum', 'end', 'counted');
  const key = f.local(word);
  digits.forEach((digit, table) => {
    const offset = table * tableBytes;
    c.get(from.keys).mem(`${word}.load`).set(key);
    countAddress(c, word, buckets, key, digit).mem('i32.load', offset);
    count();
    c.op('i32.ne').if();
    // Counts become the places where each bucket begins.
    c.i32(0).set(sum).get(buckets).set(at);
    c.get(buckets).i32(tableBytes).op('i32.add').set(end);
    rising(
      c,
      at,
      () => c.get(end),
      4,
      () => {
        c.get(at).mem('i32.load', offset).set(counted);
        c.get(at).get(sum).mem('i32.store', offset);
        c.get(sum).get(counted).op('i32.add').set(sum);
      },
    );
    c.i32(0).set(i);
    rising(c, i, count, 1, () => {
      address(c, from.keys, i, bytes).mem(`${word}.load`).set(key);
      countAddress(c, word, buckets, key, digit);
      c.tee(at).get(at).mem('i32.load', offset).tee(sum).i32(1).op('i32.add').mem('i32.store', offset);
      address(c, to.keys, sum, bytes).get(key).mem(`${word}.store`);
      address(c, to.positions, sum, 4);
      address(c, from.positions, i, 4).mem('i32.load').mem('i32.store');
    });
    c.get(from.keys).get(to.keys).set(from.keys).set(to.keys);
    c.get(from.positions).get(to.positions).set(from.positions).set(to.positions);
    c.end();
  });
}

/**
 * (keys, positions, otherKeys, otherPositions, buckets, count) → where the sorted positions are: what was given, or the other place.
 * Sorted keys go to nobody.
 */
export function pairSort(module: WasmModule, word: Word): Func {
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32', 'i32'], ['i32']);
  const [keys, positions, otherKeys, otherPositions, buckets, given] = [0, 1, 2, 3, 4, 5] as const;
  const c = f.code;
  const counted: PairCount = { word, count: () => c.get(given) };
  const from: Pairs = { keys, positions };
  c.get(given).i32(few).op('i32.le_u').if();
  insertPairs(f, counted, from);
  c.get(positions).op('return').end();

  const all: Digits = { digits: allDigits(word), buckets };
  const i = f.local('i32');
  const key = f.local(word);
  c.get(buckets).i32(0).i32(bucketBytes(word)).memoryFill();
  c.i32(0).set(i);
  rising(c, i, counted.count, 1, () => {
    address(c, keys, i, bytesOf(word)).mem(`${word}.load`).set(key);
    countKey(f, word, all, key);
  });
  radixPairs(f, counted, all, from, { keys: otherKeys, positions: otherPositions });
  c.get(positions);
  return f;
}
