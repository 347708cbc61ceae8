// Which positions the threads of a block take: those of a small box of the grid instead of a stretch of it.
//
// A stencil reads around every position. The positions of a box have most of that in common, and find it in the block's cache; those of a
// stretch along the last axes have their neighbours on the other axes in other blocks, and read them from memory again. Two rows of 32
// cells read 6 times what they write, a box of 4 × 4 × 8 cells 2.8 times.

import { sizeOf } from '../../../base/shape.ts';
import type { Expr } from '../../../kernel/expr.ts';
import { countAlong, type Together } from '../../../kernel/together.ts';
import { operands } from '../../../kernel/walk.ts';
import type { Block } from './code.ts';
import { rootsOf, unravel } from './shape.ts';
import { type IndexBits, kindOf } from './types.ts';
import { reachable } from './values.ts';

export interface TileWish {
  /** Threads that have positions of their own. */
  readonly threads: number;
  /** Elements of a thread along the last axis with more than one position. */
  readonly vector: number;
  /** Threads along that axis at least: shorter rows would leave cache lines half used. */
  readonly lanes: number;
}

/** Threads of a block along each axis. */
export type Tile = readonly number[];

/** Of the device's cache, for the planes that a layer of boxes reads (measured: 128³×64 is faster without thick layers). */
const mostBytes = 2 ** 24;
const elementBytes = 4;
/** A box must read so much less than a stretch. */
const worthwhile = 0.8;

/** The box that reads least beyond itself; null where a stretch does as well, or the axes cannot be cut evenly. */
export function tileOf(near: Together, { threads, vector, lanes }: TileWish): Tile | null {
  const { kernel, count } = near;
  const last = lastOf(kernel.space);
  const sizes = kernel.space.map((n, axis) => (axis === last ? n / vector : n));
  const shifted = shiftedAxes(near);
  if (count === 1 || last < 0 || sizes.some((n) => !Number.isInteger(n))) return null;
  /** What a box reads for each value that it writes. */
  const reads = (tile: Tile): number =>
    tile.reduce((product, t, axis) => {
      if (!shifted.has(axis) || t === sizes[axis]) return product;
      const cells = t * countAlong(near, axis) * (axis === last ? vector : 1);
      return (product * (cells + 2)) / cells;
    }, 1);
  // Boxes are gone through row by row: what two layers of them share must stay in the device's cache from one to the next.
  const outermost = Math.min(...shifted);
  const planeBytes = sizeOf(near.sizes.slice(outermost + 1)) * elementBytes;
  const thick = (tile: Tile): boolean =>
    tile[outermost]! > 1 && (tile[outermost]! * countAlong(near, outermost) + 2) * planeBytes > mostBytes;
  let best: Tile | null = null;
  let least = worthwhile * reads(stretch(sizes, threads));
  for (const tile of boxes(sizes, threads)) {
    if (tile[last]! < Math.min(lanes, sizes[last]!) || (shifted.size > 0 && thick(tile))) continue;
    const cost = reads(tile);
    if (cost < least) [best, least] = [tile, cost];
  }
  return best;
}

const lastOf = (space: readonly number[]): number => space.reduce((at, d, i) => (d === 1 ? at : i), -1);

/** Axes along which something is read at another position: conditions and lookups on their way to an index. */
function shiftedAxes({ kernel }: Together): ReadonlySet<number> {
  const found = new Set<number>();
  const seen = { plainly: new Set<Expr>(), shifted: new Set<Expr>() };
  const visit = (e: Expr, shifts: boolean): void => {
    const known = shifts ? seen.shifted : seen.plainly;
    if (known.has(e)) return;
    known.add(e);
    if (e.kind === 'axis' && shifts) found.add(e.axis);
    const inside = shifts || e.kind === 'load' || (e.kind === 'alu' && (e.op === 'lt' || e.op === 'le'));
    for (const s of operands(e)) visit(s, inside);
  };
  for (const e of reachable(rootsOf(kernel))) if (e.kind === 'load') visit(e.index, false);
  return found;
}

/** What threads in a row cover. */
function stretch(sizes: readonly number[], threads: number): Tile {
  let left = threads;
  return [...sizes]
    .reverse()
    .map((n) => {
      const t = Math.max(1, Math.min(n, left));
      left = Math.floor(left / t);
      return t;
    })
    .reverse();
}

/** All ways to cut boxes of so many threads, by powers of two that divide the axes; short rows of the last axes come late. */
function boxes(sizes: readonly number[], threads: number): Tile[] {
  if (sizes.length === 0) return threads === 1 ? [[]] : [];
  const made: Tile[] = [];
  const [size, ...rest] = sizes as [number, ...number[]];
  for (let t = 1; t <= threads && size % t === 0; t *= 2)
    for (const tail of boxes(rest, threads / t)) made.push([t, ...tail]);
  return made;
}

export interface TilePlace {
  /** First element of the thread along each axis. */
  readonly axes: Map<number, string>;
  /** Its number in the kernel's space. */
  readonly element: string;
  readonly blocks: number;
}

/** Where a thread of a block lies: `thread` counts those that have positions, `cta` the blocks. */
export function placeIn(
  block: Block,
  tile: Tile,
  space: readonly number[],
  vector: number,
  { cta, thread, bits }: { readonly cta: string; readonly thread: string; readonly bits: IndexBits },
): TilePlace {
  const s = bits === 32 ? 's32' : 's64';
  const kind = kindOf('index', bits);
  const last = lastOf(space);
  const steps = tile.map((t, axis) => (axis === last ? t * vector : t));
  const counts = space.map((n, axis) => n / steps[axis]!);
  const outer = unravel(block, cta, counts, 0, bits);
  const inner = unravel(block, thread, tile, 0, bits);
  const axes = new Map<number, string>();
  let element: string | null = null;
  space.forEach((size, axis) => {
    if (size === 1) {
      axes.set(axis, '0');
      return;
    }
    const own =
      axis === last && vector > 1 ? block.def(kind, `mul.lo.${s}`, inner.get(axis)!, vector) : inner.get(axis)!;
    const at = block.def(kind, `mad.lo.${s}`, outer.get(axis)!, steps[axis]!, own);
    axes.set(axis, at);
    element = element === null ? at : block.def(kind, `mad.lo.${s}`, element, size, at);
  });
  return { axes, element: element ?? '0', blocks: counts.reduce((n, c) => n * c, 1) };
}
