// Elements as stored and as arrays that users hold: f16 and bf16, which have no array of their own, are widened to f32.

import { type DType, dtypeInfo, type HostArrays, type TypedArray } from '../base/dtype.ts';
import { bf16ToNumber, f16ToNumber } from '../base/half.ts';
import { OutOfMemory } from '../errors.ts';

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

/** New host memory, all zeros. What JavaScript refuses with a RangeError is an OutOfMemory. */
export function hostMemory(bytes: number, where: string): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (cause) {
    throw new OutOfMemory({
      code: 'HOST_MEMORY',
      message: `${where}: an array of ${bytes} bytes does not fit into host memory`,
      fix: 'Ask for fewer elements, work in smaller pieces, or free arrays that are no longer needed.',
      where,
      requested: bytes,
      available: 0,
      cause,
    });
  }
}
