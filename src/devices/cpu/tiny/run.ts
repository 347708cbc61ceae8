// A tiny kernel as it runs: its steps one after the other, over the arrays of a launch.

import { byteSize, type DType, isFloat, type TypedArray } from '../../../base/dtype.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { castValue } from '../../../kernel/semantics.ts';
import type { CpuBuffer } from '../buffer.ts';
import { type Views, viewOf } from '../views.ts';
import { type Fold, sum32, sumProducts32 } from './folds.ts';
import type { Loop } from './loops.ts';
import type { WasmSums } from './wasm-sums.ts';

export interface TinyKernel {
  /** Loops of one launch, and all of their iterations. */
  readonly loops: number;
  readonly work: number;
  /** The WebAssembly kernel gives the same bits. */
  readonly exact: boolean;
  /** Long sums of buffers in the memory are left to `sums`. */
  run(buffers: readonly CpuBuffer[], scalars: readonly number[], memory: Views, sums: WasmSums | null): void;
}

/** A value: entry `table` of the run's arrays, from element `base` on, elements `step` apart; step 0 repeats one element. */
export interface Operand {
  readonly table: number;
  readonly base: number;
  readonly step: number;
}

/** Rows of values to reduce: `step` apart in a row, and the rows `apart` from each other. */
export interface Rows extends Operand {
  readonly apart: number;
}

/** One pass over values. A class: whatever is done, steps have one layout. */
export class TinyStep {
  /** A loop over `n` elements of up to three operands; else `n` rows of `length` values are reduced, or products of two operands added up. */
  readonly loop: Loop | null;
  readonly fold: Fold | null;
  readonly n: number;
  readonly length: number;
  readonly to: Operand;
  readonly a: Operand;
  readonly b: Operand;
  readonly c: Operand;
  /** How far apart rows are that are reduced. */
  readonly apart: number;

  constructor(
    how: { readonly loop?: Loop | null; readonly fold?: Fold | null },
    n: number,
    length: number,
    to: Operand,
    operands: readonly [Operand | Rows, Operand, Operand],
  ) {
    this.loop = how.loop ?? null;
    this.fold = how.fold ?? null;
    this.n = n;
    this.length = length;
    this.to = to;
    [this.a, this.b, this.c] = operands;
    this.apart = 'apart' in operands[0] ? operands[0].apart : 0;
  }

  /** The same with its results elsewhere. */
  storing(to: Operand): TinyStep {
    const { n, length, a, b, c, apart } = this;
    return new TinyStep(this, n, length, to, [{ ...a, apart }, b, c]);
  }
}

/** What a kernel was compiled to: its steps, and its arrays, of which those of buffers come first and belong to each launch. */
export interface TinySteps {
  readonly steps: readonly TinyStep[];
  readonly arrays: (TypedArray | null)[];
  /** Iterations of all loops. */
  readonly work: number;
}

export function tinyKernel(kernel: Kernel, made: TinySteps): TinyKernel {
  const types: DType[] = [...kernel.inputs.map((p) => p.type), ...kernel.outputs.map((o) => o.type)];
  const views = types.map((t) => viewOf[t]);
  const shifts = types.map((t) => Math.log2(byteSize(t)));
  const { steps } = made;
  const arrays = made.arrays as TypedArray[];
  const offsets = new Array<number>(arrays.length).fill(0);
  const scalarAt = types.length;
  const count = types.length;
  const scalarTypes = kernel.scalars;
  const inMemory = ({ table }: Operand, buffers: readonly CpuBuffer[]): boolean =>
    table < count && buffers[table]!.small === null;
  return {
    loops: steps.length,
    work: made.work,
    exact: !kernel.accumulators.some((a) => isFloat(a.type) && (a.op === 'sum' || a.op === 'prod')),
    run(buffers, scalars, memory, sums) {
      for (let i = 0; i < count; i++) {
        const buffer = buffers[i]!;
        arrays[i] = views[i]!(buffer.small ?? memory);
        offsets[i] = buffer.address >>> shifts[i]!;
      }
      for (let i = 0; i < scalarTypes.length; i++) {
        const type = scalarTypes[i]!;
        // Storing a number in an array of floats rounds it as a cast does.
        arrays[scalarAt + i]![0] = (type === 'f32' ? scalars[i]! : castValue(scalars[i]!, 'f64', type)) as never;
      }
      for (let i = 0; i < steps.length; i++) {
        const s = steps[i]!;
        const { n, length, to, a, b, c } = s;
        const x = arrays[a.table]!;
        const y = arrays[b.table]!;
        const z = arrays[c.table]!;
        const atX = offsets[a.table]! + a.base;
        const atY = offsets[b.table]! + b.base;
        const atZ = offsets[c.table]! + c.base;
        const into = arrays[to.table]!;
        const at = offsets[to.table]! + to.base;
        if (s.loop !== null) s.loop(n, into, at, x, atX, a.step, y, atY, b.step, z, atZ, c.step);
        else if (s.fold !== null) {
          const isSum = s.fold === sum32 && a.step === 1 && inMemory(a, buffers);
          if (isSum && sums?.sums(4 * atX, null, n, length, into, at)) continue;
          s.fold(x, atX, s.apart, a.step, n, length, into, at);
        } else {
          const areThere = inMemory(a, buffers) && inMemory(b, buffers);
          if (areThere && sums?.sums(4 * atX, 4 * atY, n, length, into, at)) continue;
          sumProducts32(x as Float32Array, atX, y as Float32Array, atY, n, length, into, at);
        }
      }
      // The interpreter must not keep the last launch's buffers alive.
      for (let i = 0; i < count; i++) arrays[i] = nothing;
    },
  };
}

const nothing: TypedArray = new Uint8Array(0);
