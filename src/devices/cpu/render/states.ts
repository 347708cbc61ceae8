// States of a sliced reduction in the scratch: one 8-byte slot per value (and per position), slice by slice.

import { strideAlong } from '../../../kernel/bounds.ts';
import type { Expr } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Code } from '../wasm/code.ts';
import { identityBytes, mergeInto, type Registers, type StateForm } from './accumulator.ts';
import type { Emitter } from './emitter.ts';
import { laneStores, splatBytes } from './lanes.ts';
import { positionOf } from './map.ts';
import { type ReductionPlan, sliceAxis } from './reduce-plan.ts';
import type { WasmScope } from './scope.ts';

const loads = {
  8: 'v128.load8_splat',
  16: 'v128.load16_splat',
  32: 'v128.load32_splat',
  64: 'v128.load64_splat',
} as const;

const slotsOf = (forms: readonly StateForm[]): number => forms.reduce((n, f) => n + (f.kind === 'arg' ? 2 : 1), 0);

/** Slot of the first value of an output: (slice · outputs + output) · slots. */
function slotIndex(em: Emitter, kernel: Kernel, forms: readonly StateForm[], plan: ReductionPlan): Expr {
  const b = em.exprs;
  const slots = slotsOf(forms);
  const slice = b.alu('mul', b.axis(sliceAxis, plan.slices), b.const('index', plan.outputs * slots));
  return b.alu('add', slice, b.alu('mul', positionOf(kernel, b), b.const('index', slots)));
}

const scratchBuffer = (kernel: Kernel): number => kernel.inputs.length + kernel.outputs.length;

export function storeStates(
  em: Emitter,
  kernel: Kernel,
  forms: readonly StateForm[],
  results: readonly Registers[],
  plan: ReductionPlan,
  s: WasmScope,
): void {
  const index = slotIndex(em, kernel, forms, plan);
  const stride = strideAlong(index, em.vectorAxis) ?? 0;
  let slot = 0;
  for (const r of results) {
    for (const list of r.positions.length > 0 ? [r.values, r.positions] : [r.values]) {
      const address = em.local('i32');
      em.address(scratchBuffer(kernel), index, 3, s);
      s.code.set(address);
      for (let lane = 0; lane < r.lanes; lane++) {
        const perRegister = 128 / r.width;
        const register = list[Math.floor(lane / perRegister)]!;
        s.code
          .get(address)
          .get(register)
          .memLane(laneStores[r.width], lane % perRegister, (lane * stride + slot) * 8);
      }
      slot++;
    }
  }
}

/** Registers that take in the states of one slice after the other; `slice` is the scope of the loop over slices. */
export function loadStates(
  em: Emitter,
  kernel: Kernel,
  forms: readonly StateForm[],
  plan: ReductionPlan,
  slice: WasmScope,
): { readonly running: Registers[]; readonly init: (c: Code) => void } {
  const index = slotIndex(em, kernel, forms, plan);
  let slot = 0;
  const running = forms.map((form): Registers => {
    const width = form.kind === 'blocked' ? 64 : form.width;
    const lane = form.kind === 'blocked' ? 'f64' : form.lane;
    const read = (): number[] => {
      const t = em.temp();
      em.address(scratchBuffer(kernel), index, 3, slice);
      slice.code.mem(loads[width], 8 * slot++).set(t);
      return [t];
    };
    const own = (): number[] => [em.local('v128')];
    const arg = form.kind === 'arg';
    const next: Registers = { lane, width, lanes: 1, values: read(), positions: arg ? read() : [] };
    const acc: Registers = { lane, width, lanes: 1, values: own(), positions: arg ? own() : [] };
    mergeInto(em, slice.code, form, acc, next);
    return acc;
  });
  const init = (c: Code): void => {
    running.forEach((r, k) => {
      const form = forms[k]!;
      c.v128(form.kind === 'blocked' ? splatBytes('f64', 0) : identityBytes(form)).set(r.values[0]!);
      for (const p of r.positions) c.v128(splatBytes('u8', 0)).set(p);
    });
  };
  return { running, init };
}
