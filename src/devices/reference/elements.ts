// Typed views of raw bytes as values, with f16 and bf16 converted on the way.

import type { DType, TypedArray } from '../../base/dtype.ts';
import { byteSize, dtypeInfo } from '../../base/dtype.ts';
import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16 } from '../../base/half.ts';
import { roundTo, type Value } from '../../kernel/semantics.ts';
import type { Elements } from './interpret.ts';

const halves: Readonly<Partial<Record<DType, { get: (bits: number) => number; set: (v: number) => number }>>> = {
  f16: { get: f16ToNumber, set: numberToF16 },
  bf16: { get: bf16ToNumber, set: numberToBf16 },
};

/** The elements of a buffer, read and written as values. Writing rounds to the element type. */
export function elementsOf(bytes: Uint8Array, type: DType): Elements {
  const view: TypedArray = new dtypeInfo[type].storage(
    bytes.buffer,
    bytes.byteOffset,
    Math.floor(bytes.byteLength / byteSize(type)),
  );
  const half = halves[type];
  if (half) {
    return {
      get: (i) => half.get(view[i] as number),
      set: (i, v) => {
        view[i] = half.set(v as number);
      },
    };
  }
  const round = roundTo[type];
  return {
    get: (i) => view[i]!,
    set: (i, v: Value) => {
      view[i] = round(v);
    },
  };
}
