// How each scalar type lives in registers, and how it is written as an immediate.
//
//   bool        a predicate            u8   a 32-bit register holding 0 … 255
//   f16, bf16   an f32 register holding a value that the narrow type can represent: products, sums, quotients and roots
//               of such values, computed in f32 and rounded once more, are correctly rounded (24 ≥ 2·11 + 2 bits)
//   index       a signed 32- or 64-bit register, one width per kernel

import { type DType, dtypeInfo } from '../../../base/dtype.ts';
import type { ScalarType } from '../../../kernel/expr.ts';
import type { Block, RegKind } from './code.ts';

export type IndexBits = 32 | 64;

export const isFloatType = (t: ScalarType): boolean => t !== 'index' && dtypeInfo[t].class === 'float';
export const isNarrowFloat = (t: ScalarType): boolean => t === 'f16' || t === 'bf16';

export function kindOf(type: ScalarType, bits: IndexBits): RegKind {
  switch (type) {
    case 'bool':
      return 'p';
    case 'u8':
    case 'i32':
    case 'u32':
      return 'r';
    case 'i64':
    case 'u64':
      return 'd';
    case 'f16':
    case 'bf16':
    case 'f32':
      return 'f';
    case 'f64':
      return 'g';
    case 'index':
      return bits === 32 ? 'r' : 'd';
    default:
      return type satisfies never;
  }
}

/** The type suffix of arithmetic instructions on a value of this type. */
export function suffixOf(type: ScalarType, bits: IndexBits): string {
  switch (type) {
    case 'bool':
      return 'pred';
    case 'u8':
    case 'u32':
      return 'u32';
    case 'i32':
      return 's32';
    case 'i64':
      return 's64';
    case 'u64':
      return 'u64';
    case 'f16':
    case 'bf16':
    case 'f32':
      return 'f32';
    case 'f64':
      return 'f64';
    case 'index':
      return bits === 32 ? 's32' : 's64';
    default:
      return type satisfies never;
  }
}

/** The untyped suffix of moves, selections and bit operations. */
export const bitsSuffix: Readonly<Record<RegKind, string>> = {
  p: 'pred',
  h: 'b16',
  r: 'b32',
  d: 'b64',
  f: 'f32',
  g: 'f64',
};

const view = new DataView(new ArrayBuffer(8));
const hex = (v: number, digits: number): string => v.toString(16).toUpperCase().padStart(digits, '0');

export function f32Literal(v: number): string {
  view.setFloat32(0, v);
  return `0f${hex(view.getUint32(0), 8)}`;
}

export function f64Literal(v: number): string {
  view.setFloat64(0, v);
  return `0d${hex(view.getUint32(0), 8)}${hex(view.getUint32(4), 8)}`;
}

/** An immediate operand; bool constants need a predicate register. */
export function literal(block: Block, type: ScalarType, value: number | bigint): string {
  switch (type) {
    case 'bool':
      return block.def('p', 'setp.ne.u32', value ? 1 : 0, 0);
    case 'f16':
    case 'bf16':
    case 'f32':
      return f32Literal(Number(value));
    case 'f64':
      return f64Literal(Number(value));
    case 'i64':
      return BigInt.asIntN(64, BigInt(value)) === -(2n ** 63n) ? '0x8000000000000000' : `${value}`;
    case 'u64':
      return `0x${BigInt(value).toString(16)}U`;
    case 'u32':
      return `0x${Number(value).toString(16)}U`;
    case 'i32':
    case 'u8':
    case 'index':
      return `${value}`;
    default:
      return type satisfies never;
  }
}

/** How an element is moved between memory and registers. */
export const memorySuffix: Readonly<Record<DType, string>> = {
  bool: 'u8',
  u8: 'u8',
  i32: 'b32',
  u32: 'b32',
  i64: 'b64',
  u64: 'b64',
  f16: 'b16',
  bf16: 'b16',
  f32: 'f32',
  f64: 'f64',
};
