// Columns of a matrix with long rows, some rows at a time.
//
// Going down a column touches a new page at every step, and nothing is fetched ahead. So a few rows are walked together, all the way
// along: that reads as many streams of neighbours. In between the states of the columns wait in the scratch, which stays in the
// nearest cache. A sum of f32 waits as f32, and is moved into f64 as often as any other (`plan.block`).

import type { Expr } from '../../../kernel/expr.ts';
import { Code } from '../wasm/code.ts';
import { State } from './accumulator.ts';
import { type Range, vectorLoop } from './nest.ts';
import type { ReductionFrame } from './reduce-frame.ts';
import { WasmScope } from './scope.ts';
import { placesOf, StateAddress } from './states.ts';

/** Rows that are walked together: as many streams as are fetched ahead, and lines of one set as the nearest cache holds. */
const blockRows = 8;

/** Emits the columns of a range, for bodies of several lengths. */
export function emitStreamed(
  frame: ReductionFrame,
  values: readonly Expr[],
  outputs: readonly Expr[],
  { lo, hi }: Range,
  bodies: readonly number[],
  out: Code,
): void {
  const { plan, em, kernel, forms } = frame;
  const { axis, size } = plan.reduced[0]!;
  const rows = frame.range(axis, size, out);
  const [position, row] = [em.positions.get(plan.vector.axis)!, em.positions.get(axis)!];
  const [first, last] = [em.local('i32'), em.local('i32')];
  const { places } = placesOf(plan, forms);
  out.get(rows.lo).set(first);
  const top = out.loop();
  out.get(first).i32(blockRows).op('i32.add').get(rows.hi);
  out.get(rows.hi).get(first).op('i32.sub').i32(blockRows).op('i32.gt_u').op('select').set(last);
  out.get(lo).set(position);
  for (const lanes of bodies) {
    const s = new WasmScope(frame.vectorDepth, frame.item, lanes);
    const states = forms.map((form) => new State(em, form, lanes, false));
    const address = (place: (typeof places)[number]['values']): StateAddress =>
      new StateAddress(em, kernel, plan, place, s);
    const kept = states.map((state, k) => {
      const registers = state.kept();
      return places[k]!.kept.map((place, i) => ({ at: address(place), registers: registers[i]! }));
    });
    const save = (): void => {
      for (const { at, registers } of kept.flat()) at.save(body, registers);
    };
    const sums = states.flatMap((state, k) =>
      state.form.kind === 'blocked' ? [{ state, at: address(places[k]!.values) }] : [],
    );
    const moves = sums.length > 0 && plan.sliceLength > plan.block;
    const scope = (rare: Set<Expr> | null): WasmScope => new WasmScope(s.depth + 1, s, lanes, rare);
    const body = new Code();
    body.get(first).get(rows.lo).op('i32.eq').if();
    for (const state of states) state.init(body);
    body.else();
    for (const { at, registers } of kept.flat()) at.restore(body, registers);
    body.end();
    body.get(first).set(row);
    frame.steps(row, 1, scope, values, states)(last, body);
    body.get(last).get(rows.hi).op('i32.eq');
    const done = (): Code => body.get(last).get(rows.lo).op('i32.sub').i32(plan.block);
    if (moves) done().ops('i32.rem_u', 'i32.eqz', 'i32.or');
    body.if();
    if (moves) {
      done().op('i32.gt_u').if();
      for (const { state, at } of sums) at.restore(body, state.before);
      body.else();
    }
    for (const { state } of sums) state.clearBefore(body);
    if (moves) {
      body.end().get(last).get(rows.hi).op('i32.lt_u').if();
      for (const { state, at } of sums) {
        state.flush(body);
        at.save(body, state.before);
      }
      save();
      body.else();
    }
    for (const state of states) state.settle(body);
    frame.conclude(
      states.map((state) => state.registers()),
      outputs,
      s,
      body,
    );
    if (moves) body.end();
    body.else();
    save();
    body.end();
    vectorLoop(position, hi, lanes, new Code().append(s.code).append(body), out);
  }
  out.get(last).tee(first).get(rows.hi).op('i32.lt_u').brIf(top).end();
}
