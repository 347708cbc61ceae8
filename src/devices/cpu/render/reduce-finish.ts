// The end of a reduction that was cut into slices: neighbouring outputs together, as vectors.

import { Code } from '../wasm/code.ts';
import { finished, identityBytes, mergeInto, type Registers, type StateForm } from './accumulator.ts';
import { Emitter } from './emitter.ts';
import { partsFor, splatBytes, storedWidth } from './lanes.ts';
import { positionOf } from './map.ts';
import { argsLayout } from './module.ts';
import { countedLoop, vectorLoop } from './nest.ts';
import { bodiesFor, bodiesNeeded, survey } from './plan.ts';
import type { Reduction } from './reduce-frame.ts';
import { sliceAxis } from './reduce-plan.ts';
import { epilogueDepth, WasmScope } from './scope.ts';
import { combinedWidth, placesOf, StateAddress, type StatePlaces } from './states.ts';
import { emitStores } from './store.ts';

/** finish(args): for each output, the states of all slices in order, then the epilogue. */
export function renderFinish(reduction: Reduction): void {
  const { kernel, exprs, module, options, forms } = reduction;
  const axes = kernel.space.map((size, axis) => ({ axis, size })).filter((a) => a.size > 1);
  const vector = axes.pop() ?? { axis: -1, size: 1 };
  const depths = new Map([...axes, vector].map((a, k) => [a.axis, k + 1]));
  depths.set(sliceAxis, axes.length + 2);
  const em = new Emitter({
    func: module.func(['i32'], [], 'finish'),
    exprs,
    layout: argsLayout(kernel),
    depths,
    vectorAxis: vector.axis,
    accVaries: true,
    relaxed: options.relaxed ?? false,
  });
  const scopes = [new WasmScope(0, null)];
  for (let k = 0; k < axes.length; k++) scopes.push(new WasmScope(k + 1, scopes[k]!));
  for (const a of [...axes, vector, { axis: sliceAxis }]) em.positions.set(a.axis, em.local('i32'));
  const values = kernel.outputs.map((o) => o.value);
  em.count(values);
  const [position, end] = [em.positions.get(vector.axis)!, em.local('i32')];
  let body = new Code();
  body.i32(0).set(position).i32(vector.size).set(end);
  const widths = [...forms.map(combinedWidth), ...kernel.outputs.map((o) => storedWidth(o.type))];
  for (const lanes of bodiesNeeded(bodiesFor(survey(values), widths), vector.size)) {
    const s = new WasmScope(axes.length + 1, scopes[scopes.length - 1]!, lanes);
    const inner = outputsOf(reduction, em, s);
    vectorLoop(position, end, lanes, new Code().append(s.code).append(inner), body);
  }
  for (let k = axes.length - 1; k >= 0; k--) {
    body = countedLoop({ position: em.positions.get(axes[k]!.axis)!, size: axes[k]!.size }, scopes[k + 1]!, body);
  }
  em.func.code.append(scopes[0]!.code).append(body);
}

/** The outputs of one body. */
function outputsOf({ kernel, exprs, plan, forms }: Reduction, em: Emitter, s: WasmScope): Code {
  const slice = new WasmScope(s.depth + 1, s);
  const { places } = placesOf(plan, forms);
  const out = new Code();
  const running = forms.map((form, k) => {
    const [acc, next] = [stateOf(em, form, s), stateOf(em, form, s)];
    for (const v of acc.values) out.v128(form.kind === 'blocked' ? splatBytes('f64', 0) : identityBytes(form)).set(v);
    for (const p of acc.positions) out.v128(splatBytes('u8', 0)).set(p);
    const { values, positions } = places[k] as StatePlaces;
    new StateAddress(em, kernel, plan, values, slice).restore(slice.code, next.values);
    if (form.kind === 'arg') new StateAddress(em, kernel, plan, positions, slice).restore(slice.code, next.positions);
    mergeInto(em, slice.code, form, acc, next);
    return acc;
  });
  out.append(countedLoop({ position: em.positions.get(sliceAxis)!, size: plan.slices }, slice, new Code()));
  const end = new WasmScope(epilogueDepth, s, s.lanes);
  em.accumulators = running.map((r, k) => finished(em, end.code, forms[k]!, r));
  const index = positionOf(kernel, exprs);
  emitStores(
    em,
    kernel.outputs.map((output, k) => ({ output, buffer: kernel.inputs.length + k, index })),
    end,
  );
  return out.append(end.code);
}

/** New registers for what slices left. */
function stateOf(em: Emitter, form: StateForm, { lanes }: WasmScope): Registers {
  const width = combinedWidth(form);
  const make = (): number[] => Array.from({ length: partsFor(lanes, width) }, () => em.local('v128'));
  const lane = form.kind === 'blocked' ? 'f64' : form.lane;
  return { lane, width, lanes, values: make(), positions: form.kind === 'arg' ? make() : [] };
}
