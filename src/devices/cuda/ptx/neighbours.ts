// Which kernels compute neighbouring positions together: stencils, where that saves a good part of the loads, and rows of many accumulators.
//
// A thread then has several positions, along one axis or more. Reading from the cache and working out addresses takes most of a
// stencil's time: 27 values around a cell are 13.5 loads a cell for four cells in a row, 9 for two such rows, and 6 for two rows in each of
// two planes. Rows are summed by several threads each; the more rows these have in common, the fewer sums they exchange for each.

import { sizeOf } from '../../../base/shape.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { alone, fewestLoads, type Together, together } from '../../../kernel/together.ts';
import { manyAccumulators, planReduction } from './plan.ts';
import type { Target } from './target.ts';

/** Threads of a multiprocessor, at least: of a reduction, of elementwise work, and of that along further axes. */
const [leastReducing, leastThreads, leastOfMore] = [32, 512, 480];

/** Longer code than this is not computed for several rows at once: its values would not stay in registers. */
const mostOfTwo = 500;
const mostOfThree = 1000;

/** Rows whose accumulators one thread has, and registers for all of them. */
const rowsTogether = 4;
const mostStates = 32;

/** The kernel as threads compute it; null where every thread has one position of its own. */
export function neighboursOf(kernel: Kernel, target: Target): Together | null {
  return kernel.accumulators.length > 0 ? reducing(kernel, target) : elementwise(kernel, target);
}

function elementwise(kernel: Kernel, target: Target): Together | null {
  // Neighbours along the last axis are lanes already.
  const lanes = kernel.space.reduce((at, d, i) => (d === 1 ? at : i), -1);
  const elements = sizeOf(kernel.space) / target.processors;
  /** Four elements along the last axis, or two of so many neighbours that four would not stay in registers. */
  const first = fewestLoads(alone(kernel), (axis, count) => axis !== lanes && elements / 4 / count >= leastThreads);
  if (!first) return null;
  const allowed =
    (near: Together, most: number, vector: number) =>
    (axis: number, count: number): boolean =>
      axis !== lanes && near.count * count <= most && elements / vector / (near.count * count) >= leastOfMore;
  const second = fewestLoads(first, allowed(first, 8, 4), undefined, mostOfTwo);
  const third = second && fewestLoads(second, allowed(second, 16, 2), undefined, mostOfThree);
  return inTurn(third ?? second ?? first);
}

function reducing(kernel: Kernel, target: Target): Together | null {
  const { form } = planReduction(kernel, target);
  const rows = sizeOf(kernel.space) / target.processors;
  // Neighbours along the last axis are lanes already, but where lanes are positions of a row that is reduced.
  const lanes = form === 'row' ? -1 : kernel.space.reduce((at, d, i) => (d === 1 ? at : i), -1);
  const first = fewestLoads(alone(kernel), (axis, count) => axis !== lanes && rows / count >= leastReducing);
  const threads = form === 'row' ? threadsOfRow(kernel) : 0;
  if (!first) return threads > 0 ? severalRows(kernel, rows * threads) : null;
  // Accumulators of more neighbours stay in registers only where a thread has a single part of its row.
  const second = (_: number, count: number): boolean =>
    first.count * count <= 8 && (rows * threads) / (first.count * count) >= leastOfMore;
  return inTurn(fewestLoads(first, second, undefined, mostOfThree) ?? first);
}

/** Threads of a row that has a vector for each; 0 where it has more. */
function threadsOfRow({ reduced }: Kernel): number {
  const threads = sizeOf(reduced) / 4;
  return threads >= 4 && threads <= 32 && Number.isInteger(Math.log2(threads)) ? threads : 0;
}

function severalRows(kernel: Kernel, threads: number): Together | null {
  const { accumulators, space } = kernel;
  const axis = space.findLastIndex((d) => d !== 1);
  const many = accumulators.length >= manyAccumulators && accumulators.length * rowsTogether <= mostStates;
  const fits = axis >= 0 && space[axis]! % rowsTogether === 0 && threads / rowsTogether >= leastOfMore;
  return many && fits ? together(alone(kernel), axis, rowsTogether) : null;
}

/** The same neighbours, those along outer axes first: what the next ones along inner axes share is still in registers then. */
function inTurn({ origin, steps }: Together): Together {
  const ordered = [...steps].sort((a, b) => a.axis - b.axis);
  return ordered.reduce((near, { axis, count }) => together(near, axis, count), alone(origin));
}
