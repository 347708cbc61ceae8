// Which kernels compute neighbouring positions together: stencils, where that saves a good part of the loads.
//
// A thread then has several positions along one axis. Reading from the cache and working out addresses takes most of a stencil's time:
// 27 values around a cell are 13.5 loads a cell for four cells in a row.

import { sizeOf } from '../../../base/shape.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { fewestLoads, type Together } from '../../../kernel/together.ts';
import { planReduction } from './plan.ts';
import type { Target } from './target.ts';

/** The kernel as threads compute it; null where every thread has one position of its own. */
export function neighboursOf(kernel: Kernel, target: Target): Together | null {
  const reduces = kernel.accumulators.length > 0;
  const rows = reduces && planReduction(kernel, target).form === 'row';
  // Neighbours along the last axis are lanes already, but where lanes are positions of a row that is reduced.
  const lanes = rows ? -1 : kernel.space.reduce((at, d, i) => (d === 1 ? at : i), -1);
  // Threads of a reduction share a row; those of elementwise work take four elements.
  const threads = reduces ? sizeOf(kernel.space) : sizeOf(kernel.space) / 4;
  const enough = target.processors * (reduces ? 32 : 512);
  return fewestLoads(kernel, (axis, count) => axis !== lanes && threads / count >= enough);
}
