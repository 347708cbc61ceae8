// Elements as stored and as arrays that users hold: f16 and bf16, which have no array of their own, are widened to f32.

import { type DType, dtypeInfo, type HostArrays, type TypedArray } from '../base/dtype.ts';
import { bf16ToNumber, f16ToNumber } from '../base/half.ts';

export const widen: Readonly<Partial<Record<DType, (bits: number) => number>>> = {
  f16: f16ToNumber,
  bf16: bf16ToNumber,
};

/** Bytes as the array that stores the dtype. */
export function typed(bytes: Uint8Array, dtype: DType): TypedArray {
  return new dtypeInfo[dtype].storage(bytes.buffer, bytes.byteOffset, bytes.byteLength / dtypeInfo[dtype].bytes);
}

export function toHostArray(raw: TypedArray, dtype: DType): HostArrays[DType] {
  const half = widen[dtype];
  return half ? Float32Array.from(raw as Uint16Array, half) : (raw as HostArrays[DType]);
}
