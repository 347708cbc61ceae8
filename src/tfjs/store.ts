// What a TF.js data id stands for.

import type { Tensor } from '../index.ts';
import type { BackendValues, DataType, TensorInfo } from './types.ts';

export interface Entry {
  readonly dtype: DataType;
  refs: number;
  /** In host memory: what was written, until a kernel takes it to a device; strings stay here. */
  values: BackendValues | null;
  /** The lazy tensor; null while the values are in host memory alone. */
  tensor: Tensor | null;
  /** The two halves of a complex64 value, each under a data id of its own. */
  readonly parts: { readonly real: TensorInfo; readonly imag: TensorInfo } | null;
  /** A variable holds it. */
  variable: boolean;
  /** How often in a row a variable was assigned up to this value without being computed. */
  age: number;
}

export const newEntry = (
  dtype: DataType,
  from: Pick<Partial<Entry>, 'refs' | 'values' | 'tensor' | 'parts'>,
): Entry => ({
  dtype,
  refs: from.refs ?? 1,
  values: from.values ?? null,
  tensor: from.tensor ?? null,
  parts: from.parts ?? null,
  variable: false,
  age: 0,
});
