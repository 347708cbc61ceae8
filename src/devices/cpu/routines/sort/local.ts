// Sorting keys that one thread has to itself: insertion where they are very few, a network for some hundred (of 64-bit keys for the part of
// them that tells them apart), else radix from the lowest digit that differs.
//
// Digits are as wide as the number of keys makes worth while: each pass goes through all of its buckets. Keys that are read are
// never written, so that the work can be repeated.

import type { Func, WasmModule } from '../../wasm/module.ts';
import { fourfold, rising } from '../emit.ts';
import { inOrder, leastNetwork, mostNetwork, network } from './network.ts';

/** Keys up to this many are sorted by insertion. */
const few = 12;
/** Digits of so many bits, from so many keys on. */
const widths = [
  { from: 4096, bits: 11 },
  { from: 192, bits: 8 },
  { from: 0, bits: 6 },
] as const;

/** What a thread has to itself: room to count in, and for the keys of a network as they are sorted and in order. */
const countBytes = 4 << widths[0].bits;
const networkBytes = 4 * mostNetwork;
export const localBytes = countBytes + 2 * networkBytes;
/** Where in it the keys of a network are sorted. Keys that lie there already are not copied; they do not stay as they are. */
export const networkOffset = countBytes;

/**
 * (source, target, spare, local, keys, low, high) → where the sorted keys are: `target`, or a place in `local`. Sorts by the bits
 * low … high-1, the only ones that differ.
 */
export function localSort(module: WasmModule, word: 'i32' | 'i64'): Func {
  const byNetwork = sortByNetwork(module);
  const byParts = word === 'i64' ? sortByParts(module, byNetwork) : null;
  const f = module.func(['i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32'], ['i32']);
  const [source, target, spare, counts, count, low, high] = [0, 1, 2, 3, 4, 5, 6] as const;
  const bytes = word === 'i64' ? 8 : 4;
  const c = f.code;
  const local = (): number => f.local('i32');
  const [at, end, whole, passes, width, mask, place, slot, into] = [
    local(),
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
  c.get(target).op('return').end();
  if (byParts) {
    // Two passes of the radix sort or fewer are sooner done.
    c.get(count).i32(mostParts).op('i32.le_u').get(high).get(low).op('i32.sub').i32(16).ops('i32.gt_u', 'i32.and').if();
    c.get(source).get(target).get(counts).i32(networkOffset).op('i32.add').get(count).call(byParts.index).if();
    c.get(target).op('return').end().end();
  } else {
    // Times of both in nanoseconds: a step of the network takes 1/16 for each key, a pass of the radix sort 2 and some more.
    const [log, size] = [local(), local()];
    c.i32(32).get(count).i32(1).ops('i32.sub', 'i32.clz', 'i32.sub').set(log);
    c.i32(1).get(log).op('i32.shl').tee(size).i32(mostNetwork).op('i32.le_u');
    c.if();
    c.get(log).get(log).i32(1).ops('i32.add', 'i32.mul').get(size).op('i32.mul');
    c.get(high).get(low).op('i32.sub').i32(7).op('i32.add').i32(3).op('i32.shr_u');
    c.get(count).i32(2).op('i32.mul').i32(150).ops('i32.add', 'i32.mul').i32(32).ops('i32.mul', 'i32.lt_u');
    c.if();
    c.get(source).get(counts).i32(networkOffset).op('i32.add').get(count).get(size).call(byNetwork.index);
    c.op('return').end().end();
  }

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
    fourfold(c, { at, end, whole }, bytes, (offset) => {
      c.get(at).mem(`${word}.load`, offset).set(key);
      body();
    });
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
  c.get(target);
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

/** (source, room, keys, size) → where they are: by a network of that size; keys that it lacks are the largest there are. */
function sortByNetwork(module: WasmModule): Func {
  const [sort, order] = [network(module), inOrder(module)];
  const f = module.func(['i32', 'i32', 'i32', 'i32'], ['i32']);
  const [source, room, count, size] = [0, 1, 2, 3] as const;
  const c = f.code;
  const [at, end, sorted] = [f.local('i32'), f.local('i32'), f.local('i32')];
  c.get(size).i32(leastNetwork).get(size).i32(leastNetwork).ops('i32.gt_u', 'select').set(size);
  c.get(source).get(room).op('i32.ne').if();
  copyKeys(f, source, room, count);
  c.end();
  c.get(room).get(count).i32(4).ops('i32.mul', 'i32.add').set(at);
  c.get(room).get(size).i32(4).ops('i32.mul', 'i32.add').set(end);
  // Key by key up to a whole vector.
  const whole = c.block();
  const next = c.loop();
  c.get(at).i32(15).op('i32.and').op('i32.eqz').brIf(whole);
  c.get(at).i32(-1).mem('i32.store').get(at).i32(4).op('i32.add').set(at).br(next).end().end();
  rising(
    c,
    at,
    () => c.get(end),
    16,
    () => c.get(at).v128(new Uint8Array(16).fill(255)).mem('v128.store', 0, 2),
  );
  c.get(size).i32(2).op('i32.shr_u').set(size);
  c.get(room).get(size).call(sort.index);
  c.get(room).get(room).i32(networkBytes).op('i32.add').tee(sorted).get(size).call(order.index);
  c.get(sorted);
  return f;
}

/** Bits of a 32-bit key that say which key it stands for, and how many keys that allows. */
const indexBits = 10;
const mostParts = 1 << indexBits;

/**
 * (source, target, room, keys) → whether they are sorted: 64-bit keys by what tells most of them apart, the highest bits of how far each is
 * from the least one. A network sorts those, each with its key's number below it; then keys are put in order, of which nearly all are.
 * Keys that lie close together beside others far away are left to another sort.
 */
function sortByParts(module: WasmModule, byNetwork: Func): Func {
  const f = module.func(['i32', 'i32', 'i32', 'i32'], ['i32']);
  const [source, target, room, count] = [0, 1, 2, 3] as const;
  const c = f.code;
  const { at, end, i, size, sorted, to, moves } = f.named('i32', 'at', 'end', 'i', 'size', 'sorted', 'to', 'moves');
  const { key, least, largest, shift, other } = f.named('i64', 'key', 'least', 'largest', 'shift', 'other');
  c.get(source).get(count).i32(8).ops('i32.mul', 'i32.add').set(end);
  const each = (body: () => void): void => {
    c.get(source).set(at);
    rising(c, at, () => c.get(end), 8, body);
  };
  c.get(source).mem('i64.load').tee(least).set(largest);
  each(() => {
    c.get(at).mem('i64.load').set(key);
    c.get(key).get(least).get(key).get(least).ops('i64.lt_u', 'select').set(least);
    c.get(key).get(largest).get(key).get(largest).ops('i64.gt_u', 'select').set(largest);
  });
  // How many bits of the distance do not fit.
  c.i64(BigInt(64 - (32 - indexBits)))
    .get(largest)
    .get(least)
    .ops('i64.sub', 'i64.clz', 'i64.sub')
    .tee(shift);
  c.i64(0n).get(shift).i64(0n).ops('i64.gt_s', 'select').set(shift);
  each(() => {
    c.get(room).get(i).i32(2).ops('i32.shl', 'i32.add');
    c.get(at).mem('i64.load').get(least).op('i64.sub').get(shift).ops('i64.shr_u', 'i32.wrap_i64');
    c.i32(indexBits).op('i32.shl').get(i).op('i32.or').mem('i32.store');
    c.get(i).i32(1).op('i32.add').set(i);
  });
  c.i32(1).i32(32).get(count).i32(1).ops('i32.sub', 'i32.clz', 'i32.sub', 'i32.shl').set(size);
  c.get(room).get(room).get(count).get(size).call(byNetwork.index).tee(sorted).set(at);
  c.get(sorted).get(count).i32(2).ops('i32.shl', 'i32.add').set(end).get(target).set(i);
  c.get(count).i32(2).op('i32.shl').set(moves);
  rising(
    c,
    at,
    () => c.get(end),
    4,
    () => {
      c.get(source)
        .get(at)
        .mem('i32.load')
        .i32(mostParts - 1)
        .op('i32.and')
        .i32(3)
        .ops('i32.shl', 'i32.add');
      c.mem('i64.load').set(key).get(i).set(to);
      const placed = c.block();
      const next = c.loop();
      c.get(to).get(target).op('i32.eq').brIf(placed);
      c.get(to).i32(8).op('i32.sub').mem('i64.load').tee(other).get(key).op('i64.le_u').brIf(placed);
      c.get(moves).op('i32.eqz').if();
      c.i32(0).op('return').end();
      c.get(moves).i32(1).op('i32.sub').set(moves);
      c.get(to).get(other).mem('i64.store');
      c.get(to).i32(8).op('i32.sub').set(to).br(next).end().end();
      c.get(to).get(key).mem('i64.store');
      c.get(i).i32(8).op('i32.add').set(i);
    },
  );
  c.i32(1);
  return f;
}

/** Copies 32-bit keys. */
function copyKeys(f: Func, from: number, to: number, count: number): void {
  const c = f.code;
  const [source, target, end] = [f.local('i32'), f.local('i32'), f.local('i32')];
  c.get(from)
    .set(source)
    .get(to)
    .tee(target)
    .get(count)
    .i32(-4)
    .op('i32.and')
    .i32(4)
    .ops('i32.mul', 'i32.add')
    .set(end);
  const stretch = (bytes: number, move: () => void): void =>
    rising(
      c,
      target,
      () => c.get(end),
      bytes,
      () => {
        c.get(target).get(source);
        move();
        c.get(source).i32(bytes).op('i32.add').set(source);
      },
    );
  stretch(16, () => c.mem('v128.load', 0, 2).mem('v128.store', 0, 2));
  c.get(to).get(count).i32(4).ops('i32.mul', 'i32.add').set(end);
  stretch(4, () => c.mem('i32.load').mem('i32.store'));
}
