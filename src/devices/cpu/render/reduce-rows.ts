// The vector runs along a reduced axis; lanes are folded at the end of each output.

import type { Expr } from '../../../kernel/expr.ts';
import { Code } from '../wasm/code.ts';
import { fold, mergeInto, pairExtremes, type Registers, State, type StateForm } from './accumulator.ts';
import { emitCase } from './nest.ts';
import { bodiesNeeded } from './plan.ts';
import type { ReductionFrame } from './reduce-frame.ts';
import { WasmScope } from './scope.ts';
import { isSearched, searchRow } from './search.ts';
import { casesOf, loopsOf } from './segments.ts';

export function emitRows(frame: ReductionFrame, inner: Code): void {
  const { plan, em, forms } = frame;
  const outputs = frame.kernel.outputs.map((o) => o.value);
  const scopes: WasmScope[] = [frame.item];
  for (const _ of plan.reduced)
    scopes.push(new WasmScope(scopes[0]!.depth + scopes.length, scopes[scopes.length - 1]!));
  const row = scopes[scopes.length - 1]!;
  const v = plan.vector;
  const cases = casesOf(frame.values(), {
    exprs: frame.exprs,
    axis: v.axis,
    size: v.size,
    uniform: (e) => !em.info(e).varying,
    pin: (load) => em.pin(load),
  });
  const loops = loopsOf(cases);
  for (const loop of loops) em.count(loop.roots);
  em.count(outputs);
  const whole = cases.kind === 'loop' && (plan.slices === 1 || plan.sliced !== v.axis) ? v.size : null;
  const bodies = bodiesNeeded(plan.bodies, whole);
  const [form] = forms as [StateForm];
  if (cases.kind === 'loop' && forms.length === 1 && isSearched(form, plan)) {
    const found = searchRow(
      em,
      {
        form,
        value: cases.roots[0]!,
        position: em.positions.get(v.axis)!,
        range: frame.range(v.axis, v.size, inner),
        bodies,
        scope: (lanes) => new WasmScope(frame.vectorDepth, row, lanes),
      },
      inner,
    );
    frame.conclude([found], outputs, scopes[0]!, inner);
    return;
  }
  const states = bodies.map((lanes) => forms.map((form) => new State(em, form, lanes, true)));
  for (const list of states) pairExtremes(list, frame.values());
  const flush = (out: Code): void => {
    for (const list of states) for (const state of list) state.flush(out);
  };
  const blocked = forms.some((f) => f.kind === 'blocked');
  const position = em.positions.get(v.axis)!;

  let body = new Code();
  const range = frame.range(v.axis, v.size, body);
  emitCase(em, cases, range, v.size, row, body, (loop, { lo, hi }, out) => {
    out.get(lo).set(position);
    bodies.forEach((lanes, k) => {
      const scope = (rare: Set<Expr> | null): WasmScope => new WasmScope(frame.vectorDepth, row, lanes, rare);
      const steps = frame.steps(position, lanes, scope, loop.roots, states[k]!, true);
      if (!blocked || k > 0 || v.size <= plan.block * lanes) {
        steps(hi, out);
        return;
      }
      frame.inBlocks(position, hi, lanes, steps, out, (c) => {
        for (const state of states[k]!) state.flush(c);
      });
    });
  });
  if (blocked && plan.reduced.length > 0) {
    const steps = Math.ceil(v.size / plan.bodies[0]!) + 8;
    frame.flushEvery(Math.max(1, Math.floor(plan.block / steps)), flush, body);
  }
  for (let k = plan.reduced.length - 1; k >= 0; k--) body = frame.reducedLoop(plan.reduced[k]!, scopes[k + 1]!, body);
  for (const list of states) for (const state of list) state.init(inner);
  inner.append(body);
  for (const list of states) for (const state of list) state.settle(inner);
  const results = forms.map((form, slot) => {
    const lists = states.map((list) => fold(em, inner, form, list[slot]!.registers()));
    const [first, ...others] = lists as [Registers, ...Registers[]];
    for (const other of others) mergeInto(em, inner, form, first, other);
    return first;
  });
  frame.conclude(results, outputs, scopes[0]!, inner);
}
