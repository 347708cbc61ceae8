// States of a reduction in the scratch: those that wait while others are at work (reduce-streamed.ts), and those that slices leave
// to be combined (reduce-finish.ts).
//
// Each register of a state has an array of its own there, with an element for every slice and output, in the order of the outputs:
// neighbours are written and read as vectors.

import { strideAlong } from '../../../kernel/bounds.ts';
import type { Expr, Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Code } from '../wasm/code.ts';
import { keptRegisters, type Registers, type StateForm } from './accumulator.ts';
import type { Emitter } from './emitter.ts';
import { laneLoads, laneStores, loadLow, storeLow, type Width } from './lanes.ts';
import { positionOf } from './map.ts';
import { type ReductionPlan, sliceAxis } from './reduce-plan.ts';
import type { WasmScope } from './scope.ts';

/** An array: where it begins in the scratch, and the width of its elements. */
interface Place {
  readonly offset: number;
  readonly width: Width;
}

/** Where the states of an accumulator lie. */
export interface StatePlaces {
  /** What is combined in the end: sums of f32 as f64. */
  readonly values: Place;
  readonly positions: Place;
  /** What waits, in the order of `State.kept`. */
  readonly kept: readonly Place[];
}

/** The width of what is combined in the end. */
export const combinedWidth = (form: StateForm): Width => (form.kind === 'blocked' ? 64 : form.width);

/** The arrays of all accumulators, and the bytes they take. */
export function placesOf(
  plan: ReductionPlan,
  forms: readonly StateForm[],
): { readonly places: readonly StatePlaces[]; readonly bytes: number } {
  let bytes = 0;
  const place = (width: Width, isUsed = true): Place => {
    const offset = bytes;
    if (isUsed) bytes += ((plan.slices * plan.outputs * width) / 8 + 63) & ~63;
    return { offset, width };
  };
  const places = forms.map((form) => ({
    values: place(combinedWidth(form)),
    positions: place(form.width, form.kind === 'arg'),
    kept: Array.from({ length: plan.streamed ? keptRegisters(form) : 0 }, () => place(form.width)),
  }));
  return { places, bytes };
}

/** The element of the present slice and output. */
function indexOf(kernel: Kernel, plan: ReductionPlan, b: Exprs): Expr {
  const position = positionOf(kernel, b);
  if (plan.slices === 1) return position;
  const slice = b.alu('mul', b.axis(sliceAxis, plan.slices), b.const('index', plan.outputs));
  return b.alu('add', slice, position);
}

/** The elements of an array that the lanes of a scope stand for. */
export class StateAddress {
  readonly #local: number;
  readonly #width: Width;
  readonly #lanes: number;
  /** Bytes from one lane to the next. */
  readonly #step: number;

  constructor(em: Emitter, kernel: Kernel, plan: ReductionPlan, { offset, width }: Place, s: WasmScope) {
    const index = indexOf(kernel, plan, em.exprs);
    this.#local = em.local('i32');
    this.#width = width;
    this.#lanes = s.lanes;
    this.#step = ((s.lanes === 1 ? 1 : (strideAlong(index, em.vectorAxis) ?? 0)) * width) / 8;
    em.address(kernel.inputs.length + kernel.outputs.length, index, Math.log2(width / 8), s, offset);
    s.code.set(this.#local);
  }

  /** Bits of each register that are in use. */
  get #bits(): number {
    return Math.min(128, this.#width * this.#lanes);
  }

  get #adjoin(): boolean {
    return this.#step === this.#width / 8;
  }

  save(c: Code, registers: readonly number[]): void {
    registers.forEach((register, k) => {
      if (this.#adjoin) {
        storeLow(c.get(this.#local).get(register), this.#bits, 16 * k);
      } else
        this.#eachLane(k, (lane, at) => c.get(this.#local).get(register).memLane(laneStores[this.#width], lane, at));
    });
  }

  restore(c: Code, registers: readonly number[]): void {
    registers.forEach((register, k) => {
      if (this.#adjoin) loadLow(c.get(this.#local), this.#bits, 16 * k).set(register);
      else
        this.#eachLane(k, (lane, at) =>
          c.get(this.#local).get(register).memLane(laneLoads[this.#width], lane, at).set(register),
        );
    });
  }

  /** The lanes of one register, and how far each is from the first of all. */
  #eachLane(register: number, take: (lane: number, at: number) => void): void {
    const each = this.#bits / this.#width;
    for (let lane = 0; lane < each; lane++) take(lane, (register * each + lane) * this.#step);
  }
}

/** Leaves the finished states of a slice. */
export function storeStates(
  em: Emitter,
  kernel: Kernel,
  forms: readonly StateForm[],
  results: readonly Registers[],
  plan: ReductionPlan,
  s: WasmScope,
): void {
  placesOf(plan, forms).places.forEach(({ values, positions }, k) => {
    const r = results[k]!;
    new StateAddress(em, kernel, plan, values, s).save(s.code, r.values);
    if (r.positions.length > 0) new StateAddress(em, kernel, plan, positions, s).save(s.code, r.positions);
  });
}
