// Constants as WGSL text.
//
// WGSL refuses constant expressions that are NaN or infinite, may flush subnormal ones, and compilers drop the sign of
// a constant zero and fold x * 0. Such constants are made of their bits and of `zero`: the third coordinate of the
// workgroup, which is 0 in every dispatch here and which no compiler knows to be so.

import type { ScalarType } from '../../../kernel/expr.ts';
import { heldAs } from './types.ts';

const view = new DataView(new ArrayBuffer(4));

function bitsOf(value: number): number {
  view.setFloat32(0, value);
  return view.getUint32(0);
}

const hex = (bits: number): string => `0x${bits.toString(16).padStart(8, '0')}u`;

/** The line that declares `zero`, first in every shader that uses it. */
export const zeroLine = 'let zero = wid.z;';

/** Whether a float must be made of its bits. */
const needsBits = (value: number): boolean =>
  !Number.isFinite(value) || (Math.abs(value) < 2 ** -126 && !Object.is(value, 0));

/** An f32 that the compiler does not see as a constant. */
export const hiddenConstant = (value: number): string =>
  `bitcast<f32>(${hex(Number.isNaN(value) ? 0x7fc00000 : bitsOf(value))} | zero)`;

function f32Literal(value: number): string {
  if (needsBits(value)) return hiddenConstant(value);
  // The shortest decimal of the double parses back to the same double, which is exactly the f32.
  const text = String(value);
  const suffixed = /[.e]/.test(text) ? `${text}f` : `${text}.0f`;
  return value < 0 ? `(${suffixed})` : suffixed;
}

function i32Literal(value: number): string {
  if (value === -(2 ** 31)) return 'bitcast<i32>(0x80000000u)';
  return value < 0 ? `(${value}i)` : `${value}i`;
}

/** A scalar constant. */
export function literal(type: ScalarType, value: number | bigint): string {
  const v = Number(value);
  const name = heldAs(type).value;
  switch (name) {
    case 'f32':
      return f32Literal(v);
    case 'f16':
      return `f16(${f32Literal(v)})`;
    case 'i32':
      return i32Literal(v);
    case 'u32':
      return `${v}u`;
    case 'bool':
      return v ? 'true' : 'false';
    default:
      return name satisfies never;
  }
}
