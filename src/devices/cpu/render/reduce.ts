// Kernels with a reduction.
//
//   rows       the vector runs along a reduced axis; lanes are folded at the end of each output (reduce-rows.ts)
//   columns    the vector runs along an output axis; each lane is an output of its own (reduce-columns.ts), block by block of
//              rows where these are long (reduce-streamed.ts)
//
// If there are few outputs and much to reduce, the longest reduced axis is cut into a fixed number of slices, a function of
// sizes only. Each slice leaves its state in the scratch and `finish` combines them in order.

import type { Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { Code } from '../wasm/code.ts';
import type { WasmModule } from '../wasm/module.ts';
import { formOf } from './accumulator.ts';
import type { LaneType } from './lanes.ts';
import type { Rendered } from './map.ts';
import type { RenderOptions } from './module.ts';
import { itemLoops } from './nest.ts';
import { bodiesNeeded, grainOf } from './plan.ts';
import { emitColumns } from './reduce-columns.ts';
import { renderFinish } from './reduce-finish.ts';
import { ReductionFrame } from './reduce-frame.ts';
import { planReduction, type ReductionPlan } from './reduce-plan.ts';
import { emitRows } from './reduce-rows.ts';
import { placesOf } from './states.ts';

/**
 * The sums that are taken in runs: long ones of f32, and along rows those of f64 whose results are f64. Down columns NumPy adds all rows one by
 * one, and what is rounded to f32 in the end has digits to spare.
 */
function blockedSums({ outputs }: Kernel, { form, slices, perLane, block }: ReductionPlan): ReadonlySet<LaneType> {
  if (slices === 1 && perLane <= block) return new Set();
  return new Set(form === 'rows' && outputs.some((o) => o.type === 'f64') ? ['f32', 'f64'] : ['f32']);
}

export function renderReduction(kernel: Kernel, exprs: Exprs, module: WasmModule, options: RenderOptions): Rendered {
  const plan = planReduction(kernel, options.streamedBytes);
  const blocked = blockedSums(kernel, plan);
  const forms = kernel.accumulators.map((a) => formOf(a, blocked));
  const reduction = { kernel, exprs, module, options, plan, forms };
  const frame = new ReductionFrame(reduction);
  const inner = new Code();
  if (plan.form === 'rows') emitRows(frame, inner);
  else emitColumns(frame, inner);
  frame.em.func.code.append(itemLoops(frame.em, frame.items, frame.scopes, inner));
  const split = plan.slices > 1;
  if (split) renderFinish(reduction);
  return {
    items: plan.items,
    grain: grainOf(plan.itemElements, plan.cost),
    parts: split ? plan.items : 0,
    scratchBytes: split || plan.streamed ? placesOf(plan, forms).bytes : 0,
    lanes: bodiesNeeded(plan.bodies, plan.vector.size)[0]!,
  };
}
