// How each element type is held in WGSL: as a value, in a storage buffer, and in a scratch word.
//
// u8 and bool live as bytes packed in u32 words; an invocation that stores them owns whole words. Values of u8 are u32
// kept within 0 … 255. Positions (`index`) are i32.

import type { DType } from '../../../base/dtype.ts';
import { DTypeError } from '../../../errors.ts';
import type { ScalarType } from '../../../kernel/expr.ts';

export type ValueType = 'f32' | 'f16' | 'i32' | 'u32' | 'bool';
export type Width = 1 | 4;

interface Held {
  /** The WGSL type of a value. */
  readonly value: ValueType;
  /** The element type of a storage buffer; bytes are four to a word. */
  readonly storage: 'f32' | 'f16' | 'i32' | 'u32';
  readonly packed: boolean;
}

const held: Readonly<Partial<Record<ScalarType, Held>>> = {
  f32: { value: 'f32', storage: 'f32', packed: false },
  f16: { value: 'f16', storage: 'f16', packed: false },
  i32: { value: 'i32', storage: 'i32', packed: false },
  u32: { value: 'u32', storage: 'u32', packed: false },
  u8: { value: 'u32', storage: 'u32', packed: true },
  bool: { value: 'bool', storage: 'u32', packed: true },
  index: { value: 'i32', storage: 'i32', packed: false },
};

export function heldAs(type: ScalarType): Held {
  const h = held[type];
  if (!h) {
    throw new DTypeError({
      code: 'DTYPE_UNSUPPORTED',
      message: `webgpu: WGSL has no type that holds ${type}`,
      fix: 'Place this work on a device that lists the dtype in caps.dtypes (cpu or cuda), or cast to f32 or i32 first.',
      where: 'webgpu',
    });
  }
  return h;
}

export const isPacked = (type: DType): boolean => heldAs(type).packed;

/** `f32`, or `vec4<f32>`. */
export const vectorOf = (value: string, width: Width): string => (width === 4 ? `vec4<${value}>` : value);

export const valueName = (type: ScalarType, width: Width): string => vectorOf(heldAs(type).value, width);

/** A value as the u32 word in which scratch buffers keep it, and back. f16 is kept as the f32 of the same value. */
export const scratchWords: Readonly<
  Record<ValueType, { readonly to: (v: string, w: Width) => string; readonly from: (v: string, w: Width) => string }>
> = {
  f32: { to: (v, w) => `bitcast<${vectorOf('u32', w)}>(${v})`, from: (v, w) => `bitcast<${vectorOf('f32', w)}>(${v})` },
  f16: {
    to: (v, w) => `bitcast<${vectorOf('u32', w)}>(${vectorOf('f32', w)}(${v}))`,
    from: (v, w) => `${vectorOf('f16', w)}(bitcast<${vectorOf('f32', w)}>(${v}))`,
  },
  i32: { to: (v, w) => `bitcast<${vectorOf('u32', w)}>(${v})`, from: (v, w) => `bitcast<${vectorOf('i32', w)}>(${v})` },
  u32: { to: (v) => v, from: (v) => v },
  bool: { to: (v, w) => `${vectorOf('u32', w)}(${v})`, from: (v, w) => `(${v} != ${vectorOf('u32', w)}(0u))` },
};
