// The kernels and routines that calibration times: one of each class, at any size, built as the planner would build them.

import type { DType } from '../../base/dtype.ts';
import { estimateKernel, estimateRoutine } from '../../kernel/estimate.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Accumulator, BufferParam, Kernel, Routine } from '../../kernel/kernel.ts';
import type { KernelClass } from './types.ts';

export interface Probe {
  readonly work: Kernel | Routine;
  readonly inputs: readonly BufferParam[];
  readonly outputs: readonly BufferParam[];
}

const f32 = (elements: number): BufferParam => ({ type: 'f32', elements });
const i32 = (elements: number): BufferParam => ({ type: 'i32', elements });

function kernel(
  name: string,
  space: readonly number[],
  reduced: readonly number[],
  inputs: readonly BufferParam[],
  body: (b: Exprs) => { accumulators?: readonly Accumulator[]; value: Expr; type: DType },
): Probe {
  const { accumulators = [], value, type } = body(new Exprs());
  const parts = { space, reduced, accumulators, outputs: [{ type, value }], inputs, scalars: [], inPlace: [] };
  const work: Kernel = { kind: 'kernel', name: `probe_${name}_${space}`, ...parts, estimate: estimateKernel(parts) };
  return { work, inputs, outputs: [{ type, elements: space.reduce((p, n) => p * n, 1) }] };
}

function routine(work: Routine, inputs: readonly BufferParam[], outputs: readonly BufferParam[]): Probe {
  return { work, inputs, outputs };
}

/** By class: the probe of about `n` elements. The contents of the buffers may be anything within the positions' range. */
export const probes: Readonly<Record<Exclude<KernelClass, 'raw'>, (n: number) => Probe>> = {
  map: (n) =>
    kernel('map', [n], [], [f32(n), f32(n)], (b) => {
      const i = b.axis(0, n);
      return {
        type: 'f32',
        value: b.alu('add', b.alu('mul', b.load('f32', 0, i), b.const('f32', 0.5)), b.load('f32', 1, i)),
      };
    }),
  heavy: (n) =>
    kernel('heavy', [n], [], [f32(n)], (b) => {
      const x = b.load('f32', 0, b.axis(0, n));
      return { type: 'f32', value: b.alu('exp', x) };
    }),
  reduce: (n) =>
    kernel('reduce', [1], [n], [f32(n)], (b) => ({
      type: 'f32',
      accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, b.axis(1, n)) }],
      value: b.acc('f32', 0),
    })),
  matmul: (n) => {
    const side = Math.max(1, Math.round(Math.sqrt(n)));
    const operand = f32(side * side);
    const shape = { batch: 1, batchA: 1, batchB: 1, m: side, n: side, k: side, transposeA: false, transposeB: false };
    const estimate = estimateRoutine(2 * side ** 3, [operand, operand], [operand]);
    const name = `probe_matmul_${side}`;
    const work: Routine = {
      kind: 'routine',
      op: 'matmul',
      name,
      type: 'f32',
      ...shape,
      precision: 'exact',
      epilogue: null,
      estimate,
    };
    return routine(work, [operand, operand], [operand]);
  },
  sort: (n) => {
    const estimate = estimateRoutine(n * Math.ceil(Math.log2(n + 1)), [f32(n)], [f32(n), i32(n)]);
    const name = `probe_sort_${n}`;
    const shape = { rows: 1, columns: n, descending: false };
    return routine({ kind: 'routine', op: 'sort', name, type: 'f32', ...shape, estimate }, [f32(n)], [f32(n), i32(n)]);
  },
  scan: (n) => {
    const estimate = estimateRoutine(n, [f32(n)], [f32(n)]);
    const shape = { combine: 'sum' as const, outer: 1, length: n, inner: 1, reverse: false };
    const name = `probe_scan_${n}`;
    return routine({ kind: 'routine', op: 'scan', name, type: 'f32', ...shape, estimate }, [f32(n)], [f32(n)]);
  },
  scatter: (n) => {
    const inputs = [f32(n), i32(n), f32(n)];
    const estimate = estimateRoutine(n, inputs, [f32(n)]);
    const shape = {
      combine: 'sum' as const,
      outer: 1,
      length: n,
      inner: 1,
      count: n,
      perElement: false,
      clips: false,
      uniform: false,
    };
    const name = `probe_scatter_${n}`;
    return routine({ kind: 'routine', op: 'scatter', name, type: 'f32', ...shape, estimate }, inputs, [f32(n)]);
  },
};

/** What an input holds: positions spread over their range, or values that keep functions in their usual range. */
export function fillOf(param: BufferParam): Uint8Array {
  if (param.type === 'i32') {
    const at = new Int32Array(param.elements);
    // An odd factor permutes the positions of a power of two, and spreads them in any case.
    for (let i = 0; i < at.length; i++) at[i] = Math.abs(Math.imul(i, 0x9e3779b1)) % param.elements;
    return new Uint8Array(at.buffer);
  }
  const values = new Float32Array(param.elements);
  for (let i = 0; i < values.length; i++) values[i] = ((Math.imul(i, 0x9e3779b1) >>> 9) / 2 ** 23) * 2 - 1;
  return new Uint8Array(values.buffer);
}
