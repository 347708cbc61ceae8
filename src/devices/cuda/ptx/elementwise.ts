// Kernels without a reduction: every thread computes a few vectors of neighbouring elements.
//
// A block covers one tile of the output. A full tile is straight-line code: all loads, the arithmetic, then all stores, so
// that many loads are in flight. Only the last tile may be partial, and takes a loop over single elements.

import { dtypeInfo } from '../../../base/dtype.ts';
import { sizeOf } from '../../../base/shape.ts';
import type { Expr, Load } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Together } from '../../../kernel/together.ts';
import { EntryPoint, entryName } from './code.ts';
import { emitStore, firstOf, isWholeVector } from './memory.ts';
import { mostElements } from './plan.ts';
import type { PtxScope } from './scope.ts';
import { type Frame, indexBitsFor, openFrame, rootsOf, unravel } from './shape.ts';
import type { Target } from './target.ts';
import { placeIn, type Tile, tileOf } from './tiles.ts';
import { type IndexBits, kindOf } from './types.ts';
import { dependencies, reachable, type Values } from './values.ts';

export interface Rendered {
  /** The entry alone; `moduleText` makes a module of it. */
  readonly text: string;
  readonly entry: string;
  readonly grid: readonly [number, number, number];
  readonly block: number;
  /** Bytes of scratch memory, zeroed once before the first launch; 0 if none is wanted. */
  readonly scratchBytes: number;
  readonly sharedBytes: number;
  /** Elements each thread handles at once, for `explain`. */
  readonly vector: number;
}

const usualThreads = 256;

/** Of a thread: more would not stay in registers. So much for one position, and for neighbours that have much in common. */
const mostOperations = 2400;
const mostTogether = 4000;

/**
 * Work with so many loads waits for them: registers to have many in flight are worth more than further threads. So few blocks of a
 * multiprocessor are asked for, by neighbours that a thread computes together (measured: 27 values around each of 32³×64 cells
 * 11.6 µs without, 10.1 with four blocks of one cell, 8.0 with two blocks of four).
 */
const manyLoads = 8;
const blocksOf: Readonly<Record<number, number>> = { 1: 4, 2: 3, 4: 2, 8: 2, 16: 2, 32: 2 };

/** Results of so many bytes are not in the cache any more when somebody reads them (8192² sums of f32: 77 µs, written past it 62). */
export const cacheBytes = 64 * 2 ** 20;

/** Of the cache: what a warp reads of one row should fill it. */
const lineBytes = 128;

const widestOf = (kernel: Kernel): number =>
  Math.max(...[...kernel.inputs, ...kernel.outputs].map((b) => dtypeInfo[b.type].bytes), 1);

interface Tiling {
  readonly vector: number;
  readonly unroll: number;
  readonly threads: number;
}

/** Vector width and unrolling for a kernel; `operations`: of one element. */
export function chooseTiling({ kernel, offsets, count }: Together, operations: number, target: Target): Tiling {
  const threads = target.tuning?.threads ?? usualThreads;
  const total = sizeOf(kernel.space);
  const last = kernel.space.reduce((n, d) => (d === 1 ? n : d), 1);
  const axes = kernel.space.filter((d) => d !== 1).length;
  const widest = widestOf(kernel);
  let vector = Math.min(16 / widest, 16);
  // A vector must not run over the end of a row; a single axis has only one end.
  while (vector > 1 && axes > 1 && last % vector !== 0) vector /= 2;
  // Neighbours store vectors of their own, which lie where vectors may.
  while (vector > 1 && offsets.some((o) => o % vector !== 0)) vector /= 2;
  while (vector > 1 && total < vector) vector /= 2;
  while (vector > 2 && operations * vector > mostOperations) vector /= 2;
  while (vector > 1 && count * vector > mostElements) vector /= 2;
  while (vector > 2 && count > 4 && operations * count * vector > mostTogether) vector /= 2;
  // Small arrays need threads more than long ones need vectors.
  while (vector > 1 && total / vector < threads * target.processors && vector * widest > 8) vector /= 2;
  // One vector of 16 bytes per thread is best (measured: 34.9 µs against 36.2 with two and 36.9 with four, 16M u32 in
  // place); narrower loads are repeated until a thread has as many bytes in flight. Looked-up elements are waited for twice, for where
  // they are and for themselves, and are repeated too (1M rows of 64 out of a table: 120 µs with one, 99 with four).
  const waits = looksUp(kernel);
  let unroll = 1;
  while (
    unroll < 4 &&
    (waits || vector * unroll * widest < 16) &&
    operations * vector * unroll * 2 <= 600 &&
    total >= threads * vector * unroll * 2 * target.processors * 4
  ) {
    unroll *= 2;
  }
  return { vector, unroll: target.tuning?.unroll ?? unroll, threads };
}

/** Whether where elements are read depends on other elements. */
const looksUp = (kernel: Kernel): boolean =>
  reachable(rootsOf(kernel)).some((e) => e.kind === 'load' && reachable([e.index]).some((x) => x.kind === 'load'));

export function renderElementwise(near: Together, target: Target): Rendered {
  const { kernel, count } = near;
  const exprs = reachable(rootsOf(kernel));
  const bits = indexBitsFor({ ...kernel, space: [...kernel.space, count] }, exprs);
  const entry = new EntryPoint(entryName(kernel.name), target);
  const frame = openFrame(entry, near, bits);
  entry.writesPast = count * sizeOf(kernel.space) * dtypeInfo[kernel.outputs[0]!.type].bytes >= cacheBytes;
  const mixes = mixesWords(exprs);
  if (mixes) entry.one = entry.body.def('r', 'mov.u32', '%nctaid.z');
  const waits = exprs.filter((e) => e.kind === 'load').length >= manyLoads;
  // Blocks of long work end at different times, and the sooner the next ones begin the better (noise and 27 values around each cell of 64
  // fields of 16³×32: 51.6 µs, with blocks half as long 47.4).
  const shorter = mixes && waits ? 2 : 1;
  const usual = chooseTiling(near, exprs.length / count, target);
  const tiling = { ...usual, threads: usual.threads / shorter };
  const { vector, threads } = tiling;
  const { body } = entry;
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const thread = body.def('r', 'mov.u32', '%tid.x');
  const wide = (r: string): string => (bits === 32 ? r : body.def('d', 'cvt.u64.u32', r));
  const at: BlockPlace = { cta, block: wide(cta), thread: wide(thread), bits };
  const lanes = lineBytes / (vector * widestOf(kernel));
  const box = tiling.unroll === 1 ? tileOf(near, { threads, vector, lanes }) : null;
  const blocks = box ? renderBox(near, frame, box, vector, at) : renderStretch(near, frame, tiling, at);
  return {
    text: entry.render(threads, waits ? shorter * blocksOf[count]! : 0),
    entry: entry.name,
    grid: [blocks, 1, 1],
    block: threads,
    scratchBytes: 0,
    sharedBytes: 0,
    vector,
  };
}

/** Numbers of the block and of the thread in it, as they come and as positions. */
interface BlockPlace {
  readonly cta: string;
  readonly block: string;
  readonly thread: string;
  readonly bits: IndexBits;
}

/** Every thread has a vector at its place in a box of the grid. */
function renderBox(
  near: Together,
  frame: Frame,
  box: Tile,
  vector: number,
  { block, thread, bits }: BlockPlace,
): number {
  const { root } = frame;
  const place = placeIn(root.block, box, near.kernel.space, vector, { cta: block, thread, bits });
  renderCopies(near, frame.outputs, root, [place], vector, bits);
  root.block.emit('ret');
  return place.blocks;
}

/** Threads in a row; the last block may have elements left for some of them only. */
function renderStretch(
  near: Together,
  { root, outputs }: Frame,
  { vector, unroll, threads }: Tiling,
  { cta, thread: tid, bits }: BlockPlace,
): number {
  const { kernel } = near;
  const { block: body } = root;
  const total = sizeOf(kernel.space);
  const tile = threads * vector * unroll;
  const tiles = Math.ceil(total / tile);
  const s = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  const start = bits === 32 ? body.def('r', 'mul.lo.s32', cta, tile) : body.def('d', 'mul.wide.u32', cta, tile);

  const partial = total % tile !== 0;
  const tail = body.entry.label('tail');
  const full = root.nest();
  if (total >= tile) {
    const { block } = full;
    if (partial) {
      const isLast = block.def('p', 'setp.eq.u32', cta, tiles - 1);
      block.emit(`@${isLast} bra ${tail}`);
    }
    const first = block.def(kind, `mad.lo.${s}`, tid, vector, start);
    const places = Array.from({ length: unroll }, (_, u) => {
      const element = u === 0 ? first : block.def(kind, `add.${s}`, first, u * threads * vector);
      return { element, axes: unravel(block, element, kernel.space, 0, bits) };
    });
    renderCopies(near, outputs, full, places, vector, bits);
    block.emit('ret');
  }
  const rest = root.nest();
  if (partial) {
    rest.block.label(tail);
    const e = rest.block.def(kind, `add.${s}`, start, tid);
    const loop = body.entry.label('element');
    const done = body.entry.label('done');
    rest.block.label(loop);
    const beyond = rest.block.def('p', `setp.ge.${s}`, e, total);
    rest.block.emit(`@${beyond} bra ${done}`);
    const one = rest.nest();
    const element = one.extend({ axes: unravel(one.block, e, kernel.space, 0, bits) });
    const values = kernel.outputs.map((o) => element.values(o.value));
    storeAll(near, outputs, element, values, 1, e, bits);
    rest.block.append(one.block);
    rest.block.set(e, `add.${s}`, e, threads);
    rest.block.emit(`bra ${loop}`);
    rest.block.label(done);
    rest.block.emit('ret');
  }
  body.append(full.block);
  body.append(rest.block);
  return tiles;
}

/** Work that adds, turns and combines words over and over, as random numbers are made. */
const mixesWords = (exprs: readonly Expr[]): boolean =>
  exprs.filter((e) => e.kind === 'alu' && e.op === 'xor' && e.type === 'u32').length >= manyMixes;
const manyMixes = 16;

/** Vectors at some places: all loads and the arithmetic of each, then all stores. */
function renderCopies(
  near: Together,
  outputs: readonly string[],
  scope: PtxScope,
  places: readonly { readonly axes: ReadonlyMap<number, string>; readonly element: string }[],
  vector: number,
  bits: IndexBits,
): void {
  const { kernel } = near;
  const lastAxis = kernel.space.reduce((last, d, i) => (d === 1 ? last : i), -1);
  const whole = vectorsFirst(kernel, lastAxis, vector);
  const copies = places.map(({ axes, element }) => {
    const copy = scope.extend({ axes, width: vector, laneAxis: vector > 1 ? lastAxis : -1 });
    for (const load of whole) copy.values(load);
    return { scope: copy, values: kernel.outputs.map((o) => [...copy.values(o.value)]), element };
  });
  for (const c of copies) storeAll(near, outputs, c.scope, c.values, vector, c.element, bits);
}

/** Whole vectors of inputs that are read a place further too: read first of all, they have most of what lies there. */
function vectorsFirst(kernel: Kernel, laneAxis: number, width: number): Load[] {
  const loads = reachable(rootsOf(kernel)).filter((e): e is Load => e.kind === 'load');
  const isWhole = (e: Load): boolean => isWholeVector(e, laneAxis, width);
  const further = new Set(loads.filter((e) => dependencies(e).has(laneAxis) && !isWhole(e)).map((e) => e.slot));
  return loads.filter((e) => further.has(e.slot) && isWhole(e));
}

function storeAll(
  near: Together,
  outputs: readonly string[],
  scope: PtxScope,
  values: readonly Values[],
  width: number,
  element: string,
  bits: IndexBits,
): void {
  storeFrom(near, outputs, scope, values, width, firstOf(scope, near, element), bits);
}

/** The same, where the first of the neighbours lies at `first` in each output. */
export function storeFrom(
  near: Together,
  outputs: readonly string[],
  scope: PtxScope,
  values: readonly Values[],
  width: number,
  first: string,
  bits: IndexBits,
): void {
  near.kernel.outputs.forEach((o, k) => {
    const size = dtypeInfo[o.type].bytes;
    const pointer = outputs[k % outputs.length]!;
    const neighbour = Math.floor(k / outputs.length);
    const address =
      bits === 32
        ? scope.block.def('d', 'mad.wide.s32', first, size, pointer)
        : scope.block.def('d', 'mad.lo.s64', first, size, pointer);
    emitStore(scope, o.type, values[k]!, width, address, near.offsets[neighbour]! * size);
  });
}
