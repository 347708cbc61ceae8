// The vector runs along an output axis; each lane is an output of its own.

import type { Expr } from '../../../kernel/expr.ts';
import { Code } from '../wasm/code.ts';
import { State } from './accumulator.ts';
import { chunkRange } from './map.ts';
import { emitCase, vectorLoop } from './nest.ts';
import { bodiesNeeded } from './plan.ts';
import type { ReductionFrame } from './reduce-frame.ts';
import { emitStreamed } from './reduce-streamed.ts';
import { WasmScope } from './scope.ts';
import { casesOf, loopsOf } from './segments.ts';

export function emitColumns(frame: ReductionFrame, inner: Code): void {
  const { plan, em } = frame;
  const accs = frame.kernel.accumulators.length;
  const row = frame.item;
  const v = plan.vector;
  const roots = [...frame.values(), ...frame.kernel.outputs.map((o) => o.value)];
  const cases = casesOf(roots, {
    exprs: frame.exprs,
    axis: v.axis,
    size: v.size,
    // A split happens outside the reduction, so it cannot use what changes within.
    uniform: (e) => !em.info(e).varying && em.info(e).depth < frame.vectorDepth,
    pin: (load) => em.pin(load),
  });
  for (const loop of loopsOf(cases)) em.count(loop.roots);
  const whole = cases.kind === 'loop' ? v.size : null;
  const position = em.positions.get(v.axis)!;
  const range = chunkRange(em, v.size, plan.chunks, inner);
  emitCase(em, cases, range, v.size, row, inner, (loop, { lo, hi }, out) => {
    const [values, outputs] = [loop.roots.slice(0, accs), loop.roots.slice(accs)];
    const bodies = bodiesNeeded(plan.bodies, whole);
    if (plan.streamed) {
      emitStreamed(frame, values, outputs, { lo, hi }, bodies, out);
      return;
    }
    out.get(lo).set(position);
    for (const lanes of bodies) {
      const s = new WasmScope(frame.vectorDepth, row, lanes);
      const body = column(frame, values, outputs, s);
      vectorLoop(position, hi, lanes, body, out);
    }
  });
}

/** The whole reduction for the lanes of one body. */
function column(frame: ReductionFrame, values: readonly Expr[], outputs: readonly Expr[], s: WasmScope): Code {
  const { plan, em, forms } = frame;
  const states = forms.map((form) => new State(em, form, s.lanes, false));
  const scopes: WasmScope[] = [s];
  for (const _ of plan.reduced) scopes.push(new WasmScope(s.depth + scopes.length, scopes[scopes.length - 1]!));
  const flush = (c: Code): void => {
    for (const state of states) state.flush(c);
  };
  const blocked = forms.some((f) => f.kind === 'blocked');
  let body = new Code();
  if (plan.reduced.length === 0) {
    const only = new WasmScope(s.depth + 1, s);
    states.forEach((state, slot) => {
      state.step(values[slot]!, frame.position, only);
    });
    body.append(only.code);
  }
  const last = plan.reduced.length - 1;
  for (let k = last; k >= 0; k--) {
    const loop = plan.reduced[k]!;
    if (k === last) {
      const { lo, hi } = frame.range(loop.axis, loop.size, body);
      const position = em.positions.get(loop.axis)!;
      body.get(lo).set(position);
      const scope = (rare: Set<Expr> | null): WasmScope => new WasmScope(s.depth + k + 1, scopes[k]!, s.lanes, rare);
      const steps = frame.steps(position, 1, scope, values, states);
      if (blocked && loop.size > plan.block) frame.inBlocks(position, hi, 1, steps, body, flush);
      else steps(hi, body);
      continue;
    }
    if (k === last - 1 && blocked) {
      frame.flushEvery(Math.max(1, Math.floor(plan.block / plan.reduced[k + 1]!.size)), flush, body);
    }
    body = frame.reducedLoop(loop, scopes[k + 1]!, body);
  }
  const whole = new Code();
  for (const state of states) state.init(whole);
  whole.append(body);
  for (const state of states) state.settle(whole);
  frame.conclude(
    states.map((state) => state.registers()),
    outputs,
    s,
    whole,
  );
  return new Code().append(s.code).append(whole);
}
