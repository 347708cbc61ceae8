// Which kernels compute neighbouring positions together: stencils, where that saves a good part of the loads.
//
// A thread then has several positions along one axis. Reading from the cache and working out addresses takes most of a stencil's time:
// 27 values around a cell are 13.5 loads a cell for four cells in a row.

import { sizeOf } from '../../../base/shape.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type Together, together } from '../../../kernel/together.ts';
import { planReduction } from './plan.ts';
import { rootsOf } from './shape.ts';
import type { Target } from './target.ts';
import { reachable } from './values.ts';

/** Fewer loads than this are not worth it. */
const fewLoads = 9;
/** At most this part of the loads may be left. */
const mostLeft = 0.75;
/** Longer code does not stay in the instruction cache. */
const mostOperations = 1000;

/** The kernel as threads compute it; null where every thread has one position of its own. */
export function neighboursOf(kernel: Kernel, target: Target): Together | null {
  const loads = loadsOf(kernel);
  if (loads < fewLoads) return null;
  const reduces = kernel.accumulators.length > 0;
  const rows = reduces && planReduction(kernel, target).form === 'row';
  // Neighbours along the last axis are lanes already, but where lanes are positions of a row that is reduced.
  const last = kernel.space.reduce((at, d, i) => (d === 1 ? at : i), -1);
  // Threads of a reduction share a row; those of elementwise work take four elements.
  const threads = reduces ? sizeOf(kernel.space) : sizeOf(kernel.space) / 4;
  const enough = target.processors * (reduces ? 32 : 512);
  let best: { readonly made: Together; readonly left: number } | null = null;
  kernel.space.forEach((size, axis) => {
    if (!rows && axis === last) return;
    for (const count of [4, 2]) {
      if (size % count !== 0 || threads / count < enough) continue;
      const made = together(kernel, axis, count);
      const exprs = reachable(rootsOf(made.kernel));
      const left = exprs.filter((e) => e.kind === 'load').length / (count * loads);
      if (exprs.length > mostOperations || left > Math.min(mostLeft, best?.left ?? 1)) continue;
      best = { made, left };
    }
  });
  return (best as { readonly made: Together } | null)?.made ?? null;
}

const loadsOf = (kernel: Kernel): number => reachable(rootsOf(kernel)).filter((e) => e.kind === 'load').length;
