// TF.js's dtypes and host arrays beside ours.
//
// float32 is f32, int32 is i32, bool is bool. complex64 is a pair of f32 tensors, string stays in host memory. With `precision: 'f16'`
// float32 values are stored as f16.

import { DTypeError, type TypedArray } from '../index.ts';
import type { BackendValues, DataType } from './types.ts';

/** The dtypes that live on devices. */
export type NumericType = 'float32' | 'int32' | 'bool';

export const ours = { float32: 'f32', int32: 'i32', bool: 'bool' } as const;
const theirs: Readonly<Record<string, NumericType>> = { f32: 'float32', f16: 'float32', i32: 'int32', bool: 'bool' };

/** In how many bits float32 values are stored. */
export type FloatPrecision = 'f32' | 'f16';

const arrays = { float32: Float32Array, int32: Int32Array, bool: Uint8Array } as const;

// Asked for every input of every call.
export const isNumeric = (dtype: DataType): dtype is NumericType =>
  dtype === 'float32' || dtype === 'int32' || dtype === 'bool';

/** Values as the typed array that TF.js has for a dtype: itself where it is one already. */
export function asArray(values: BackendValues, dtype: NumericType): TypedArray {
  const kind = arrays[dtype];
  if (values instanceof kind) return values;
  return kind.from(values as ArrayLike<number>);
}

/**
 * The number that all values are; null where they are not one number. Gradients are full of ones. Zeros count only if there is one of them: states
 * begin with zeros, and are something else the next time.
 */
export function numberIn(values: BackendValues): number | null {
  const first = Number(values[0]);
  if (values.length === 1) return first;
  if (first === 0) return null;
  for (let i = 0; i < values.length; i++) if (values[i] !== first) return null;
  return values.length === 0 ? null : first;
}

/** Refuses a tensor of ours whose dtype TF.js does not have. */
export function typeInTfjs(dtype: string): NumericType {
  const type = theirs[dtype];
  if (type) return type;
  throw new DTypeError({
    code: 'UNSUPPORTED_DTYPE',
    message: `tfjs: there is no TF.js dtype for ${dtype}`,
    fix: "Cast first: x.cast('f32'), x.cast('i32') or x.cast('bool').",
    where: 'tfjs',
  });
}

/** Real and imaginary parts out of values that alternate between them. */
export function halves(values: Float32Array): [Float32Array, Float32Array] {
  const at = (part: number) => Float32Array.from({ length: values.length / 2 }, (_, i) => values[2 * i + part]!);
  return [at(0), at(1)];
}

/** The opposite of `halves`. */
export function merged(real: BackendValues, imag: BackendValues): Float32Array {
  const out = new Float32Array(real.length * 2);
  for (let i = 0; i < real.length; i++) {
    out[2 * i] = (real as TypedArray)[i] as number;
    out[2 * i + 1] = (imag as TypedArray)[i] as number;
  }
  return out;
}
