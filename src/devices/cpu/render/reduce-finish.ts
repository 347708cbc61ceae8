// The end of a reduction that was cut into slices.

import { Code } from '../wasm/code.ts';
import { finished } from './accumulator.ts';
import { Emitter } from './emitter.ts';
import { chunkAxis, positionOf } from './map.ts';
import { argsLayout } from './module.ts';
import { countedLoop } from './nest.ts';
import type { Reduction } from './reduce-frame.ts';
import { sliceAxis } from './reduce-plan.ts';
import { epilogueDepth, WasmScope } from './scope.ts';
import { loadStates } from './states.ts';
import { emitStores } from './store.ts';

/** finish(args): for each output, the states of all slices in order, then the epilogue. */
export function renderFinish({ kernel, exprs, module, options, plan, forms }: Reduction): void {
  const axes = kernel.space.map((size, axis) => ({ axis, size })).filter((a) => a.size > 1);
  const depths = new Map(axes.map((a, k) => [a.axis, k + 1]));
  depths.set(sliceAxis, axes.length + 1);
  const em = new Emitter({
    func: module.func(['i32'], [], 'finish'),
    exprs,
    layout: argsLayout(kernel),
    depths,
    vectorAxis: chunkAxis,
    accVaries: false,
    relaxed: options.relaxed ?? false,
  });
  const scopes = [new WasmScope(0, null)];
  for (let k = 0; k < axes.length; k++) scopes.push(new WasmScope(k + 1, scopes[k]!));
  for (const a of [...axes, { axis: sliceAxis }]) em.positions.set(a.axis, em.local('i32'));
  const outputs = kernel.outputs.map((o) => o.value);
  em.count(outputs);
  const row = scopes[scopes.length - 1]!;
  const slice = new WasmScope(row.depth + 1, row);
  const { running, init } = loadStates(em, kernel, forms, plan, slice);
  const inner = new Code();
  init(inner);
  inner.append(countedLoop({ position: em.positions.get(sliceAxis)!, size: plan.slices }, slice, new Code()));
  const s = new WasmScope(epilogueDepth, row, 1);
  em.accumulators = running.map((r, k) => finished(em, s.code, forms[k]!, r));
  const index = positionOf(kernel, exprs);
  emitStores(
    em,
    kernel.outputs.map((output, k) => ({ output, buffer: kernel.inputs.length + k, index })),
    s,
  );
  inner.append(s.code);
  let body = inner;
  for (let k = axes.length - 1; k >= 0; k--) {
    body = countedLoop({ position: em.positions.get(axes[k]!.axis)!, size: axes[k]!.size }, scopes[k + 1]!, body);
  }
  em.func.code.append(scopes[0]!.code).append(body);
}
