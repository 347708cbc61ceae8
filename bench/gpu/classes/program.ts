// How a program of the classes is written down: its inputs, how often it is called at a time, what it computes.

import type { DType, Runtime, Tensor } from '../../../src/index.ts';

/** A tensor of a program: numbers in -1 … 1, or whole numbers below `below`. */
export interface Input {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly below?: number;
}

export interface ClassProgram {
  readonly name: string;
  readonly inputs: readonly Input[];
  readonly calls: number;
  readonly run: (rt: Runtime, ...x: Tensor[]) => Tensor;
}

export const f = (...shape: number[]): Input => ({ shape, dtype: 'f32' });
export const of = (dtype: DType, ...shape: number[]): Input => ({ shape, dtype });
export const below = (n: number, dtype: DType, ...shape: number[]): Input => ({ shape, dtype, below: n });

export const program = (
  name: string,
  inputs: readonly Input[],
  calls: number,
  run: (rt: Runtime, ...x: Tensor[]) => Tensor,
): ClassProgram => ({ name, inputs, calls, run });
