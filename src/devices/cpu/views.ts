// One stretch of bytes seen as every element type: a small buffer's own storage, or the whole WebAssembly memory.
//
// Views are made when first asked for. The tiny-kernel interpreter and the host-side routines address both kinds of
// storage in the same way: a view and the position of the first element in it.

import type { DType, TypedArray } from '../../base/dtype.ts';

export class Views {
  readonly buffer: ArrayBufferLike;
  #u8: Uint8Array | null = null;
  #u16: Uint16Array | null = null;
  #i32: Int32Array | null = null;
  #u32: Uint32Array | null = null;
  #i64: BigInt64Array | null = null;
  #u64: BigUint64Array | null = null;
  #f32: Float32Array | null = null;
  #f64: Float64Array | null = null;

  constructor(buffer: ArrayBufferLike) {
    this.buffer = buffer;
  }

  get u8(): Uint8Array {
    return (this.#u8 ??= new Uint8Array(this.buffer));
  }
  get u16(): Uint16Array {
    return (this.#u16 ??= new Uint16Array(this.buffer));
  }
  get i32(): Int32Array {
    return (this.#i32 ??= new Int32Array(this.buffer));
  }
  get u32(): Uint32Array {
    return (this.#u32 ??= new Uint32Array(this.buffer));
  }
  get i64(): BigInt64Array {
    return (this.#i64 ??= new BigInt64Array(this.buffer));
  }
  get u64(): BigUint64Array {
    return (this.#u64 ??= new BigUint64Array(this.buffer));
  }
  get f32(): Float32Array {
    return (this.#f32 ??= new Float32Array(this.buffer));
  }
  get f64(): Float64Array {
    return (this.#f64 ??= new Float64Array(this.buffer));
  }
}

/** The view that holds elements of a type as they are stored; f16 and bf16 as their 16 bits. */
export const viewOf: Readonly<Record<DType, (v: Views) => TypedArray>> = {
  bool: (v) => v.u8,
  u8: (v) => v.u8,
  i32: (v) => v.i32,
  u32: (v) => v.u32,
  i64: (v) => v.i64,
  u64: (v) => v.u64,
  f16: (v) => v.u16,
  bf16: (v) => v.u16,
  f32: (v) => v.f32,
  f64: (v) => v.f64,
};
