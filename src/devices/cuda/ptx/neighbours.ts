// Which kernels compute neighbouring positions together: stencils, where that saves a good part of the loads.
//
// A thread then has several positions, along one axis or along two. Reading from the cache and working out addresses takes most of a
// stencil's time: 27 values around a cell are 13.5 loads a cell for four cells in a row, and 9 for two such rows.

import { sizeOf } from '../../../base/shape.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { alone, fewestLoads, type Together } from '../../../kernel/together.ts';
import { planReduction } from './plan.ts';
import type { Target } from './target.ts';

/** Threads of a multiprocessor, at least: of a reduction, of elementwise work, and of that along a second axis. */
const [leastReducing, leastThreads, leastOfTwo] = [32, 512, 480];

/** Longer code than this is not computed for two rows at once: its values would not stay in registers. */
const mostOfTwo = 500;

/** The kernel as threads compute it; null where every thread has one position of its own. */
export function neighboursOf(kernel: Kernel, target: Target): Together | null {
  const reduces = kernel.accumulators.length > 0;
  const rows = reduces && planReduction(kernel, target).form === 'row';
  // Neighbours along the last axis are lanes already, but where lanes are positions of a row that is reduced.
  const lanes = rows ? -1 : kernel.space.reduce((at, d, i) => (d === 1 ? at : i), -1);
  // Threads of a reduction share a row; those of elementwise work take four elements.
  const threads = (reduces ? sizeOf(kernel.space) : sizeOf(kernel.space) / 4) / target.processors;
  const enough = reduces ? leastReducing : leastThreads;
  const first = fewestLoads(alone(kernel), (axis, count) => axis !== lanes && threads / count >= enough);
  // Accumulators of more neighbours would not stay in registers.
  if (!first || reduces) return first;
  const second = (axis: number, count: number): boolean =>
    axis !== lanes && first.count * count <= 8 && threads / (first.count * count) >= leastOfTwo;
  return fewestLoads(first, second, undefined, mostOfTwo) ?? first;
}
