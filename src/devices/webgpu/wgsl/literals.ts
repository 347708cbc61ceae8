// Constants as WGSL text.
//
// WGSL refuses constant expressions that are NaN or infinite, may flush subnormal ones, and compilers drop the sign of
// a constant zero and fold x * 0. Such constants are made of their bits and of the veil: a word in a uniform buffer that is 0
// whenever a shader runs, which no compiler can know. Values pass through it as integers (see hazards.ts).

import type { ScalarType } from '../../../kernel/expr.ts';
import { heldAs, vectorOf, type Width } from './types.ts';

const view = new DataView(new ArrayBuffer(4));

function bitsOf(value: number): number {
  view.setFloat32(0, value);
  return view.getUint32(0);
}

const hex = (bits: number): string => `0x${bits.toString(16).padStart(8, '0')}u`;

/** The declaration of the veil, in shaders that use it. */
export const veilBinding = (binding: number): string => `@group(0) @binding(${binding}) var<uniform> veil: u32;`;

/** The same bits, behind the veil. */
export function veil(text: string, width: Width): string {
  const [F, U] = [vectorOf('f32', width), vectorOf('u32', width)];
  return `bitcast<${F}>(bitcast<${U}>(${text}) ^ ${width === 4 ? 'vec4<u32>(veil)' : 'veil'})`;
}

/** Whether a float must be made of its bits. */
const needsBits = (value: number): boolean =>
  !Number.isFinite(value) || (Math.abs(value) < 2 ** -126 && !Object.is(value, 0));

/** An f32 that the compiler does not see as a constant. */
export const veiledConstant = (value: number): string =>
  `bitcast<f32>(${hex(Number.isNaN(value) ? 0x7fc00000 : bitsOf(value))} ^ veil)`;

function f32Literal(value: number): string {
  if (needsBits(value)) return veiledConstant(value);
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
