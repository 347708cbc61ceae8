// How a kernel is run: which axis is vectorised, in what order the others are looped over, how work is cut into items.

import { costlyArms, ownCost } from '../../../kernel/arms.ts';
import { axesOf, strideAlong } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { operands } from '../../../kernel/walk.ts';
import { hasMask, storedWidth, widthOf } from './lanes.ts';
import { type Overlap, overlapOf } from './overlap.ts';

/** Loop over an axis of the kernel. */
export interface AxisLoop {
  readonly axis: number;
  readonly size: number;
}

/** What the expressions of a kernel need, gathered once. */
export interface Survey {
  readonly loads: readonly Extract<Expr, { kind: 'load' }>[];
  /** Estimated work of one element, in units of one addition, without what is rarely done. */
  readonly cost: number;
  readonly widest: number;
  readonly narrowest: number;
  readonly overlap: Overlap;
}

export function survey(roots: readonly Expr[]): Survey {
  const seen = new Set<Expr>();
  const loads: Extract<Expr, { kind: 'load' }>[] = [];
  let cost = 0;
  let widest = 8;
  let narrowest = 64;
  const inLanes = new Set<Expr>();
  /** `lanes`: the value is held in lanes, not only used to find an address. */
  const visit = (e: Expr, lanes: boolean): void => {
    const known = seen.has(e);
    if (known && (!lanes || inLanes.has(e))) return;
    seen.add(e);
    if (lanes) {
      inLanes.add(e);
      if (e.kind !== 'const' && e.type !== 'bool' && axesOf(e).size > 0) widest = Math.max(widest, widthOf(e.type));
    }
    if (!known) {
      cost += ownCost(e);
      if (e.kind === 'load') {
        loads.push(e);
        narrowest = Math.min(narrowest, storedWidth(e.type));
      }
    }
    for (const s of operands(e)) visit(s, lanes && !(e.kind === 'load' && s === e.index && isAddress(s)));
  };
  for (const root of roots) visit(root, true);
  // What stands behind two branches is taken off once.
  const arms = costlyArms(roots, hasMask);
  for (const e of new Set([...arms.values()].flatMap((a) => a.own))) cost -= ownCost(e);
  return { loads, cost, widest, narrowest, overlap: overlapOf(roots, arms) };
}

/** Whether an index moves evenly along every axis: neighbours are found by one address. */
const isAddress = (index: Expr): boolean => [...axesOf(index)].every((axis) => strideAlong(index, axis) !== null);

/** Steps for each load from which on a kernel is a function of what it reads, more than a way to read it. */
const functionSteps = 24;

/** Whether two parts of a body keep a processor as busy as four, which registers do not hold. */
const overlapsItself = ({ loads, overlap: { steps, longest } }: Survey): boolean =>
  steps > 2 * longest && steps >= functionSteps * Math.max(1, loads.length);

/** Element counts of the bodies of a vector loop, largest first, ending in 1. */
export function bodiesFor(s: Survey, widths: readonly number[]): number[] {
  const widest = Math.max(s.widest, ...widths);
  if (widest === 8) return [64, 16, 1];
  const one = 128 / widest;
  // The engine interleaves the parts of a body, which hides the latency of long chains of operations; a processor looks too short a way
  // ahead to do that by itself. More parts than registers can hold do not pay.
  const unroll = s.cost > 300 ? 1 : s.cost > 200 || overlapsItself(s) ? 2 : 4;
  return unroll === 1 ? [one, 1] : [one * unroll, one, 1];
}

/** The bodies that a range of `count` elements needs. */
export function bodiesNeeded(bodies: readonly number[], count: number | null): number[] {
  if (count === null) return [...bodies];
  let rest = count;
  return bodies.filter((lanes) => {
    const needed = rest >= lanes;
    rest %= lanes;
    return needed;
  });
}

/** The axis along which outputs are vectorised: the last, unless it is so short that another one makes longer loops. */
export function outputAxis(kernel: Kernel): AxisLoop {
  const axes = kernel.space.map((size, axis) => ({ axis, size })).filter((a) => a.size > 1);
  const last = axes[axes.length - 1];
  if (!last) return { axis: -1, size: 1 };
  if (last.size >= 16) return last;
  const longest = axes.reduce((a, b) => (b.size > a.size ? b : a));
  return longest.size >= 4 * last.size ? longest : last;
}

/** Elements of the vector axis that one item takes, and how many items that makes. */
export interface Chunks {
  readonly size: number;
  readonly count: number;
}

const itemWork = 16384;

/** Cuts the vector axis where a row alone would be too much for one item. */
export function chunksOf(length: number, cost: number, lanes: number): Chunks {
  const wanted = Math.max(lanes, Math.ceil(itemWork / (4 + cost) / lanes) * lanes * 4);
  if (length <= wanted * 2) return { size: length, count: 1 };
  return { size: wanted, count: Math.ceil(length / wanted) };
}

/**
 * The axis that should follow the vector axis in a tile: one along which a load reads neighbours that it does not read along
 * the vector axis, as in a transpose. Visiting a small tile row by row then uses each cache line whole while it is there.
 */
export function tileAxis(s: Survey, vector: number, axes: readonly AxisLoop[]): AxisLoop | undefined {
  for (const load of s.loads) {
    const stride = strideAlong(load.index, vector);
    if (stride === null || Math.abs(stride) <= 1) continue;
    const other = axes.find((a) => a.size > 1 && Math.abs(strideAlong(load.index, a.axis) ?? 0) === 1);
    if (other) return other;
  }
  return undefined;
}

/** Elements of the vector axis in a tile: as many cache lines as the nearest cache holds of one set, whatever the stride. */
export const tileLength = 16;

/** Items that make about 30 µs of work, at roughly 3 additions of one element per ns. */
export function grainOf(elementsPerItem: number, cost: number): number {
  const nanoseconds = (elementsPerItem * (4 + cost)) / 6;
  return Math.max(1, Math.round(30000 / nanoseconds));
}
