// The first few of each row as if it were sorted, by selection: counts of digits, from the highest on, show where the last of them is.
//
// A block has a row, or a part of one where there are too few rows: then the parts' own first ones are selected from once more. Every
// pass counts the next digit of those keys that agree with what is known of the last one so far, and ends the search where
// all of them belong to the result. If keys alone do not say which, because some are equal, the places of those are counted the
// same way. What is found is sorted in shared memory. A few of short rows are found by a warp (topk-warp.ts), a few that are not the
// first ones by their ranks (ranks.ts).

import { dtypeInfo, isFloat } from '../../../base/dtype.ts';
import type { TopK } from '../../../kernel/kernel.ts';
import { loadElement } from '../ptx/memory.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import type { Argument } from '../step.ts';
import { eachOf, sortPairs } from './bitonic.ts';
import { Kit, Layout } from './kit.ts';
import { ranksRecipe } from './ranks.ts';
import { recipeOf } from './recipe-of.ts';
import { keyBytes, sortKey } from './sort-key.ts';
import { fitsWarp, warpRecipe } from './topk-warp.ts';

/** How a block searches: so many threads, and so many bits of a key at a time. */
interface Shape {
  readonly threads: number;
  readonly digitBits: number;
}

/** Short rows are done sooner than many counters are looked through. */
const shapeOf = (columns: number): Shape =>
  columns <= 1024 ? { threads: 128, digitBits: 9 } : { threads: 256, digitBits: 11 };

/** Elements that a thread loads before it looks at them. */
const atOnce = 4;
/** Parts of a row are at least so long, and so many times what is kept of each. */
const shortestPart = 8192;
const partsOfKept = 8;

interface Stage extends TopK {
  readonly parts: number;
  readonly input: Argument;
  /** Where the elements were before; null if they are where they were. */
  readonly origins: Argument | null;
  readonly values: Argument;
  readonly positions: Argument;
}

export function topkRecipe(r: TopK, target: Target): ModuleRecipe {
  if (r.first > 0) return ranksRecipe(r, target);
  if (fitsWarp(r)) return warpRecipe(r, target);
  const layout = new Layout();
  const stages: Stage[] = [];
  let [columns, input, origins]: [number, Argument, Argument | null] = [r.columns, { kind: 'buffer', index: 0 }, null];
  for (let parts = partsOf(r, columns, target); parts > 1; parts = partsOf(r, columns, target)) {
    const found = r.rows * parts * r.count;
    const values = layout.add(found * dtypeInfo[r.type].bytes);
    const positions = layout.add(found * 4);
    stages.push({ ...r, name: `${r.name}_parts${stages.length}`, columns, parts, input, origins, values, positions });
    [columns, input, origins] = [parts * r.count, values, positions];
  }
  const last = { values: { kind: 'buffer', index: 1 }, positions: { kind: 'buffer', index: 2 } } as const;
  stages.push({ ...r, columns, parts: 1, input, origins, ...last });
  const made = stages.map((s) => select(s, target));
  return recipeOf(r.name, target, made, { borrowedBytes: layout.bytes });
}

/** Into how many parts a row is cut so that all multiprocessors have something to do. */
function partsOf(r: TopK, columns: number, { processors }: Target): number {
  const wanted = Math.floor((4 * processors) / r.rows);
  const most = Math.floor(columns / Math.max(shortestPart, partsOfKept * r.count));
  return Math.max(1, Math.min(wanted, most));
}

/** Digits of a number from the highest on: the first bit of each, and how many. */
function digitsOf(bits: number, digitBits: number): { shift: number; bits: number }[] {
  const digits: { shift: number; bits: number }[] = [];
  for (let top = bits; top > 0; top -= digitBits) {
    const shift = Math.max(0, top - digitBits);
    digits.push({ shift, bits: top - shift });
  }
  return digits;
}

function select(s: Stage, target: Target) {
  const kit = new Kit(`${s.name}_select`, target);
  const { b } = kit;
  const shape = shapeOf(Math.ceil(s.columns / s.parts));
  const { threads, digitBits } = shape;
  const bins = 2 ** digitBits;
  const binsPerThread = bins / threads;
  const wide = keyBytes(s.type) === 8;
  const [kind, suffix, u] = wide ? (['d', 'b64', 'u64'] as const) : (['r', 'b32', 'u32'] as const);
  const input = kit.pointer(s.input);
  const origins = s.origins && kit.pointer(s.origins);
  const values = kit.pointer(s.values);
  const positions = kit.pointer(s.positions);
  const tid = kit.special('tid.x');
  const block = kit.special('ctaid.x');
  const row = b.def('r', 'div.u32', block, s.parts);
  const part = b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', row, s.parts));
  const edge = (n: string): string =>
    b.def('r', 'cvt.u32.u64', b.def('d', 'div.u64', b.def('d', 'mul.wide.u32', n, s.columns), s.parts));
  const begin = s.parts === 1 ? '0' : edge(part);
  const length = s.parts === 1 ? `${s.columns}` : b.def('r', 'sub.u32', edge(b.def('r', 'add.u32', part, 1)), begin);
  const rowStart = b.def('d', 'mul.wide.u32', row, s.columns);
  const start = s.parts === 1 ? rowStart : b.def('d', 'add.u64', rowStart, kit.wide(begin));
  const elementBytes = dtypeInfo[s.type].bytes;
  const from = b.def('d', 'mad.lo.u64', start, elementBytes, input);

  /** Emits a body for every element of the row: its key, its place in it, and whether there is one. */
  const each = (body: (key: string, place: string, inside: string) => void): void => {
    const first = b.def('r', 'mov.u32', tid);
    kit.while(
      () => b.def('p', 'setp.lt.u32', first, length),
      () => {
        const loaded = Array.from({ length: atOnce }, (_, i) => {
          const place = i === 0 ? b.def('r', 'mov.u32', first) : b.def('r', 'add.u32', first, i * threads);
          const inside = b.def('p', 'setp.lt.u32', place, length);
          const address = b.def('d', 'mad.wide.u32', place, elementBytes, from);
          return { place, inside, value: loadElement(kit.c, 'ld.global', s.type, address, 0, inside) };
        });
        for (const { place, inside, value } of loaded) body(sortKey(kit, s.type, value, s.descending), place, inside);
        b.set(first, 'add.u32', first, atOnce * threads);
      },
    );
  };

  const counts = kit.shared(bins * 4);
  const sums = kit.shared((threads / 32) * 4);
  const found = kit.shared(3 * 4);
  const collect = kit.entry.label('collect');
  // What is known of the last one: its bits under the masks. Of those that agree with it, so many are still to be taken.
  const zero = kind === 'd' ? 'mov.b64' : 'mov.b32';
  const [mask, known] = [b.def(kind, zero, 0), b.def(kind, zero, 0)];
  const [placeMask, knownPlace] = [b.def('r', 'mov.b32', 0), b.def('r', 'mov.b32', 0)];
  const left = b.def('r', 'mov.u32', s.count);
  const own = b.def('r', 'mad.lo.u32', tid, binsPerThread * 4, counts);

  const narrowDown = (shift: number, bits: number, ofPlaces: boolean): void => {
    const wideDigit = (key: string): string =>
      b.def('r', 'and.b32', b.def('r', 'cvt.u32.u64', b.def('d', 'shr.u64', key, shift)), 2 ** bits - 1);
    for (let i = 0; i < binsPerThread; i += 4) b.emit(`st.shared.v4.u32 [${own}+${4 * i}], {0, 0, 0, 0}`);
    kit.sync();
    each((key, place, inside) => {
      const same = b.def('p', `setp.eq.${u}`, b.def(kind, `and.${suffix}`, key, mask), known);
      const agrees = b.def('p', 'and.pred', inside, same);
      const samePlace = (): string => b.def('p', 'setp.eq.u32', b.def('r', 'and.b32', place, placeMask), knownPlace);
      const counted = ofPlaces ? b.def('p', 'and.pred', agrees, samePlace()) : agrees;
      const digit = ofPlaces || !wide ? b.def('r', 'bfe.u32', ofPlaces ? place : key, shift, bits) : wideDigit(key);
      b.emit(`@${counted} red.shared.add.u32 [${b.def('r', 'mad.lo.u32', digit, 4, counts)}], 1`);
    });
    kit.sync();
    findBin(kit, { own, sums, found, left, tid }, shape);
    const [bin, inBin] = [b.def('r', 'ld.shared.u32', `[${found}]`), b.def('r', 'ld.shared.u32', `[${found}+8]`)];
    b.set(left, 'sub.u32', left, b.def('r', 'ld.shared.u32', `[${found}+4]`));
    if (ofPlaces) {
      b.set(knownPlace, 'or.b32', knownPlace, b.def('r', 'shl.b32', bin, shift));
      b.set(placeMask, 'or.b32', placeMask, (2 ** bits - 1) * 2 ** shift);
    } else {
      const digit = b.def(kind, `shl.${suffix}`, wide ? kit.wide(bin) : bin, shift);
      b.set(known, `or.${suffix}`, known, digit);
      b.set(mask, `or.${suffix}`, mask, `0x${(BigInt(2 ** bits - 1) << BigInt(shift)).toString(16)}`);
    }
    b.emit(`@${b.def('p', 'setp.eq.u32', inBin, left)} bra ${collect}`);
  };
  const keyBits = isFloat(s.type) && elementBytes === 2 ? 32 : 8 * elementBytes;
  for (const { shift, bits } of digitsOf(keyBits, digitBits)) narrowDown(shift, bits, false);
  for (const { shift, bits } of digitsOf(Math.ceil(Math.log2(s.columns + 1)), digitBits)) narrowDown(shift, bits, true);

  b.label(collect);
  const size = Math.max(2, 2 ** Math.ceil(Math.log2(s.count)));
  const keys = kit.shared(size * (wide ? 8 : 4));
  const places = kit.shared(size * 4);
  const keyAt = (i: string): string => b.def('r', 'mad.lo.u32', i, wide ? 8 : 4, keys);
  const placeAt = (i: string): string => b.def('r', 'mad.lo.u32', i, 4, places);
  // Slots beyond the last one sort behind everything.
  eachOf(kit, tid, threads, size, (i) => {
    b.emit(`st.shared.${suffix} [${keyAt(i)}], ${b.def(kind, `mov.${suffix}`, -1)}`);
    b.emit(`st.shared.u32 [${placeAt(i)}], -1`);
  });
  b.emit(`@${b.def('p', 'setp.eq.u32', tid, 0)} st.shared.u32 [${sums}], 0`);
  kit.sync();
  each((key, place, inside) => {
    const high = b.def(kind, `and.${suffix}`, key, mask);
    const before = b.def('p', `setp.lt.${u}`, high, known);
    const same = b.def('p', `setp.eq.${u}`, high, known);
    const early = b.def('p', 'setp.le.u32', b.def('r', 'and.b32', place, placeMask), knownPlace);
    const taken = b.def('p', 'or.pred', before, b.def('p', 'and.pred', same, early));
    kit.when(b.def('p', 'and.pred', inside, taken), () => {
      const slot = b.def('r', 'atom.shared.add.u32', `[${sums}]`, 1);
      b.emit(`st.shared.${suffix} [${keyAt(slot)}], ${key}`);
      b.emit(`st.shared.u32 [${placeAt(slot)}], ${place}`);
    });
  });
  kit.sync();
  sortPairs(kit, { tid, threads, size, keys, places, wide });
  const to = b.def('d', 'mul.wide.u32', block, s.count);
  eachOf(kit, tid, threads, s.count, (i) => {
    const place = b.def('r', 'ld.shared.u32', `[${placeAt(i)}]`);
    const at = b.def('d', 'add.u64', to, kit.wide(i));
    const element = b.def('d', 'add.u64', start, kit.wide(place));
    kit.store(s.type, values, at, kit.load(s.type, input, element));
    const origin = origins ? kit.load('i32', origins, element) : b.def('r', 'add.u32', place, begin);
    kit.store('i32', positions, at, origin);
  });
  return kit.finish([s.rows * s.parts, 1, 1], threads);
}

interface Search {
  /** The bins of this thread. */
  readonly own: string;
  /** Room for a number of each warp, and for three results. */
  readonly sums: string;
  readonly found: string;
  readonly left: string;
  readonly tid: string;
}

/** Finds the bin with the `left`-th of all that were counted; `found` gets it, how many are in the bins before, and how many in it. */
function findBin(kit: Kit, { own, sums, found, left, tid }: Search, { threads, digitBits }: Shape): void {
  const [warps, binsPerThread] = [threads / 32, 2 ** digitBits / threads];
  const { b } = kit;
  const counted: string[] = [];
  for (let i = 0; i < binsPerThread; i += 4) {
    const four = Array.from({ length: 4 }, () => kit.entry.reg('r'));
    b.emit(`ld.shared.v4.u32 {${four.join(', ')}}, [${own}+${4 * i}]`);
    counted.push(...four);
  }
  const total = counted.reduce((sum, c) => b.def('r', 'add.u32', sum, c));
  const upTo = b.def('r', 'mov.u32', total);
  const laneId = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);
  for (let distance = 1; distance < 32; distance *= 2) {
    const lower = b.def('r', 'shfl.sync.up.b32', upTo, distance, 0, '0xffffffff');
    b.emit(`@${b.def('p', 'setp.ge.u32', laneId, distance)} add.u32 ${upTo}, ${upTo}, ${lower}`);
  }
  const slot = b.def('r', 'mad.lo.u32', warp, 4, sums);
  b.emit(`@${b.def('p', 'setp.eq.u32', laneId, 31)} st.shared.u32 [${slot}], ${upTo}`);
  kit.sync();
  for (let w = 0; w < warps - 1; w++) {
    const earlier = b.def('p', 'setp.gt.u32', warp, w);
    b.emit(`@${earlier} add.u32 ${upTo}, ${upTo}, ${b.def('r', 'ld.shared.u32', `[${sums}+${4 * w}]`)}`);
  }
  const before = b.def('r', 'sub.u32', upTo, total);
  const here = b.def('p', 'and.pred', b.def('p', 'setp.lt.u32', before, left), b.def('p', 'setp.ge.u32', upTo, left));
  kit.when(here, () => {
    const first = b.def('r', 'mul.lo.u32', tid, binsPerThread);
    counted.forEach((count, i) => {
      const end = b.def('r', 'add.u32', before, count);
      const it = b.def('p', 'and.pred', b.def('p', 'setp.lt.u32', before, left), b.def('p', 'setp.ge.u32', end, left));
      b.emit(`@${it} st.shared.u32 [${found}], ${b.def('r', 'add.u32', first, i)}`);
      b.emit(`@${it} st.shared.u32 [${found}+4], ${before}`);
      b.emit(`@${it} st.shared.u32 [${found}+8], ${count}`);
      b.set(before, 'mov.u32', end);
    });
  });
  kit.sync();
}
