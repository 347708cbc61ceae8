// Stable radix sort of rows of (key, position) pairs, eight bits a pass, in global memory.
//
// Each pass counts digits per tile, turns the counts into start positions, and moves every pair to its place. Within a tile
// a warp handles a contiguous stretch and ranks 32 keys at a time with `match.any`, so equal digits keep their order.

import type { Target } from '../ptx/target.ts';
import type { Recipe } from '../recipe.ts';
import type { Argument } from '../step.ts';
import { blocksFor, Kit, type Layout } from './kit.ts';

const threads = 256;
const perThread = 16;
const tile = threads * perThread;
const warps = threads / 32;
const digits = 256;

export interface RadixPlan {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly keyBytes: 4 | 8;
  /** Eight-bit digits to sort by, from the least significant. */
  readonly passes: number;
}

export interface RadixBuffers {
  /** Keys go in through the first; after an even number of passes they come out there too. */
  readonly keys: readonly [Argument, Argument];
  readonly positions: readonly [Argument, Argument];
  readonly counts: Argument;
}

type Part = { text: string; launch: Recipe['launches'][number] };

export function radixBuffers(plan: RadixPlan, layout: Layout): RadixBuffers {
  const n = plan.rows * plan.columns;
  const tiles = blocksFor(plan.columns, tile);
  return {
    keys: [layout.add(n * plan.keyBytes), layout.add(n * plan.keyBytes)],
    positions: [layout.add(n * 4), layout.add(n * 4)],
    counts: layout.add(plan.rows * digits * tiles * 4),
  };
}

/** Index of the buffers that hold the result. */
export const radixResult = (plan: RadixPlan): 0 | 1 => (plan.passes % 2) as 0 | 1;

export function radixPasses(plan: RadixPlan, buffers: RadixBuffers, target: Target): Part[] {
  const parts: Part[] = [];
  for (let pass = 0; pass < plan.passes; pass++) {
    const from = (pass % 2) as 0 | 1;
    parts.push(countPass(plan, buffers, from, pass, target), startPass(plan, buffers, pass, target));
    parts.push(movePass(plan, buffers, from, pass, target));
  }
  return parts;
}

interface Place {
  readonly row: string;
  readonly tileNumber: string;
  readonly tiles: number;
}

function blockPlace(kit: Kit, plan: RadixPlan): Place {
  const { b } = kit;
  const tiles = blocksFor(plan.columns, tile);
  const block = kit.special('ctaid.x');
  const row = b.def('r', 'div.u32', block, tiles);
  return { row: kit.wide(row), tileNumber: b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', row, tiles)), tiles };
}

const keySuffix = (plan: RadixPlan): string => (plan.keyBytes === 8 ? 'b64' : 'b32');
const keyKind = (plan: RadixPlan): 'd' | 'r' => (plan.keyBytes === 8 ? 'd' : 'r');

function digitOf(kit: Kit, plan: RadixPlan, key: string, pass: number): string {
  const { b } = kit;
  if (plan.keyBytes === 4) return b.def('r', 'bfe.u32', key, 8 * pass, 8);
  return b.def('r', 'and.b32', b.def('r', 'cvt.u32.u64', b.def('d', 'shr.u64', key, 8 * pass)), 255);
}

/** counts[row][digit][tile] */
const countIndex = (kit: Kit, place: Place, digit: string): string => {
  const { b } = kit;
  const line = b.def('d', 'add.u64', b.def('d', 'mul.lo.u64', place.row, digits), kit.wide(digit));
  return b.def('d', 'add.u64', b.def('d', 'mul.lo.u64', line, place.tiles), kit.wide(place.tileNumber));
};

function countPass(plan: RadixPlan, buffers: RadixBuffers, from: 0 | 1, pass: number, target: Target): Part {
  const kit = new Kit(`${plan.name}_count${pass}`, target);
  const { b } = kit;
  const keys = kit.pointer(buffers.keys[from]);
  const counts = kit.pointer(buffers.counts);
  const tid = kit.special('tid.x');
  const place = blockPlace(kit, plan);
  const shared = kit.shared(digits * 4);
  const own = b.def('r', 'mad.lo.u32', tid, 4, shared);
  b.emit(`st.shared.u32 [${own}], 0`);
  kit.sync();
  const rowStart = b.def('d', 'mul.lo.u64', place.row, plan.columns);
  const first = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', place.tileNumber, tile), kit.wide(tid));
  for (let i = 0; i < perThread; i++) {
    const at = i === 0 ? first : b.def('d', 'add.u64', first, i * threads);
    const inside = b.def('p', 'setp.lt.u64', at, plan.columns);
    kit.when(inside, () => {
      const address = kit.at(keys, b.def('d', 'add.u64', rowStart, at), plan.keyBytes);
      const key = b.def(keyKind(plan), `ld.global.${keySuffix(plan)}`, `[${address}]`);
      const counter = b.def('r', 'mad.lo.u32', digitOf(kit, plan, key, pass), 4, shared);
      b.emit(`red.shared.add.u32 [${counter}], 1`);
    });
  }
  kit.sync();
  const total = b.def('r', 'ld.shared.u32', `[${own}]`);
  b.emit(`st.global.u32 [${kit.at(counts, countIndex(kit, place, tid), 4)}], ${total}`);
  return kit.finish([plan.rows * place.tiles, 1, 1], threads);
}

const startThreads = 1024;
const startPer = 8;

/** Exclusive sums over the counts of each row, which lie digit-major: a digit's start in every tile. */
function startPass(plan: RadixPlan, buffers: RadixBuffers, pass: number, target: Target): Part {
  const kit = new Kit(`${plan.name}_start${pass}`, target);
  const { b } = kit;
  const counts = kit.pointer(buffers.counts);
  const tid = kit.special('tid.x');
  const n = digits * blocksFor(plan.columns, tile);
  const rowStart = b.def('d', 'mul.lo.u64', kit.wide(kit.special('ctaid.x')), n);
  const laneId = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);
  const shared = kit.shared((startThreads / 32) * 4);
  const carry = b.def('r', 'mov.u32', 0);
  const at = b.def('r', 'mul.lo.u32', tid, startPer);
  const done = b.def('r', 'mov.u32', 0);
  kit.while(
    () => b.def('p', 'setp.lt.u32', done, n),
    () => {
      const base = kit.at(counts, b.def('d', 'add.u64', rowStart, kit.wide(at)), 4);
      const values: string[] = [];
      const inside: string[] = [];
      let own = '0';
      const before: string[] = [];
      for (let i = 0; i < startPer; i++) {
        inside.push(b.def('p', 'setp.lt.u32', b.def('r', 'add.u32', at, i), n));
        const v = b.def('r', 'mov.u32', 0);
        b.emit(`@${inside[i]} ld.global.u32 ${v}, [${base}+${i * 4}]`);
        values.push(v);
        before.push(own);
        own = b.def('r', 'add.u32', own, v);
      }
      const sum = b.def('r', 'mov.u32', own);
      for (let distance = 1; distance < 32; distance *= 2) {
        const below = b.def('r', 'shfl.sync.up.b32', sum, distance, 0, '0xffffffff');
        const take = b.def('p', 'setp.ge.u32', laneId, distance);
        b.emit(`@${take} add.u32 ${sum}, ${sum}, ${below}`);
      }
      const isLast = b.def('p', 'setp.eq.u32', laneId, 31);
      b.emit(`@${isLast} st.shared.u32 [${b.def('r', 'mad.lo.u32', warp, 4, shared)}], ${sum}`);
      kit.sync();
      // Every warp sums the warps' totals for itself.
      const part = b.def('r', 'ld.shared.u32', `[${b.def('r', 'mad.lo.u32', laneId, 4, shared)}]`);
      const running = b.def('r', 'mov.u32', part);
      for (let distance = 1; distance < 32; distance *= 2) {
        const below = b.def('r', 'shfl.sync.up.b32', running, distance, 0, '0xffffffff');
        const take = b.def('p', 'setp.ge.u32', laneId, distance);
        b.emit(`@${take} add.u32 ${running}, ${running}, ${below}`);
      }
      const all = b.def('r', 'shfl.sync.idx.b32', running, 31, 31, '0xffffffff');
      const exclusive = b.def('r', 'sub.u32', running, part);
      const warpsBefore = b.def('r', 'shfl.sync.idx.b32', exclusive, warp, 31, '0xffffffff');
      const lanesBefore = b.def('r', 'sub.u32', sum, own);
      const offset = b.def('r', 'add.u32', carry, b.def('r', 'add.u32', warpsBefore, lanesBefore));
      for (let i = 0; i < startPer; i++) {
        const v = b.def('r', 'add.u32', offset, before[i]!);
        b.emit(`@${inside[i]} st.global.u32 [${base}+${i * 4}], ${v}`);
      }
      b.set(carry, 'add.u32', carry, all);
      b.set(at, 'add.u32', at, startThreads * startPer);
      b.set(done, 'add.u32', done, startThreads * startPer);
      kit.sync();
    },
  );
  return kit.finish([plan.rows, 1, 1], startThreads);
}

function movePass(plan: RadixPlan, buffers: RadixBuffers, from: 0 | 1, pass: number, target: Target): Part {
  const kit = new Kit(`${plan.name}_move${pass}`, target);
  const { b } = kit;
  const to = (1 - from) as 0 | 1;
  const keysIn = kit.pointer(buffers.keys[from]);
  const keysOut = kit.pointer(buffers.keys[to]);
  // The first pass starts from the natural order.
  const positionsIn = pass === 0 ? '' : kit.pointer(buffers.positions[from]);
  const positionsOut = kit.pointer(buffers.positions[to]);
  const counts = kit.pointer(buffers.counts);
  const tid = kit.special('tid.x');
  const place = blockPlace(kit, plan);
  const laneId = b.def('r', 'and.b32', tid, 31);
  const warp = b.def('r', 'shr.u32', tid, 5);
  const below = kit.special('lanemask_lt');
  const shared = kit.shared(warps * digits * 4);
  for (let w = 0; w < warps; w++)
    b.emit(`st.shared.u32 [${b.def('r', 'mad.lo.u32', tid, 4, shared)}+${w * digits * 4}], 0`);
  kit.sync();
  const mine = b.def('r', 'mad.lo.u32', warp, digits * 4, shared);
  const rowStart = b.def('d', 'mul.lo.u64', place.row, plan.columns);
  const stretch = b.def('r', 'mad.lo.u32', warp, 32 * perThread, laneId);
  const first = b.def('d', 'add.u64', b.def('d', 'mul.wide.u32', place.tileNumber, tile), kit.wide(stretch));
  const keys: string[] = [];
  const ranks: string[] = [];
  const counters: string[] = [];
  const inside: string[] = [];
  for (let i = 0; i < perThread; i++) {
    const at = i === 0 ? first : b.def('d', 'add.u64', first, i * 32);
    inside.push(b.def('p', 'setp.lt.u64', at, plan.columns));
    const key = b.def(keyKind(plan), `mov.${keySuffix(plan)}`, 0);
    const address = kit.at(keysIn, b.def('d', 'add.u64', rowStart, at), plan.keyBytes);
    b.emit(`@${inside[i]} ld.global.${keySuffix(plan)} ${key}, [${address}]`);
    keys.push(key);
  }
  for (let i = 0; i < perThread; i++) {
    const digit = digitOf(kit, plan, keys[i]!, pass);
    // Lanes beyond the row form a group of their own that counts nothing.
    const grouped = b.def('r', 'selp.b32', digit, digits, inside[i]!);
    const peers = b.def('r', 'match.any.sync.b32', grouped, '0xffffffff');
    const before = b.def('r', 'popc.b32', b.def('r', 'and.b32', peers, below));
    const counter = b.def('r', 'mad.lo.u32', digit, 4, mine);
    const count = b.def('r', 'ld.shared.u32', `[${counter}]`);
    ranks.push(b.def('r', 'add.u32', count, before));
    counters.push(counter);
    b.emit('bar.warp.sync 0xffffffff');
    const leads = b.def('p', 'setp.eq.u32', before, 0);
    const counts_ = b.def('p', 'and.pred', leads, inside[i]!);
    const sum = b.def('r', 'add.u32', count, b.def('r', 'popc.b32', peers));
    b.emit(`@${counts_} st.shared.u32 [${counter}], ${sum}`);
    b.emit('bar.warp.sync 0xffffffff');
  }
  kit.sync();
  // Thread d turns the warps' counts of digit d into start positions.
  const start = b.def('r', 'ld.global.u32', `[${kit.at(counts, countIndex(kit, place, tid), 4)}]`);
  for (let w = 0; w < warps; w++) {
    const slot = `[${b.def('r', 'mad.lo.u32', tid, 4, shared)}+${w * digits * 4}]`;
    const count = b.def('r', 'ld.shared.u32', slot);
    b.emit(`st.shared.u32 ${slot}, ${start}`);
    b.set(start, 'add.u32', start, count);
  }
  kit.sync();
  for (let i = 0; i < perThread; i++) {
    kit.when(inside[i]!, () => {
      const base = b.def('r', 'ld.shared.u32', `[${counters[i]}]`);
      const target_ = b.def('d', 'add.u64', rowStart, kit.wide(b.def('r', 'add.u32', base, ranks[i]!)));
      b.emit(`st.global.${keySuffix(plan)} [${kit.at(keysOut, target_, plan.keyBytes)}], ${keys[i]}`);
      const at = b.def('d', 'add.u64', first, i * 32);
      const position =
        pass === 0
          ? b.def('r', 'cvt.u32.u64', at)
          : b.def('r', 'ld.global.u32', `[${kit.at(positionsIn, b.def('d', 'add.u64', rowStart, at), 4)}]`);
      b.emit(`st.global.u32 [${kit.at(positionsOut, target_, 4)}], ${position}`);
    });
  }
  return kit.finish([plan.rows * place.tiles, 1, 1], threads);
}
