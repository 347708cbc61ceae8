// Where kernels find the tensors of their inputs: the backend, or a turn of calls that is done again (`perform.ts`).

import type { Tensor } from '../index.ts';
import type { Session } from './session.ts';
import type { BackendValues, ComplexPair, TensorInfo } from './types.ts';

export interface Source {
  readonly session: Session;

  /** The tensor of an input, in the shape the kernel sees. It does not belong to the kernel. */
  tensorOf(x: TensorInfo): Tensor;

  /** The tensor of a float32 input if there is one, as f32 and in the shape the kernel sees. */
  floats(x: TensorInfo): Tensor | null;

  /** A float32 input that is one number in host memory alone; null for everything else. */
  numberOf(x: TensorInfo): number | null;

  partsOf(x: TensorInfo): ComplexPair;

  /** The values of an input if they are in host memory; null if they would have to be read. */
  hostOf(x: TensorInfo): BackendValues | null;

  /** The same data under the same id, for a result of another shape. */
  share(x: TensorInfo, shape: readonly number[]): TensorInfo;
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** A tensor in the shape that a kernel sees. */
export const shaped = (tensor: Tensor, shape: readonly number[]): Tensor =>
  sameShape(tensor.shape, shape) ? tensor : tensor.reshape(shape);
