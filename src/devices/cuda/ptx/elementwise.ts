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
import type { PtxScope } from './scope.ts';
import { indexBitsFor, openFrame, rootsOf, unravel } from './shape.ts';
import type { Target } from './target.ts';
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

/** Of a thread: more would not stay in registers. */
const mostOperations = 2400;

/**
 * Work with so many loads waits for them: registers to have many in flight are worth more than further threads. So few blocks of a
 * multiprocessor are asked for, by neighbours that a thread computes together (measured: 27 values around each of 32³×64 cells
 * 11.6 µs without, 10.1 with four blocks of one cell, 8.0 with two blocks of four).
 */
const manyLoads = 8;
const blocksOf: Readonly<Record<number, number>> = { 1: 4, 2: 3, 4: 2 };

interface Tiling {
  readonly vector: number;
  readonly unroll: number;
  readonly threads: number;
}

/** Vector width and unrolling for a kernel; exported for tests and tuning. */
/** `operations`: of one element. */
export function chooseTiling(kernel: Kernel, operations: number, target: Target): Tiling {
  const threads = target.tuning?.threads ?? usualThreads;
  const total = sizeOf(kernel.space);
  const last = kernel.space.reduce((n, d) => (d === 1 ? n : d), 1);
  const axes = kernel.space.filter((d) => d !== 1).length;
  const widest = Math.max(...[...kernel.inputs, ...kernel.outputs].map((b) => dtypeInfo[b.type].bytes), 1);
  let vector = Math.min(16 / widest, 16);
  // A vector must not run over the end of a row; a single axis has only one end.
  while (vector > 1 && axes > 1 && last % vector !== 0) vector /= 2;
  while (vector > 1 && total < vector) vector /= 2;
  while (vector > 2 && operations * vector > mostOperations) vector /= 2;
  // Small arrays need threads more than long ones need vectors.
  while (vector > 1 && total / vector < threads * target.processors && vector * widest > 8) vector /= 2;
  // One vector of 16 bytes per thread is best (measured: 34.9 µs against 36.2 with two and 36.9 with four, 16M u32 in
  // place); narrower loads are repeated until a thread has as many bytes in flight.
  let unroll = 1;
  while (
    unroll < 4 &&
    vector * unroll * widest < 16 &&
    operations * vector * unroll * 2 <= 600 &&
    total >= threads * vector * unroll * 2 * target.processors * 4
  ) {
    unroll *= 2;
  }
  return { vector, unroll: target.tuning?.unroll ?? unroll, threads };
}

export function renderElementwise(near: Together, target: Target): Rendered {
  const { kernel, count } = near;
  const exprs = reachable(rootsOf(kernel));
  const bits = indexBitsFor({ ...kernel, space: [...kernel.space, count] }, exprs);
  const entry = new EntryPoint(entryName(kernel.name), target);
  const frame = openFrame(entry, near, bits);
  const { root } = frame;
  if (mixesWords(exprs)) entry.one = entry.body.def('r', 'mov.u32', '%nctaid.z');
  const total = sizeOf(kernel.space);
  const { vector, unroll, threads } = chooseTiling(kernel, exprs.length / count, target);
  const tile = threads * vector * unroll;
  const tiles = Math.ceil(total / tile);
  const s = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  const { body } = entry;

  const thread = body.def('r', 'mov.u32', '%tid.x');
  const cta = body.def('r', 'mov.u32', '%ctaid.x');
  const tid = bits === 32 ? thread : body.def('d', 'cvt.u64.u32', thread);
  const start = bits === 32 ? body.def('r', 'mul.lo.s32', cta, tile) : body.def('d', 'mul.wide.u32', cta, tile);

  const partial = total % tile !== 0;
  const tail = entry.label('tail');
  const full = root.nest();
  if (total >= tile) {
    if (partial) {
      const isLast = full.block.def('p', 'setp.eq.u32', cta, tiles - 1);
      full.block.emit(`@${isLast} bra ${tail}`);
    }
    renderTile(near, frame.outputs, full, { start, tid, vector, unroll, threads, bits });
    full.block.emit('ret');
  }
  const rest = root.nest();
  if (partial) {
    rest.block.label(tail);
    const e = rest.block.def(kind, `add.${s}`, start, tid);
    const loop = entry.label('element');
    const done = entry.label('done');
    rest.block.label(loop);
    const beyond = rest.block.def('p', `setp.ge.${s}`, e, total);
    rest.block.emit(`@${beyond} bra ${done}`);
    const one = rest.nest();
    const element = one.extend({ axes: unravel(one.block, e, kernel.space, 0, bits) });
    const values = kernel.outputs.map((o) => element.values(o.value));
    storeAll(near, frame.outputs, element, values, 1, e, bits);
    rest.block.append(one.block);
    rest.block.set(e, `add.${s}`, e, threads);
    rest.block.emit(`bra ${loop}`);
    rest.block.label(done);
    rest.block.emit('ret');
  }
  body.append(full.block);
  body.append(rest.block);

  const waits = exprs.filter((e) => e.kind === 'load').length >= manyLoads;
  return {
    text: entry.render(threads, waits ? blocksOf[count]! : 0),
    entry: entry.name,
    grid: [tiles, 1, 1],
    block: threads,
    scratchBytes: 0,
    sharedBytes: 0,
    vector,
  };
}

/** Work that adds, turns and combines words over and over, as random numbers are made. */
const mixesWords = (exprs: readonly Expr[]): boolean =>
  exprs.filter((e) => e.kind === 'alu' && e.op === 'xor' && e.type === 'u32').length >= manyMixes;
const manyMixes = 16;

interface TilePlace {
  readonly start: string;
  readonly tid: string;
  readonly vector: number;
  readonly unroll: number;
  readonly threads: number;
  readonly bits: IndexBits;
}

function renderTile(near: Together, outputs: readonly string[], scope: PtxScope, place: TilePlace): void {
  const { kernel } = near;
  const { vector, unroll, threads, bits, tid, start } = place;
  const s = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  const { block } = scope;
  const lastAxis = kernel.space.reduce((last, d, i) => (d === 1 ? last : i), -1);
  const first = block.def(kind, `mad.lo.${s}`, tid, vector, start);
  const whole = vectorsFirst(kernel, lastAxis, vector);
  const copies: { scope: PtxScope; values: Values[]; at: string }[] = [];
  for (let u = 0; u < unroll; u++) {
    const at = u === 0 ? first : block.def(kind, `add.${s}`, first, u * threads * vector);
    const copy = scope.extend({
      axes: unravel(block, at, kernel.space, 0, bits),
      width: vector,
      laneAxis: vector > 1 ? lastAxis : -1,
    });
    for (const load of whole) copy.values(load);
    copies.push({ scope: copy, values: kernel.outputs.map((o) => [...copy.values(o.value)]), at });
  }
  for (const c of copies) storeAll(near, outputs, c.scope, c.values, vector, c.at, bits);
}

/** Whole vectors of inputs that are read a place further too: read first of all, they have most of what lies there. */
function vectorsFirst(kernel: Kernel, laneAxis: number, width: number): Load[] {
  const loads = reachable(rootsOf(kernel)).filter((e): e is Load => e.kind === 'load');
  const isWhole = (e: Load): boolean => isWholeVector(e, laneAxis, width);
  const further = new Set(loads.filter((e) => dependencies(e).has(laneAxis) && !isWhole(e)).map((e) => e.slot));
  return loads.filter((e) => further.has(e.slot) && isWhole(e));
}

export function storeAll(
  near: Together,
  outputs: readonly string[],
  scope: PtxScope,
  values: readonly Values[],
  width: number,
  element: string,
  bits: IndexBits,
): void {
  const first = firstOf(scope.block, near, element, bits);
  near.kernel.outputs.forEach((o, k) => {
    const size = dtypeInfo[o.type].bytes;
    const pointer = outputs[k % outputs.length]!;
    const neighbour = Math.floor(k / outputs.length);
    const address =
      bits === 32
        ? scope.block.def('d', 'mad.wide.s32', first, size, pointer)
        : scope.block.def('d', 'mad.lo.s64', first, size, pointer);
    emitStore(scope, o.type, values[k]!, width, address, neighbour * near.stride * size);
  });
}
