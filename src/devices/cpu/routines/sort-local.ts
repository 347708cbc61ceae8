// Sorting keys that one thread has to itself: insertion where they are few, else radix from the lowest digit that differs.
//
// Digits are as wide as the number of keys makes worth while: each pass goes through all of its buckets. Keys that are read are
// never written, so that the work can be repeated.

import type { Func, WasmModule } from '../wasm/module.ts';
import { rising } from './emit.ts';

/** Keys up to this many are sorted by insertion. */
const few = 24;
/** Digits of so many bits, from so many keys on. */
const widths = [
  { from: 4096, bits: 11 },
  { from: 192, bits: 8 },
  { from: 0, bits: 6 },
] as const;

/** What a thread needs to count in. */
export const countBytes = 4 << widths[0].bits;

/** (source, target, spare, counts, keys, low, high): sorts by the bits low … high-1, the only ones that differ, into `target`. */
export function localSort(module: WasmModule, word: 'i32' | 'i64'): Func {
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32']);
  const [source, target, spare, counts, count, low, high] = [0, 1, 2, 3, 4, 5, 6] as const;
  const bytes = word === 'i64' ? 8 : 4;
  const c = f.code;
  const local = (): number => f.local('i32');
  const [at, end, passes, width, mask, place, slot, into] = [
    local(),
    local(),
    local(),
    local(),
    local(),
    local(),
    local(),
    local(),
  ];
  const key = f.local(word);
  c.get(count).i32(bytes).op('i32.mul').get(source).op('i32.add').set(end);
  c.get(count).i32(few).op('i32.le_u').get(low).get(high).ops('i32.ge_u', 'i32.or');
  c.if();
  insertion(f, { source, target, end }, word);
  c.op('return').end();

  for (const { from, bits } of [...widths].reverse()) {
    if (from === 0) c.i32(bits).set(width);
    else c.i32(bits).get(width).get(count).i32(from).ops('i32.ge_u', 'select').set(width);
  }
  // As few passes as that allows, of equal width.
  c.get(high).get(low).op('i32.sub').get(width).op('i32.add').i32(1).op('i32.sub').get(width).op('i32.div_u');
  c.set(passes).get(high).get(low).op('i32.sub').get(passes).op('i32.add').i32(1).op('i32.sub');
  c.get(passes).op('i32.div_u').set(width);
  c.i32(4).get(width).op('i32.shl').i32(4).op('i32.sub').set(mask);
  // The last pass must end in the target.
  c.get(target).get(spare).get(passes).i32(1).ops('i32.and', 'select').set(into);

  /** Address of the count of the key's digit: the digit is shifted to where a count's address has it. */
  const bucket = (): void => {
    c.get(counts).get(key).get(low);
    if (word === 'i64') c.ops('i64.extend_i32_u', 'i64.shr_u', 'i32.wrap_i64');
    else c.op('i32.shr_u');
    c.i32(2).op('i32.shl').get(mask).ops('i32.and', 'i32.add');
  };
  const each = (body: () => void): void => {
    c.get(source).set(at);
    rising(
      c,
      at,
      () => c.get(end),
      bytes,
      () => {
        c.get(at).mem(`${word}.load`).set(key);
        body();
      },
    );
  };
  const pass = c.loop();
  clear(f, counts, mask);
  each(() => {
    bucket();
    c.tee(slot).get(slot).mem('i32.load').i32(bytes).op('i32.add').mem('i32.store');
  });
  // Sizes become the addresses where each bucket starts.
  c.get(into).set(place).get(counts).set(at);
  c.get(counts).get(mask).op('i32.add').i32(4).op('i32.add').set(slot);
  rising(
    c,
    at,
    () => c.get(slot),
    4,
    () => {
      c.get(at).mem('i32.load').get(at).get(place).mem('i32.store').get(place).op('i32.add').set(place);
    },
  );
  each(() => {
    bucket();
    c.tee(slot).mem('i32.load').tee(place).get(key).mem(`${word}.store`);
    c.get(slot).get(place).i32(bytes).op('i32.add').mem('i32.store');
  });
  // What was written is read next; the two places to write to take turns.
  c.get(into).tee(source).get(count).i32(bytes).ops('i32.mul', 'i32.add').set(end);
  c.get(spare).get(target).get(into).get(target).ops('i32.eq', 'select').set(into);
  c.get(low).get(width).op('i32.add').set(low);
  c.get(passes).i32(1).op('i32.sub').tee(passes).brIf(pass).end();
  return f;
}

/** Zeros in the counts. */
function clear(f: Func, counts: number, mask: number): void {
  const c = f.code;
  const [at, end] = [f.local('i32'), f.local('i32')];
  c.get(counts).tee(at).get(mask).op('i32.add').set(end);
  rising(
    c,
    at,
    () => c.get(end),
    16,
    () => c.get(at).v128(new Uint8Array(16)).mem('v128.store', 0, 2),
  );
}

/** Copies to the target, each key to its place among those before it. Keys that do not differ are only copied. */
function insertion(f: Func, l: { source: number; target: number; end: number }, word: 'i32' | 'i64'): void {
  const c = f.code;
  const bytes = word === 'i64' ? 8 : 4;
  const [at, to] = [f.local('i32'), f.local('i32')];
  const [key, other] = [f.local(word), f.local(word)];
  const [from, next] = [f.local('i32'), f.local('i32')];
  c.get(l.source).set(from).get(l.target).set(next);
  rising(
    c,
    from,
    () => c.get(l.end),
    bytes,
    () => {
      c.get(from).mem(`${word}.load`).set(key).get(next).set(to);
      const exit = c.block();
      const top = c.loop();
      c.get(to).get(l.target).op('i32.eq').brIf(exit);
      c.get(to).i32(bytes).op('i32.sub').tee(at).mem(`${word}.load`).tee(other).get(key).op(`${word}.le_u`).brIf(exit);
      c.get(to).get(other).mem(`${word}.store`);
      c.get(at).set(to).br(top).end().end();
      c.get(to).get(key).mem(`${word}.store`);
      c.get(next).i32(bytes).op('i32.add').set(next);
    },
  );
}
