// Changes of type as WGSL, as `Cast` defines them.

import type { ScalarType } from '../../../kernel/expr.ts';
import type { HelperName } from './helpers.ts';
import { heldAs, vectorOf, type Width } from './types.ts';

type Convert = (v: string, width: Width, use: (name: HelperName) => string) => string;

const convert =
  (to: string): Convert =>
  (v, w) =>
    `${vectorOf(to, w)}(${v})`;
const viaHelper =
  (name: HelperName): Convert =>
  (v, _, use) =>
    `${use(name)}(${v})`;
const same: Convert = (v) => v;
const notZero: Convert = (v, w) => `(${v} != ${vectorOf('u32', w)}(0u))`;
const signedNotZero: Convert = (v, w) => `(${v} != ${vectorOf('i32', w)}(0i))`;
const lowByte: Convert = (v, w) => `(${vectorOf('u32', w)}(${v}) & ${vectorOf('u32', w)}(255u))`;
const fromHalf =
  (then: Convert): Convert =>
  (v, w, use) =>
    then(`${vectorOf('f32', w)}(${v})`, w, use);

const toF32 = convert('f32');
const toF16 = convert('f16');

type Row = Readonly<Partial<Record<ScalarType, Convert>>>;

const i32: Row = {
  f32: toF32,
  f16: (v, w, u) => toF16(toF32(v, w, u), w, u),
  u32: convert('u32'),
  u8: lowByte,
  bool: signedNotZero,
  index: same,
};
const u32: Row = {
  f32: viaHelper('u32_to_f32'),
  f16: i32.f16!,
  i32: convert('i32'),
  u8: lowByte,
  bool: notZero,
  index: convert('i32'),
};
const f32: Row = {
  f16: toF16,
  i32: viaHelper('f32_to_i32'),
  u32: viaHelper('f32_to_u32'),
  u8: viaHelper('f32_to_u8'),
  bool: viaHelper('f32_to_bool'),
};

/** from → to → text. */
const table: Readonly<Partial<Record<ScalarType, Row>>> = {
  f32,
  f16: {
    f32: toF32,
    i32: fromHalf(f32.i32!),
    u32: fromHalf(f32.u32!),
    u8: fromHalf(f32.u8!),
    bool: fromHalf(f32.bool!),
  },
  i32: { ...i32 },
  index: { ...i32, i32: same },
  u32: { ...u32 },
  u8: { ...u32, f32: toF32, u32: same },
  bool: { f32: toF32, f16: toF16, i32: convert('i32'), u32: convert('u32'), u8: convert('u32'), index: convert('i32') },
};

export function castText(
  v: string,
  from: ScalarType,
  to: ScalarType,
  bits: boolean,
  width: Width,
  use: (name: HelperName) => string,
): string {
  if (bits) return `bitcast<${vectorOf(heldAs(to).value, width)}>(${v})`;
  if (from === to) return v;
  heldAs(from);
  heldAs(to);
  return table[from]![to]!(v, width, use);
}
