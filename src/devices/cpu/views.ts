// One stretch of bytes seen as every element type: a small buffer's own storage, or the whole WebAssembly memory.
//
// Views are made when first asked for. The tiny-kernel interpreter and the host-side routines address both kinds of
// storage in the same way: a view and the position of the first element in it.

import { byteSize, type DType, dtypes, type TypedArray } from '../../base/dtype.ts';

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

/** Bytes up to which arrays lie on the JavaScript heap: there a loop has copied them before a call that copies has begun. */
const fewBytes = 64;

/** A copy of neighbouring elements in an array of its own. */
export function copyOf(v: Views, { view, few, bytes }: Form, at: number, count: number): TypedArray {
  const from = view(v);
  return few !== null && count * bytes <= fewBytes ? few(from, at, count) : from.slice(at, at + count);
}

type CopyFew = (from: TypedArray, at: number, count: number) => TypedArray;

type NumberArray = Exclude<TypedArray, BigInt64Array | BigUint64Array>;

/** One function a type: each becomes machine code of its own. The bits of a NaN may change on their way through a number, so those are left to the call. */
const copying =
  <A extends NumberArray>(make: (count: number) => A): CopyFew =>
  (from, at, count) => {
    const to = make(count);
    for (let i = 0; i < count; i++) {
      const value = (from as A)[at + i]!;
      if (Number.isNaN(value)) return from.slice(at, at + count);
      to[i] = value;
    }
    return to;
  };

const [bytes, halves] = [copying((n) => new Uint8Array(n)), copying((n) => new Uint16Array(n))];

const fewOf: Readonly<Partial<Record<DType, CopyFew>>> = {
  bool: bytes,
  u8: bytes,
  f16: halves,
  bf16: halves,
  i32: copying((n) => new Int32Array(n)),
  u32: copying((n) => new Uint32Array(n)),
  f32: copying((n) => new Float32Array(n)),
  f64: copying((n) => new Float64Array(n)),
};

/** How elements of a type are read: one look into a table, which takes a part of a small read. */
export class Form {
  readonly bytes: number;
  readonly view: (v: Views) => TypedArray;
  /** Copies a few elements; null where that is left to the call. */
  readonly few: CopyFew | null;

  constructor(type: DType) {
    this.bytes = byteSize(type);
    this.view = viewOf[type];
    this.few = fewOf[type] ?? null;
  }
}

export const forms = Object.fromEntries(dtypes.map((t) => [t, new Form(t)])) as Readonly<Record<DType, Form>>;
