// The numbers of a float dtype next to a given one.

import type { DType } from './dtype.ts';
import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16 } from './half.ts';

type FloatDType = 'f16' | 'bf16' | 'f32' | 'f64';

interface Layout {
  /** The nearest number of the dtype, as bits: a whole number whose order is that of magnitudes. */
  readonly bits: (v: number) => bigint;
  readonly number: (bits: bigint) => number;
}

const view = new DataView(new ArrayBuffer(8));

const layouts: Readonly<Record<FloatDType, Layout>> = {
  f16: { bits: (v) => BigInt(numberToF16(v)), number: (b) => f16ToNumber(Number(b)) },
  bf16: { bits: (v) => BigInt(numberToBf16(v)), number: (b) => bf16ToNumber(Number(b)) },
  f32: {
    bits: (v) => {
      view.setFloat32(0, v);
      return BigInt(view.getUint32(0));
    },
    number: (b) => {
      view.setUint32(0, Number(b));
      return view.getFloat32(0);
    },
  },
  f64: {
    bits: (v) => {
      view.setFloat64(0, v);
      return view.getBigUint64(0);
    },
    number: (b) => {
      view.setBigUint64(0, b);
      return view.getFloat64(0);
    },
  },
};

const layoutOf = (dtype: DType): Layout => layouts[dtype as FloatDType];

/** The largest number of a float dtype that is less than v. */
export function nextBelow(v: number, dtype: DType): number {
  const { bits, number } = layoutOf(dtype);
  const near = number(bits(v));
  if (near < v) return near;
  // Towards zero the bits count down, away from it up; below zero comes the smallest negative number.
  if (near === 0) return -number(1n);
  return near > 0 ? number(bits(near) - 1n) : -number(bits(-near) + 1n);
}

/** The smallest number of a float dtype that is not less than v. */
export const nextFrom = (v: number, dtype: DType): number => {
  const { bits, number } = layoutOf(dtype);
  const near = number(bits(v));
  return near >= v ? near : -nextBelow(-near, dtype);
};
