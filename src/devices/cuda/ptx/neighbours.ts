// Which kernels compute neighbouring positions together: stencils, where that saves a good part of the loads, and rows of many accumulators.
//
// A thread then has several positions, along one axis or more. Reading from the cache and working out addresses takes most of a
// stencil's time: 27 values around a cell are 13.5 loads a cell for four cells in a row, 9 for two such rows, 6 for two rows in each of
// two planes, and 4.5 in four. Rows are summed by several threads each; the more rows these have in common, the fewer sums they exchange for each.

import { sizeOf } from '../../../base/shape.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { alone, fewestLoads, outerFirst, type Together, together } from '../../../kernel/together.ts';
import { leastOfRows, manyAccumulators, mostElements, mostOfRows, planReduction } from './plan.ts';
import type { Target } from './target.ts';

/** Threads of a multiprocessor, at least: of a reduction, of elementwise work, and of that along further axes. */
const [leastReducing, leastThreads, leastOfMore] = [32, 512, 480];

/** Longer code than this is not computed for more rows at once: its values would not stay in registers. */
const mostOfMore = 2400;

/** Arrays up to this size stay in the cache: reading little of it is worth more than reading in wide vectors. */
const cacheBytes = 2 ** 24;
const elementBytes = 4;

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
  const all = sizeOf(kernel.space);
  const elements = all / target.processors;
  const first = fewestLoads(
    alone(kernel),
    (axis, count) => axis !== lanes && count <= 4 && elements / 4 / count >= leastThreads,
  );
  if (!first) return null;
  /** The more neighbours, the shorter the vectors of each; the threads stay as many. */
  const allowed =
    (near: Together, most: number) =>
    (axis: number, count: number): boolean => {
      const joined = near.count * count;
      const each = Math.min(4, mostElements / joined);
      return axis !== lanes && count <= 4 && joined <= most && elements / each / joined >= leastOfMore;
    };
  const second = fewestLoads(first, allowed(first, 8), undefined, mostOfMore);
  const most = all * elementBytes <= cacheBytes ? 32 : 16;
  const third = second && fewestLoads(second, allowed(second, most));
  return outerFirst(third ?? second ?? first);
}

function reducing(kernel: Kernel, target: Target): Together | null {
  const { form } = planReduction(kernel, target);
  const rows = sizeOf(kernel.space) / target.processors;
  if (form === 'row') {
    const several = partOfRows(kernel, rows);
    if (several) return several;
  }
  // Neighbours along the last axis are lanes already, but where lanes are positions of a row that is reduced.
  const lanes = form === 'row' ? -1 : kernel.space.reduce((at, d, i) => (d === 1 ? at : i), -1);
  return fewestLoads(alone(kernel), (axis, count) => axis !== lanes && count <= 4 && rows / count >= leastReducing);
}

/** Neighbours of which a thread has a single vector each: then their accumulators need no registers between one part and the next. */
function partOfRows(kernel: Kernel, rows: number): Together | null {
  const columns = sizeOf(kernel.reduced);
  for (const [vector, most, least] of [
    [4, mostOfRows / 4, leastOfRows],
    [2, mostElements / 2, leastOfMore],
    [4, mostElements / 4, leastOfMore],
  ] as const) {
    const threads = columns / vector;
    if (threads < 4 || threads > 32 || !Number.isInteger(Math.log2(threads))) continue;
    if ((rows * threads) / most < least) continue;
    // Along two axes: the first leaves room for the second.
    const first = fewestLoads(alone(kernel), (_, count) => 2 * count <= most, undefined, mostOfMore);
    const second = first && fewestLoads(first, (_, count) => first.count * count <= most, undefined, mostOfMore);
    if (second?.count === most) return outerFirst(second);
    if (!first && vector === 4 && vector * most <= mostElements) return severalRows(kernel, rows * threads);
  }
  return null;
}

function severalRows(kernel: Kernel, threads: number): Together | null {
  const { accumulators, space } = kernel;
  const axis = space.findLastIndex((d) => d !== 1);
  const many = accumulators.length >= manyAccumulators && accumulators.length * rowsTogether <= mostStates;
  const fits = axis >= 0 && space[axis]! % rowsTogether === 0 && threads / rowsTogether >= leastOfMore;
  return many && fits ? together(alone(kernel), axis, rowsTogether) : null;
}
