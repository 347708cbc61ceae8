// What a TF.js data id stands for.

import type { Tensor } from '../index.ts';
import type { Turn } from './turn.ts';
import type { BackendValues, DataType, TensorInfo } from './types.ts';

export interface Entry {
  readonly dtype: DataType;
  refs: number;
  /** In host memory: what was written, until a kernel takes it to a device; strings stay here. */
  values: BackendValues | null;
  /** The lazy tensor; null while the values are in host memory alone, and while a turn puts off the call that makes it. */
  tensor: Tensor | null;
  /** The two halves of a complex64 value, each under a data id of its own. */
  readonly parts: { readonly real: TensorInfo; readonly imag: TensorInfo } | null;
  /** A variable holds it. */
  variable: boolean;
  /** How often in a row a variable was assigned up to this value without being computed. */
  age: number;
  /** The number that was written, if it was one. */
  readonly constant: number | null;
  /** The turn it appeared in last, and its number there. */
  turn: Turn | null;
  number: number;
  /** Turns that will read the tensor. */
  holds: number;
  /** Nobody holds the data id any more. */
  gone: boolean;
}

export const newEntry = (
  dtype: DataType,
  from: Pick<Partial<Entry>, 'refs' | 'values' | 'tensor' | 'parts' | 'constant'>,
): Entry => ({
  dtype,
  refs: from.refs ?? 1,
  values: from.values ?? null,
  tensor: from.tensor ?? null,
  parts: from.parts ?? null,
  variable: false,
  age: 0,
  constant: from.constant ?? null,
  turn: null,
  number: 0,
  holds: 0,
  gone: false,
});

/** It is not computed yet: its tensor is lazy, or a turn puts off the call that makes it. */
export const isLazy = ({ tensor, values, parts }: Entry): boolean =>
  tensor === null ? values === null && parts === null : !tensor.computed;
