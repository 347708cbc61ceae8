// The scalar ops as WGSL, one table per kind of value. A row is what the device declares as native.
//
// Transcendental functions have no row: WGSL's own are far less accurate than a few ulp (sin is good to 2^-11), so they
// come decomposed into the ops below. f16 has only what is exact without rounding: the rest is computed in f32.

import type { DType } from '../../../base/dtype.ts';
import type { ScalarType } from '../../../kernel/expr.ts';
import type { AluOp } from '../../../kernel/ops.ts';
import type { HelperName } from './helpers.ts';

/** What depends on the width being rendered: the names of helpers, and the mask of a byte. */
export interface Wide {
  readonly use: (name: HelperName) => string;
  readonly byte: string;
  readonly exactDivision: boolean;
}
export type Emit = (wide: Wide, a: string, b: string, c: string) => string;
export type Rows = Readonly<Partial<Record<AluOp, Emit>>>;

const infix =
  (op: string): Emit =>
  (_, a, b) =>
    `(${a} ${op} ${b})`;
const call =
  (name: string): Emit =>
  (_, a) =>
    `${name}(${a})`;
const call2 =
  (name: string): Emit =>
  (_, a, b) =>
    `${name}(${a}, ${b})`;
const helper2 =
  (name: HelperName): Emit =>
  ({ use }, a, b) =>
    `${use(name)}(${a}, ${b})`;
const where: Emit = (_, c, a, b) => `select(${b}, ${a}, ${c})`;

const compare: Rows = { eq: infix('=='), ne: infix('!='), lt: infix('<'), le: infix('<=') };

const f32: Rows = {
  ...compare,
  // x == x and x != x are tests for NaN, and a compiler must not see through them.
  eq: ({ use }, a, b) => (a === b ? `!${use('is_nan')}(${a})` : `(${a} == ${b})`),
  // Some compilers make != false when either side is NaN; the negation of == is not open to that reading.
  ne: ({ use }, a, b) => (a === b ? `${use('is_nan')}(${a})` : `!(${a} == ${b})`),
  add: infix('+'),
  sub: infix('-'),
  mul: infix('*'),
  div: (wide, a, b, c) => (wide.exactDivision ? infix('/') : helper2('div_f32'))(wide, a, b, c),
  max: helper2('max_f32'),
  min: helper2('min_f32'),
  where,
  neg: (_, a) => `(-${a})`,
  abs: call('abs'),
  floor: call('floor'),
  ceil: call('ceil'),
  trunc: call('trunc'),
  round: call('round'),
  sqrt: ({ use, exactDivision }, a) => `${exactDivision ? 'sqrt' : use('sqrt_f32')}(${a})`,
};

const bits: Rows = { and: infix('&'), or: infix('|'), xor: infix('^') };

const whole = (type: 'i32' | 'u32'): Rows => ({
  ...compare,
  add: infix('+'),
  sub: infix('-'),
  mul: infix('*'),
  idiv: helper2(`idiv_${type}`),
  imod: helper2(`imod_${type}`),
  max: call2('max'),
  min: call2('min'),
  where,
});

// Positions: idiv and imod by constants are the renderer's, which knows the sign.
const index = whole('i32');

const i32: Rows = {
  ...index,
  ...bits,
  neg: (_, a) => `(-${a})`,
  abs: call('abs'),
  not: (_, a) => `(~${a})`,
  shl: helper2('shl_i32'),
  shr: helper2('shr_i32'),
};

const u32: Rows = {
  ...whole('u32'),
  ...bits,
  neg: (_, a) => `(~${a} + 1u)`,
  abs: (_, a) => a,
  not: (_, a) => `(~${a})`,
  shl: helper2('shl_u32'),
  shr: helper2('shr_u32'),
};

const byte =
  (emit: Emit): Emit =>
  (wide, a, b, c) =>
    `(${emit(wide, a, b, c)} & ${wide.byte})`;

const u8: Rows = {
  ...u32,
  add: byte(u32.add!),
  sub: byte(u32.sub!),
  mul: byte(u32.mul!),
  neg: byte(u32.neg!),
  not: byte(u32.not!),
  shl: byte(u32.shl!),
};

const bool: Rows = {
  eq: infix('=='),
  ne: infix('!='),
  lt: (_, a, b) => `(!${a} & ${b})`,
  le: (_, a, b) => `(!${a} | ${b})`,
  and: infix('&'),
  or: infix('|'),
  xor: infix('!='),
  not: (_, a) => `(!${a})`,
  where,
};

const f16: Rows = { where, neg: f32.neg!, abs: f32.abs! };

export const rows: Readonly<Partial<Record<ScalarType, Rows>>> = { f32, f16, i32, u32, u8, bool, index };

/** `caps.native` of a device with these dtypes. */
export function nativeOps(dtypes: ReadonlySet<DType>): Partial<Record<DType, ReadonlySet<AluOp>>> {
  const native: Partial<Record<DType, ReadonlySet<AluOp>>> = {};
  for (const t of dtypes) native[t] = new Set(Object.keys(rows[t] ?? {}) as AluOp[]);
  return native;
}
