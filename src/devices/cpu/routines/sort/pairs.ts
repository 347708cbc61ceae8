// Sorting keys together with their positions, by one thread: insertion where they are few, else radix by bytes.
//
// Stable. Bytes that are the same in all keys are skipped.

import type { Func, WasmModule } from '../../wasm/module.ts';
import { address, rising } from '../emit.ts';
import { countAddress, tableBytes, type Word } from './digits.ts';

/** Pairs up to this many are sorted by insertion. */
const few = 24;

const digitsOf = (word: Word): number => (word === 'i64' ? 8 : 4);

/** Room for counts that a sort needs. */
export const bucketBytes = (word: Word): number => digitsOf(word) * tableBytes;

/**
 * (keys, positions, otherKeys, otherPositions, buckets, count) → where the sorted positions are: what was given, or the other place.
 * Sorted keys go to nobody.
 */
export function pairSort(module: WasmModule, word: Word): Func {
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32', 'i32'], ['i32']);
  const [keys, positions, otherKeys, otherPositions, buckets, count] = [0, 1, 2, 3, 4, 5] as const;
  const c = f.code;
  const bytes = word === 'i64' ? 8 : 4;
  const { i, at, sum, spare } = f.named('i32', 'i', 'at', 'sum', 'spare');
  const key = f.local(word);
  c.get(count).i32(few).op('i32.le_u').if();
  insertion(f, { keys, positions, count }, word);
  c.get(positions).op('return').end();

  const each = (body: () => void): void => {
    c.i32(0).set(i);
    rising(c, i, () => c.get(count), 1, body);
  };
  c.get(buckets).i32(0).i32(bucketBytes(word)).memoryFill();
  each(() => {
    address(c, keys, i, bytes).mem(`${word}.load`).set(key);
    for (let digit = 0; digit < digitsOf(word); digit++) {
      countAddress(c, word, buckets, key, digit);
      const offset = digit * tableBytes;
      c.tee(at).get(at).mem('i32.load', offset).i32(1).op('i32.add').mem('i32.store', offset);
    }
  });
  for (let digit = 0; digit < digitsOf(word); digit++) {
    c.get(keys).mem(`${word}.load`).set(key);
    countAddress(c, word, buckets, key, digit);
    c.mem('i32.load', digit * tableBytes)
      .get(count)
      .op('i32.ne')
      .if();
    // Counts become the places where each bucket begins.
    c.i32(0).set(sum).get(buckets).set(at);
    c.get(buckets).i32(tableBytes).op('i32.add').set(spare);
    const start = f.local('i32');
    rising(
      c,
      at,
      () => c.get(spare),
      4,
      () => {
        c.get(at)
          .mem('i32.load', digit * tableBytes)
          .set(start);
        c.get(at)
          .get(sum)
          .mem('i32.store', digit * tableBytes);
        c.get(sum).get(start).op('i32.add').set(sum);
      },
    );
    each(() => {
      address(c, keys, i, bytes).mem(`${word}.load`).set(key);
      countAddress(c, word, buckets, key, digit);
      const offset = digit * tableBytes;
      c.tee(at).get(at).mem('i32.load', offset).tee(sum).i32(1).op('i32.add').mem('i32.store', offset);
      address(c, otherKeys, sum, bytes).get(key).mem(`${word}.store`);
      address(c, otherPositions, sum, 4);
      address(c, positions, i, 4).mem('i32.load').mem('i32.store');
    });
    c.get(keys).get(otherKeys).set(keys).set(otherKeys);
    c.get(positions).get(otherPositions).set(positions).set(otherPositions);
    c.end();
  }
  c.get(positions);
  return f;
}

function insertion(f: Func, l: { keys: number; positions: number; count: number }, word: Word): void {
  const c = f.code;
  const bytes = word === 'i64' ? 8 : 4;
  const [key, other] = [f.local(word), f.local(word)];
  const { i, j, position } = f.named('i32', 'i', 'j', 'position');
  c.i32(1).set(i);
  rising(
    c,
    i,
    () => c.get(l.count),
    1,
    () => {
      address(c, l.keys, i, bytes).mem(`${word}.load`).set(key);
      address(c, l.positions, i, 4).mem('i32.load').set(position);
      c.get(i).set(j);
      const exit = c.block();
      const top = c.loop();
      c.get(j).op('i32.eqz').brIf(exit);
      address(c, l.keys, j, bytes).i32(bytes).op('i32.sub').mem(`${word}.load`).tee(other);
      c.get(key).op(`${word}.le_u`).brIf(exit);
      address(c, l.keys, j, bytes).get(other).mem(`${word}.store`);
      address(c, l.positions, j, 4);
      address(c, l.positions, j, 4).i32(4).op('i32.sub').mem('i32.load').mem('i32.store');
      c.get(j).i32(1).op('i32.sub').set(j).br(top).end().end();
      address(c, l.keys, j, bytes).get(key).mem(`${word}.store`);
      address(c, l.positions, j, 4).get(position).mem('i32.store');
    },
  );
}
