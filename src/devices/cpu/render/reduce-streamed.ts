// Columns of a matrix with long rows, some rows at a time.
//
// Going down a column touches a new page at every step, and nothing is fetched ahead. So a block of rows is walked together, all the
// way along: that reads as many streams of neighbours. Between blocks the states of the columns wait in the scratch.

import type { Expr } from '../../../kernel/expr.ts';
import { Code } from '../wasm/code.ts';
import { State, type StateForm } from './accumulator.ts';
import { laneStores, type Width } from './lanes.ts';
import { positionOf } from './map.ts';
import { type Range, vectorLoop } from './nest.ts';
import type { ReductionFrame } from './reduce-frame.ts';
import type { ReductionPlan } from './reduce-plan.ts';
import { WasmScope } from './scope.ts';

const blockRows = 16;

/** Bytes of a column's state in the scratch. */
const stateBytes = (f: StateForm): number => (f.kind === 'blocked' ? 8 : f.width / 8);

/** Where the states of each accumulator begin in the scratch, and where they end. */
function regions(plan: ReductionPlan, forms: readonly StateForm[]): number[] {
  const starts = [0];
  for (const f of forms) starts.push(starts[starts.length - 1]! + ((plan.outputs * stateBytes(f) + 63) & ~63));
  return starts;
}

export const streamedBytes = (plan: ReductionPlan, forms: readonly StateForm[]): number => regions(plan, forms).pop()!;

/** Emits the columns of a range, for bodies of several lengths. */
export function emitStreamed(
  frame: ReductionFrame,
  values: readonly Expr[],
  outputs: readonly Expr[],
  { lo, hi }: Range,
  bodies: readonly number[],
  out: Code,
): void {
  const { plan, em, forms } = frame;
  const { axis, size } = plan.reduced[0]!;
  const [position, row] = [em.positions.get(plan.vector.axis)!, em.positions.get(axis)!];
  const [first, last] = [em.local('i32'), em.local('i32')];
  out.i32(0).set(first);
  const top = out.loop();
  out.get(first).i32(blockRows).op('i32.add').i32(size);
  out.i32(size).get(first).op('i32.sub').i32(blockRows).op('i32.gt_u').op('select').set(last);
  out.get(lo).set(position);
  for (const lanes of bodies) {
    const s = new WasmScope(frame.vectorDepth, frame.item, lanes);
    const states = forms.map((form) => new State(em, form, lanes, false));
    const saved = regions(plan, forms).slice(0, -1);
    const kept = states.map((state, k) => new Kept(frame, state, saved[k]!, s));
    const scope = (rare: Set<Expr> | null): WasmScope => new WasmScope(s.depth + 1, s, lanes, rare);
    const body = new Code();
    body.get(first).op('i32.eqz').if();
    for (const state of states) state.init(body);
    body.else();
    for (const k of kept) k.restore(body);
    body.end();
    body.get(first).set(row);
    frame.steps(row, 1, scope, values, states)(last, body);
    for (const state of states) state.settle(body);
    body.get(last).i32(size).op('i32.eq').if();
    frame.conclude(
      states.map((state) => state.registers()),
      outputs,
      s,
      body,
    );
    body.else();
    for (const k of kept) k.save(body);
    body.end();
    vectorLoop(position, hi, lanes, new Code().append(s.code).append(body), out);
  }
  out.get(last).tee(first).i32(size).op('i32.lt_u').brIf(top).end();
}

const loads = {
  8: 'v128.load8_splat',
  16: 'v128.load16_splat',
  32: 'v128.load32_zero',
  64: 'v128.load64_zero',
} as const;

/** The place in the scratch of the state of a body's columns. */
class Kept {
  readonly #state: State;
  readonly #address: number;
  /** Bits of one register that are in use: those of all its lanes, or of one column. */
  readonly #bits: number;

  constructor(frame: ReductionFrame, state: State, offset: number, s: WasmScope) {
    const { em, kernel, exprs } = frame;
    const bytes = stateBytes(state.form);
    this.#state = state;
    this.#address = em.local('i32');
    this.#bits = Math.min(128, 8 * bytes * s.lanes);
    em.address(kernel.inputs.length + kernel.outputs.length, positionOf(kernel, exprs), Math.log2(bytes), s, offset);
    s.code.set(this.#address);
  }

  save(c: Code): void {
    this.#state.kept().forEach((register, k) => {
      c.get(this.#address).get(register);
      if (this.#bits === 128) c.mem('v128.store', 16 * k);
      else c.memLane(laneStores[this.#bits as Width], 0);
    });
  }

  restore(c: Code): void {
    this.#state.kept().forEach((register, k) => {
      c.get(this.#address);
      if (this.#bits === 128) c.mem('v128.load', 16 * k);
      else c.mem(loads[this.#bits as keyof typeof loads]);
      c.set(register);
    });
    this.#state.resume(c);
  }
}
