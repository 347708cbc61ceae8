// Compares a result with what was expected, element by element.
//
// Integers and bools must be equal. Floats: NaN for NaN, infinities and the sign of zero exactly, anything else within
// `ulp` units in the last place of the expected value, or within `absolute` if that is larger.

import { type DType, isFloat } from '../../src/base/dtype.ts';
import { sameShape, show } from '../../src/base/shape.ts';
import type { HostTensor } from './format.ts';

export interface Tolerance {
  readonly ulp: number;
  readonly absolute: number;
  /** The device turns subnormal results (and inputs) into zero, as WGSL allows. */
  readonly flushes?: boolean;
}

export const exact: Tolerance = { ulp: 0, absolute: 0 };

/** Bits of mantissa after the point, and the exponent of the smallest normal number. */
export const precision: Readonly<Partial<Record<DType, readonly [bits: number, minExponent: number]>>> = {
  f16: [10, -14],
  bf16: [7, -126],
  f32: [23, -126],
  f64: [52, -1022],
};

const view = new DataView(new ArrayBuffer(8));

function exponentOf(x: number): number {
  view.setFloat64(0, Math.abs(x));
  const biased = view.getUint16(0) >> 4;
  return biased === 0 ? -1022 : biased - 1023;
}

/** The distance between neighbours of a dtype at a value. */
export function ulpAt(dtype: DType, x: number): number {
  const [bits, minExponent] = precision[dtype]!;
  // Two steps, because 2^-1074 cannot be reached through an exponent of a normal number.
  return 2 ** Math.max(exponentOf(x), minExponent) * 2 ** -bits;
}

function isSubnormal(dtype: DType, x: number): boolean {
  return x !== 0 && Math.abs(x) < 2 ** precision[dtype]![1];
}

/** Whether any element is smaller than the smallest normal number of its float dtype. */
export function hasSubnormal(t: HostTensor): boolean {
  return isFloat(t.dtype) && (t.data as Float64Array).some((v) => isSubnormal(t.dtype, v));
}

/** Whether a float is close enough; zeros differ by sign only if no error at all is allowed there. */
function floatsAgree(dtype: DType, got: number, want: number, t: Tolerance): boolean {
  if (Object.is(got, want)) return true;
  if (Number.isNaN(want) || Number.isNaN(got)) return false;
  if (!Number.isFinite(want) || !Number.isFinite(got)) return false;
  if (got === 0 && want === 0) return t.absolute > 0;
  if (t.flushes && got === 0 && isSubnormal(dtype, want)) return true;
  const error = Math.abs(got - want);
  // What a device flushes on the way is smaller than the smallest normal number.
  if (t.flushes && error <= 2 ** precision[dtype]![1]) return true;
  return error <= t.absolute || error <= t.ulp * ulpAt(dtype, want);
}

/** What is wrong with a result, or null if nothing is. */
export function difference(got: HostTensor, want: HostTensor, t: Tolerance): string | null {
  if (got.dtype !== want.dtype) return `dtype ${got.dtype}, expected ${want.dtype}`;
  if (!sameShape(got.shape, want.shape)) return `shape ${show(got.shape)}, expected ${show(want.shape)}`;
  if (got.data.length !== want.data.length) return `${got.data.length} elements, expected ${want.data.length}`;
  if (got.data.constructor !== want.data.constructor)
    return `data is a ${got.data.constructor.name}, expected a ${want.data.constructor.name}`;
  const float = isFloat(want.dtype);
  for (let i = 0; i < want.data.length; i++) {
    const g = got.data[i]!;
    const w = want.data[i]!;
    if (float ? floatsAgree(want.dtype, g as number, w as number, t) : g === w) continue;
    const how = float ? ` (${describeError(want.dtype, g as number, w as number, t)})` : '';
    return `element ${i} is ${text(g)}, expected ${text(w)}${how}`;
  }
  return null;
}

const text = (v: number | bigint): string => (Object.is(v, -0) ? '-0' : `${v}`);

function describeError(dtype: DType, got: number, want: number, t: Tolerance): string {
  const ulps = Math.abs(got - want) / ulpAt(dtype, want);
  const allowed = t.absolute > 0 ? `${t.ulp} ulp or ${t.absolute.toExponential(2)}` : `${t.ulp} ulp`;
  return `${ulps.toPrecision(3)} ulp off, allowed ${allowed}`;
}
