// The ten element types: their sizes, classes, host arrays and promotion.
//
// Promotion of two arrays follows NumPy; bf16 behaves as f16 does there, and f16 with bf16 gives f32. A JavaScript
// scalar is weak: it takes the array's dtype if that can hold its kind, else the smallest default that can.

export const dtypes = ['bool', 'u8', 'i32', 'u32', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64'] as const;
export type DType = (typeof dtypes)[number];

export type DTypeClass = 'bool' | 'int' | 'float';

export type TypedArray =
  | Uint8Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Uint16Array
  | Float32Array
  | Float64Array;

interface DTypeInfo {
  readonly id: number;
  readonly bytes: 1 | 2 | 4 | 8;
  readonly class: DTypeClass;
  readonly signed: boolean;
  /** The array that holds the raw bits of elements of this type; f16 and bf16 have no array of their own. */
  readonly storage: new (
    buffer: ArrayBufferLike,
    byteOffset?: number,
    length?: number,
  ) => TypedArray;
}

export const dtypeInfo: Readonly<Record<DType, DTypeInfo>> = {
  bool: { id: 0, bytes: 1, class: 'bool', signed: false, storage: Uint8Array },
  u8: { id: 1, bytes: 1, class: 'int', signed: false, storage: Uint8Array },
  i32: { id: 2, bytes: 4, class: 'int', signed: true, storage: Int32Array },
  u32: { id: 3, bytes: 4, class: 'int', signed: false, storage: Uint32Array },
  i64: { id: 4, bytes: 8, class: 'int', signed: true, storage: BigInt64Array },
  u64: { id: 5, bytes: 8, class: 'int', signed: false, storage: BigUint64Array },
  f16: { id: 6, bytes: 2, class: 'float', signed: true, storage: Uint16Array },
  bf16: { id: 7, bytes: 2, class: 'float', signed: true, storage: Uint16Array },
  f32: { id: 8, bytes: 4, class: 'float', signed: true, storage: Float32Array },
  f64: { id: 9, bytes: 8, class: 'float', signed: true, storage: Float64Array },
};

/** What `data()` returns for each dtype. f16 and bf16 are widened to f32, which is exact. */
export interface HostArrays {
  bool: Uint8Array;
  u8: Uint8Array;
  i32: Int32Array;
  u32: Uint32Array;
  i64: BigInt64Array;
  u64: BigUint64Array;
  f16: Float32Array;
  bf16: Float32Array;
  f32: Float32Array;
  f64: Float64Array;
}

export const isFloat = (t: DType): boolean => dtypeInfo[t].class === 'float';
export const isInt = (t: DType): boolean => dtypeInfo[t].class === 'int';
export const is64BitInt = (t: DType): boolean => t === 'i64' || t === 'u64';
export const isSigned = (t: DType): boolean => dtypeInfo[t].signed;
export const byteSize = (t: DType): number => dtypeInfo[t].bytes;

/** Smallest and largest value of an integer dtype. */
export const intRange: Readonly<Record<'u8' | 'i32' | 'u32' | 'i64' | 'u64', readonly [bigint, bigint]>> = {
  u8: [0n, 255n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u32: [0n, 2n ** 32n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
};

// Upper triangle of NumPy's promotion table, in the order of `dtypes`.
const promotionRows: readonly (readonly DType[])[] = [
  ['bool', 'u8', 'i32', 'u32', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64'],
  ['u8', 'i32', 'u32', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64'],
  ['i32', 'i64', 'i64', 'f64', 'f64', 'f64', 'f64', 'f64'],
  ['u32', 'i64', 'u64', 'f64', 'f64', 'f64', 'f64'],
  ['i64', 'f64', 'f64', 'f64', 'f64', 'f64'],
  ['u64', 'f64', 'f64', 'f64', 'f64'],
  ['f16', 'f32', 'f32', 'f64'],
  ['bf16', 'f32', 'f64'],
  ['f32', 'f64'],
  ['f64'],
];

/** The dtype of `a op b` for two arrays. */
export function promote(a: DType, b: DType): DType {
  if (a === b) return a;
  const i = dtypeInfo[a].id;
  const j = dtypeInfo[b].id;
  return i < j ? promotionRows[i]![j - i]! : promotionRows[j]![i - j]!;
}

/** The float dtype in which `div`, `exp`, `mean` … of this dtype are computed. Small integers stay in f32. */
export function floatFor(t: DType): DType {
  if (isFloat(t)) return t;
  return t === 'bool' || t === 'u8' ? 'f32' : 'f64';
}

/** The dtype of positions among `count` elements: i32, or i64 where that cannot count them. */
export const positionType = (count: number): 'i32' | 'i64' => (count <= 2 ** 31 ? 'i32' : 'i64');

/**
 * The dtype in which sums and products of `count` elements of this dtype are returned: NumPy's, so that integer sums do not wrap.
 * Sums of bools are counts.
 */
export function sumTypeFor(t: DType, count: number): DType {
  if (isFloat(t)) return t;
  if (t === 'bool') return positionType(count + 1);
  return t === 'u8' || t === 'u32' || t === 'u64' ? 'u64' : 'i64';
}

/** The dtype in which a reduction of this dtype accumulates. */
export const accumulatorFor = (t: DType): DType => (t === 'f16' || t === 'bf16' ? 'f32' : t);

/** Bools as 0 and 1; bytes from outside may hold anything for true. The same bytes where nothing has to change. */
export function canonicalBools(bytes: Uint8Array): Uint8Array {
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i]! > 1) return bytes.map((b) => (b ? 1 : 0));
  }
  return bytes;
}
