// Stable radix sort of rows of (key, position) pairs, eight bits a pass, in global memory.
//
// Each pass counts digits per tile, turns the counts into start positions, and moves every pair to its place. Within a tile
// a warp handles a contiguous stretch and ranks 32 keys at a time with `match.any`, so equal digits keep their order.

import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import type { Argument } from '../step.ts';
import { blocksFor, Kit, type Layout } from './kit.ts';
import { type RowScan, rowScan } from './scan.ts';

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

type Part = { text: string; launch: ModuleRecipe['launches'][number] };

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

export function radixPasses(plan: RadixPlan, buffers: RadixBuffers, layout: Layout, target: Target): Part[] {
  const parts: Part[] = [];
  for (let pass = 0; pass < plan.passes; pass++) {
    const from = (pass % 2) as 0 | 1;
    parts.push(countPass(plan, buffers, from, pass, target), ...startPass(plan, buffers, layout, pass, target));
    parts.push(movePass(plan, buffers, from, pass, target));
  }
  return parts;
}

interface DigitPosition {
  readonly row: string;
  readonly tileNumber: string;
  readonly tiles: number;
}

function blockPlace(kit: Kit, plan: RadixPlan): DigitPosition {
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
const countIndex = (kit: Kit, place: DigitPosition, digit: string): string => {
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

/** Exclusive sums over the counts of each row, which lie digit-major: a digit's start in every tile. */
function startPass(plan: RadixPlan, buffers: RadixBuffers, layout: Layout, pass: number, target: Target): Part[] {
  const scan: RowScan = {
    name: `${plan.name}_start${pass}`,
    type: 'u32',
    combine: 'sum',
    rows: plan.rows,
    length: digits * blocksFor(plan.columns, tile),
    reverse: false,
    exclusive: true,
    input: buffers.counts,
    output: buffers.counts,
  };
  return rowScan(scan, layout, target);
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
  // Thread d turns the warps' counts of digit d into places within the sorted tile, and keeps how far the tile's stretch
  // of that digit has to move.
  const own = b.def('r', 'mad.lo.u32', tid, 4, shared);
  const counted = Array.from({ length: warps }, (_, w) => b.def('r', 'ld.shared.u32', `[${own}+${w * digits * 4}]`));
  const total = counted.reduce((sum, c) => b.def('r', 'add.u32', sum, c));
  const inclusive = b.def('r', 'mov.u32', total);
  const sums = kit.shared(warps * 4);
  for (let distance = 1; distance < 32; distance *= 2) {
    const lower = b.def('r', 'shfl.sync.up.b32', inclusive, distance, 0, '0xffffffff');
    const take = b.def('p', 'setp.ge.u32', laneId, distance);
    b.emit(`@${take} add.u32 ${inclusive}, ${inclusive}, ${lower}`);
  }
  const lastLane = b.def('p', 'setp.eq.u32', laneId, 31);
  const sumSlot = b.def('r', 'mad.lo.u32', warp, 4, sums);
  b.emit(`@${lastLane} st.shared.u32 [${sumSlot}], ${inclusive}`);
  kit.sync();
  const place_ = b.def('r', 'sub.u32', inclusive, total);
  for (let w = 0; w < warps - 1; w++) {
    const part = b.def('r', 'ld.shared.u32', `[${sums}+${w * 4}]`);
    const earlier = b.def('p', 'setp.gt.u32', warp, w);
    b.emit(`@${earlier} add.u32 ${place_}, ${place_}, ${part}`);
  }
  const start = b.def('r', 'ld.global.u32', `[${kit.at(counts, countIndex(kit, place, tid), 4)}]`);
  const shifts = kit.shared(digits * 4);
  const shiftSlot = b.def('r', 'mad.lo.u32', tid, 4, shifts);
  b.emit(`st.shared.u32 [${shiftSlot}], ${b.def('r', 'sub.u32', start, place_)}`);
  counted.forEach((c, w) => {
    b.emit(`st.shared.u32 [${own}+${w * digits * 4}], ${place_}`);
    b.set(place_, 'add.u32', place_, c);
  });
  kit.sync();
  // Into order within the tile first, so that neighbours are written together.
  const sorted = kit.shared(tile * plan.keyBytes);
  const places = ranks.map((rank, i) => b.def('r', 'add.u32', rank, b.def('r', 'ld.shared.u32', `[${counters[i]}]`)));
  places.forEach((p, i) => {
    const slot = b.def('r', 'mad.lo.u32', p, plan.keyBytes, sorted);
    b.emit(`@${inside[i]} st.shared.${keySuffix(plan)} [${slot}], ${keys[i]}`);
  });
  kit.sync();
  const left = b.def('d', 'sub.u64', plan.columns, b.def('d', 'mul.wide.u32', place.tileNumber, tile));
  const valid = b.def('r', 'cvt.u32.u64', b.def('d', 'min.u64', left, tile));
  const outs: { go: string; to: string }[] = [];
  for (let i = 0; i < perThread; i++) {
    const at = i === 0 ? tid : b.def('r', 'add.u32', tid, i * threads);
    const go = b.def('p', 'setp.lt.u32', at, valid);
    const key = b.def(
      keyKind(plan),
      `ld.shared.${keySuffix(plan)}`,
      `[${b.def('r', 'mad.lo.u32', at, plan.keyBytes, sorted)}]`,
    );
    const digit = digitOf(kit, plan, key, pass);
    const shift = b.def('r', 'ld.shared.u32', `[${b.def('r', 'mad.lo.u32', digit, 4, shifts)}]`);
    const to = b.def('d', 'add.u64', rowStart, kit.wide(b.def('r', 'add.u32', shift, at)));
    b.emit(`@${go} st.global.${keySuffix(plan)} [${kit.at(keysOut, to, plan.keyBytes)}], ${key}`);
    outs.push({ go, to });
  }
  kit.sync();
  // The positions take the same way through the same memory.
  places.forEach((p, i) => {
    const at = i === 0 ? first : b.def('d', 'add.u64', first, i * 32);
    const position = b.def('r', 'cvt.u32.u64', at);
    if (pass > 0) {
      b.emit(
        `@${inside[i]} ld.global.u32 ${position}, [${kit.at(positionsIn, b.def('d', 'add.u64', rowStart, at), 4)}]`,
      );
    }
    b.emit(`@${inside[i]} st.shared.u32 [${b.def('r', 'mad.lo.u32', p, 4, sorted)}], ${position}`);
  });
  kit.sync();
  outs.forEach(({ go, to }, i) => {
    const at = i === 0 ? tid : b.def('r', 'add.u32', tid, i * threads);
    const position = b.def('r', 'ld.shared.u32', `[${b.def('r', 'mad.lo.u32', at, 4, sorted)}]`);
    b.emit(`@${go} st.global.u32 [${kit.at(positionsOut, to, 4)}], ${position}`);
  });
  return kit.finish([plan.rows * place.tiles, 1, 1], threads);
}
