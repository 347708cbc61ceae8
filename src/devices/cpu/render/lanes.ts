// How values lie in vector registers.
//
// A body of the generated loops handles `lanes` neighbouring elements at once. A value of w-bit lanes then takes
// lanes·w/128 registers, its parts; if that is less than one, the low lanes of one register. f16 and bf16 are held as the f32
// values they stand for. A bool is a mask of all ones or zeros, of whatever width its user wants.

import { byteSize, type DType } from '../../../base/dtype.ts';
import type { Alu, ScalarType } from '../../../kernel/expr.ts';
import type { Code } from '../wasm/code.ts';

export type Width = 8 | 16 | 32 | 64;

/** The type of arithmetic that a scalar type is computed in. */
export type LaneType = 'u8' | 'i32' | 'u32' | 'i64' | 'u64' | 'f32' | 'f64';

const laneTypes: Readonly<Record<Exclude<ScalarType, 'bool'>, LaneType>> = {
  u8: 'u8',
  i32: 'i32',
  u32: 'u32',
  i64: 'i64',
  u64: 'u64',
  f16: 'f32',
  bf16: 'f32',
  f32: 'f32',
  f64: 'f64',
  index: 'i32',
};

export const laneType = (t: ScalarType): LaneType => laneTypes[t as Exclude<ScalarType, 'bool'>];

const widths: Readonly<Record<ScalarType, Width>> = {
  bool: 8,
  u8: 8,
  i32: 32,
  u32: 32,
  f16: 32,
  bf16: 32,
  f32: 32,
  index: 32,
  i64: 64,
  u64: 64,
  f64: 64,
};

/** Lane width of a type while it is computed with. */
export const widthOf = (t: ScalarType): Width => widths[t];

/** Whether the mask of a choice has the parts that its arms have: numbers as wide are compared. */
export function hasMask({ type, src: [condition] }: Alu): boolean {
  const compared = condition!.kind === 'alu' ? condition!.src[0]! : null;
  return compared !== null && widthOf(compared.type) === widthOf(type);
}

/** Lane width of a type in memory. */
export const storedWidth = (t: DType): Width => (8 * byteSize(t)) as Width;

/** Registers that `lanes` lanes of a width take. */
export const partsFor = (lanes: number, width: number): number => Math.max(1, (lanes * width) / 128);

/** Loads of one lane, by its width. */
export const laneLoads = {
  8: 'v128.load8_lane',
  16: 'v128.load16_lane',
  32: 'v128.load32_lane',
  64: 'v128.load64_lane',
} as const;

/** Stores of one lane, by its width. */
export const laneStores = {
  8: 'v128.store8_lane',
  16: 'v128.store16_lane',
  32: 'v128.store32_lane',
  64: 'v128.store64_lane',
} as const;

const lowLoads = {
  8: 'v128.load8_splat',
  16: 'v128.load16_splat',
  32: 'v128.load32_zero',
  64: 'v128.load64_zero',
  128: 'v128.load',
} as const;

/** Loads the low bits of a vector, or all of it, from the address on the stack; `align` as far as the instruction takes it. */
export function loadLow(c: Code, bits: number, offset: number, align = 0): Code {
  return c.mem(lowLoads[bits as keyof typeof lowLoads], offset, Math.min(align, Math.log2(bits / 8)));
}

/** Stores the low bits of the vector on the stack, or all of it, at the address below it. */
export function storeLow(c: Code, bits: number, offset: number, align = 0): Code {
  const most = Math.min(align, Math.log2(bits / 8));
  return bits === 128 ? c.mem('v128.store', offset, most) : c.memLane(laneStores[bits as Width], 0, offset, most);
}

export const shapes = { 8: 'i8x16', 16: 'i16x8', 32: 'i32x4', 64: 'i64x2' } as const;

/** The instruction prefix of a lane type. */
export const shapeOf = {
  u8: 'i8x16',
  i32: 'i32x4',
  u32: 'i32x4',
  i64: 'i64x2',
  u64: 'i64x2',
  f32: 'f32x4',
  f64: 'f64x2',
} as const satisfies Record<LaneType, string>;

/** The 16 bytes of a vector with one value in all lanes. */
export function splatBytes(type: ScalarType, value: number | bigint): Uint8Array {
  const bytes = new Uint8Array(16);
  if (type === 'bool') return bytes.fill(value ? 255 : 0);
  if (type === 'u8') return bytes.fill(Number(value));
  const view = new DataView(bytes.buffer);
  const lane = laneType(type);
  for (let i = 0; i < 16; i += widthOf(type) / 8) {
    if (lane === 'f32') view.setFloat32(i, Number(value), true);
    else if (lane === 'f64') view.setFloat64(i, Number(value), true);
    else if (lane === 'i64' || lane === 'u64') view.setBigInt64(i, BigInt(value), true);
    else view.setInt32(i, Number(BigInt.asIntN(32, BigInt(value))), true);
  }
  return bytes;
}

/** Byte lists for `i8x16.shuffle`: lanes of a width, named by number over both operands. */
export function shuffleOf(width: Width, lanes: readonly number[]): number[] {
  const n = width / 8;
  return lanes.flatMap((lane) => Array.from({ length: n }, (_, i) => lane * n + i));
}
