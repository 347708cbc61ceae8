// A sorting network over vectors of four 32-bit keys: no branches and no counters, so some hundred keys are sorted sooner than by
// radix.
//
// The four lanes are columns of as many keys as there are vectors. Batcher's bitonic merges (AFIPS 1968), written so that the smaller
// of two keys always goes first: a merge begins by comparing with the mirror image, then with neighbours at half the distance each
// time. Steps within columns compare whole vectors, up to three steps on eight vectors in registers. Only the last two merges, of
// columns with each other, compare lanes. Sorted keys go down the first column, then down the second, and so on.

import type { Func, WasmModule } from '../../wasm/module.ts';
import { rising } from '../emit.ts';

/** Keys that a network sorts: powers of two from here to there. */
export const leastNetwork = 32;
export const mostNetwork = 2048;
const sizes = [8, 16, 32, 64, 128, 256, 512] as const;
const vectorBytes = 16;

type Pairs = readonly (readonly [number, number])[];

/** Comparisons that sort eight keys: Batcher's odd-even merge sort. */
const eight: Pairs = [
  ...pairs(8, 1),
  ...pairs(8, 2),
  [1, 2],
  [5, 6],
  ...pairs(8, 4),
  [2, 4],
  [3, 5],
  [1, 2],
  [3, 4],
  [5, 6],
];

/** All pairs among `count` that are a distance apart. */
function pairs(count: number, distance: number): Pairs {
  const firsts = Array.from({ length: count }, (_, i) => i).filter((i) => (i & distance) === 0);
  return firsts.map((i) => [i, i + distance] as const);
}

/** Pairs at half the count, a quarter, …, 1. */
function halving(count: number): Pairs {
  return count < 2
    ? []
    : [...pairs(count, count / 2), ...halving(count / 2).flatMap(([i, j]) => both(i, j, count / 2))];
}
const both = (i: number, j: number, half: number): Pairs => [
  [i, j],
  [i + half, j + half],
];

/** Each with its mirror image, then both halves by halving distances. */
const mirrored = (count: number): Pairs => [
  ...Array.from({ length: count / 2 }, (_, i) => [i, count - 1 - i] as const),
  ...halving(count / 2).flatMap(([i, j]) => both(i, j, count / 2)),
];

/** Steps that are done before the vectors fall into stretches of a power of eight. */
const headSteps = (size: number): number => ((Math.log2(size) - 1) % 3) + 1;

/** (keys, vectors): sorts 4 · vectors keys where they lie, in columns. */
export function network(module: WasmModule): Func {
  const apart = new Map<number, Func>();
  for (const size of sizes) apart.set(size, merge(module, size, false, apart));
  const merges = sizes.slice(1).map((size) => ({ size, func: merge(module, size, true, apart) }));
  const f = module.func(['i32', 'i32']);
  const [keys, vectors] = [0, 1] as const;
  const c = f.code;
  const [at, end] = [f.local('i32'), f.local('i32')];
  const registers = Array.from({ length: 8 }, () => f.local('v128'));
  c.get(keys).get(vectors).i32(vectorBytes).ops('i32.mul', 'i32.add').set(end);
  const stretches = (size: number, body: () => void): void => {
    c.get(keys).set(at);
    rising(c, at, () => c.get(end), size * vectorBytes, body);
  };
  stretches(8, () => {
    const group = registers.map((register, i) => ({ register, base: at, offset: i * vectorBytes }));
    inRegisters(f, group, eight);
  });
  for (const { size, func } of merges) {
    c.get(vectors).i32(size).op('i32.ge_u').if();
    stretches(size, () => c.get(at).call(func.index));
    c.end();
  }
  const columns = (): void => {
    for (const [size, func] of apart) {
      c.get(vectors).i32(size).op('i32.eq').if();
      c.get(keys).call(func.index).end();
    }
  };
  // Columns with their neighbours, then all of them.
  across(f, { keys, at, end }, [1, 0, 3, 2], [0, 2]);
  columns();
  across(f, { keys, at, end }, [3, 2, 1, 0], [0, 1]);
  stretches(1, () => {
    const [x, y] = registers as [number, number];
    c.get(at)
      .mem('v128.load', 0, 2)
      .tee(x)
      .get(x)
      .shuffle(lanes([1, 0, 3, 2]))
      .set(y);
    c.get(at)
      .get(x)
      .get(y)
      .op('i32x4.min_u')
      .get(x)
      .get(y)
      .op('i32x4.max_u')
      .shuffle(lanes([0, 5, 2, 7]));
    c.mem('v128.store', 0, 2);
  });
  columns();
  return f;
}

interface Held {
  readonly register: number;
  readonly base: number;
  readonly offset: number;
}

/** Loads vectors, compares pairs of them, and stores them. */
function inRegisters(f: Func, group: readonly Held[], compared: Pairs): void {
  const c = f.code;
  const low = f.local('v128');
  for (const { register, base, offset } of group) c.get(base).mem('v128.load', offset, 2).set(register);
  for (const [i, j] of compared) {
    const [x, y] = [group[i]!.register, group[j]!.register];
    c.get(x).get(y).op('i32x4.min_u').set(low);
    c.get(x).get(y).op('i32x4.max_u').set(y).get(low).set(x);
  }
  for (const { register, base, offset } of group) c.get(base).get(register).mem('v128.store', offset, 2);
}

/**
 * (keys): the steps of a merge of `size` vectors, beginning with the mirror image or with half the size. The first few take vectors from
 * all over the stretch; what is left is done in stretches of a power of eight.
 */
function merge(module: WasmModule, size: number, mirror: boolean, apart: ReadonlyMap<number, Func>): Func {
  const f = module.func(['i32']);
  const c = f.code;
  const count = 2 ** headSteps(size);
  const distance = size / count;
  const [at, back, end] = [f.local('i32'), f.local('i32'), f.local('i32')];
  const registers = Array.from({ length: 8 }, () => f.local('v128'));
  // Eight vectors a turn: several groups, where one has fewer.
  const groups = Math.min(8 / count, distance);
  c.get(0)
    .tee(at)
    .i32(distance * vectorBytes)
    .op('i32.add')
    .tee(end);
  c.i32(groups * vectorBytes)
    .op('i32.sub')
    .set(back);
  rising(
    c,
    at,
    () => c.get(end),
    groups * vectorBytes,
    () => {
      const held: Held[] = [];
      const compared: [number, number][] = [];
      for (let g = 0; g < groups; g++) {
        for (const [i, j] of mirror ? mirrored(count) : halving(count)) compared.push([g * count + i, g * count + j]);
        for (let i = 0; i < count; i++) {
          // The second half is walked from its end.
          const turned = mirror && i >= count / 2;
          const offset = (i * distance + (turned ? groups - 1 - g : g)) * vectorBytes;
          held.push({ register: registers[held.length]!, base: turned ? back : at, offset });
        }
      }
      inRegisters(f, held, compared);
      if (mirror)
        c.get(back)
          .i32(groups * vectorBytes)
          .op('i32.sub')
          .set(back);
    },
  );
  const rest = apart.get(distance);
  if (!rest) return f;
  c.get(0)
    .tee(at)
    .i32(size * vectorBytes)
    .op('i32.add')
    .set(end);
  rising(
    c,
    at,
    () => c.get(end),
    distance * vectorBytes,
    () => c.get(at).call(rest.index),
  );
  return f;
}

/** A mask of bytes for a mask of lanes. */
const lanes = (of: readonly number[]): number[] => of.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte));

/** Compares each key with its mirror image in the other columns: vectors from both ends, one of them with its lanes exchanged. */
function across(
  f: Func,
  l: { keys: number; at: number; end: number },
  exchanged: readonly number[],
  /** Lanes that keep the smaller keys. */
  smaller: readonly number[],
): void {
  const c = f.code;
  const back = f.local('i32');
  const vector = (): number => f.local('v128');
  const [x, y, low, high] = [vector(), vector(), vector(), vector()];
  const pick = (first: boolean): number[] =>
    [0, 1, 2, 3].map((lane) => (smaller.includes(lane) === first ? lane : 4 + lane));
  c.get(l.end).i32(vectorBytes).op('i32.sub').set(back).get(l.keys).set(l.at);
  rising(
    c,
    l.at,
    () => c.get(back),
    vectorBytes,
    () => {
      c.get(l.at).mem('v128.load', 0, 2).set(x);
      c.get(back).mem('v128.load', 0, 2).tee(y).get(y).shuffle(lanes(exchanged)).set(y);
      c.get(x).get(y).op('i32x4.min_u').set(low).get(x).get(y).op('i32x4.max_u').set(high);
      c.get(l.at)
        .get(low)
        .get(high)
        .shuffle(lanes(pick(true)))
        .mem('v128.store', 0, 2);
      c.get(back)
        .get(low)
        .get(high)
        .shuffle(lanes(pick(false)))
        .tee(y)
        .get(y)
        .shuffle(lanes(exchanged));
      c.mem('v128.store', 0, 2);
      c.get(back).i32(vectorBytes).op('i32.sub').set(back);
    },
  );
}

/** (columns, target, vectors): the sorted keys of a network, one after the other. */
export function inOrder(module: WasmModule): Func {
  const f = module.func(['i32', 'i32', 'i32']);
  const [source, target, vectors] = [0, 1, 2] as const;
  const c = f.code;
  const [end, column] = [f.local('i32'), f.local('i32')];
  const { a, b, d, e, ab, de, ab2, de2 } = f.named('v128', 'a', 'b', 'd', 'e', 'ab', 'de', 'ab2', 'de2');
  c.get(vectors).i32(4).op('i32.mul').set(column);
  c.get(source).get(vectors).i32(vectorBytes).ops('i32.mul', 'i32.add').set(end);
  rising(
    c,
    source,
    () => c.get(end),
    4 * vectorBytes,
    () => {
      [a, b, d, e].forEach((register, i) => {
        c.get(source)
          .mem('v128.load', i * vectorBytes, 2)
          .set(register);
      });
      const zip = (x: number, y: number, of: readonly number[], into: number): void => {
        c.get(x).get(y).shuffle(lanes(of)).set(into);
      };
      zip(a, b, [0, 4, 1, 5], ab);
      zip(d, e, [0, 4, 1, 5], de);
      zip(a, b, [2, 6, 3, 7], ab2);
      zip(d, e, [2, 6, 3, 7], de2);
      const out = (x: number, y: number, of: readonly number[], i: number): void => {
        c.get(target);
        if (i > 0) c.get(column).i32(i).ops('i32.mul', 'i32.add');
        c.get(x).get(y).shuffle(lanes(of)).mem('v128.store', 0, 2);
      };
      out(ab, de, [0, 1, 4, 5], 0);
      out(ab, de, [2, 3, 6, 7], 1);
      out(ab2, de2, [0, 1, 4, 5], 2);
      out(ab2, de2, [2, 3, 6, 7], 3);
      c.get(target).i32(vectorBytes).op('i32.add').set(target);
    },
  );
  return f;
}
