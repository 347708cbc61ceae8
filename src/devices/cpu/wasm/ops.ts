// The WebAssembly instructions, as tables: name → opcode and kind of immediate.
//
// Numbers are prefix·0x10000 + code, with prefix 0 for single-byte opcodes. They are those that kernels and routines use; the gaps
// are others. Source: the WebAssembly core, threads and relaxed-SIMD specifications.

type Words<L extends string> = L extends `${infer First} ${infer Others}` ? First | Words<Others> : L;
type Named<S extends string, L extends string> = Record<
  S extends '' ? Words<L> : `${S}.${Exclude<Words<L>, '-'>}`,
  number
>;

/** Names of one type, in opcode order from `first`; a dash is a gap. */
function run<const S extends string, const L extends string>(first: number, shape: S, names: L): Named<S, L> {
  const table: Record<string, number> = {};
  names.split(' ').forEach((name, i) => {
    if (name !== '-') table[shape ? `${shape}.${name}` : name] = first + i;
  });
  return table as Named<S, L>;
}

const simd = 0xfd0000;
const atomic = 0xfe0000;
const misc = 0xfc0000;

// Instructions that several types have in the same order.
const compares = 'eq ne lt_s lt_u gt_s gt_u le_s le_u - ge_u';
const floatCompares = 'eq ne lt gt le ge';
const wholes = 'clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u';
const floats = 'abs neg ceil floor trunc nearest sqrt add sub mul div min max';
const shifts = 'shl shr_s shr_u add - - sub';
const floatLanes = 'abs neg - sqrt add sub mul div min max pmin pmax';

/** No immediates. */
export const plainOps = {
  ...run(0x0, '', 'unreachable nop'),
  ...run(0xf, '', 'return'),
  ...run(0x1a, '', 'drop select'),
  ...run(0x45, 'i32', 'eqz'),
  ...run(0x46, 'i32', compares),
  ...run(0x50, 'i64', 'eqz'),
  ...run(0x51, 'i64', compares),
  ...run(0x5b, 'f32', floatCompares),
  ...run(0x61, 'f64', floatCompares),
  ...run(0x67, 'i32', wholes),
  ...run(0x79, 'i64', wholes),
  ...run(0x8b, 'f32', floats),
  ...run(0x99, 'f64', floats),
  ...run(0xa7, 'i32', 'wrap_i64'),
  ...run(0xad, 'i64', 'extend_i32_u'),
  ...run(0xb4, 'f32', 'convert_i64_s convert_i64_u demote_f64'),
  ...run(0xb9, 'f64', 'convert_i64_s convert_i64_u promote_f32'),
  ...run(0xbc, 'i32', 'reinterpret_f32'),
  ...run(misc + 2, 'i32', 'trunc_sat_f64_s trunc_sat_f64_u'),
  ...run(misc + 6, 'i64', 'trunc_sat_f64_s trunc_sat_f64_u'),
  ...run(simd + 15, 'i8x16', 'splat'),
  ...run(simd + 16, 'i16x8', 'splat'),
  ...run(simd + 17, 'i32x4', 'splat'),
  ...run(simd + 18, 'i64x2', 'splat'),
  ...run(simd + 19, 'f32x4', 'splat'),
  ...run(simd + 20, 'f64x2', 'splat'),
  ...run(simd + 35, 'i8x16', compares),
  ...run(simd + 45, 'i16x8', compares),
  ...run(simd + 55, 'i32x4', compares),
  ...run(simd + 65, 'f32x4', floatCompares),
  ...run(simd + 71, 'f64x2', floatCompares),
  ...run(simd + 77, 'v128', 'not and andnot or xor bitselect any_true'),
  ...run(simd + 94, 'f32x4', 'demote_f64x2_zero'),
  ...run(simd + 95, 'f64x2', 'promote_low_f32x4'),
  ...run(simd + 96, 'i8x16', 'abs neg popcnt all_true bitmask narrow_i16x8_s narrow_i16x8_u'),
  ...run(simd + 103, 'f32x4', 'ceil floor trunc nearest'),
  ...run(simd + 107, 'i8x16', shifts),
  ...run(simd + 116, 'f64x2', 'ceil floor'),
  ...run(simd + 118, 'i8x16', 'min_s min_u max_s max_u'),
  ...run(simd + 122, 'f64x2', 'trunc'),
  ...run(simd + 124, 'i16x8', 'extadd_pairwise_i8x16_s'),
  ...run(simd + 126, 'i32x4', 'extadd_pairwise_i16x8_s'),
  ...run(simd + 128, 'i16x8', 'abs neg - all_true bitmask narrow_i32x4_s narrow_i32x4_u'),
  ...run(simd + 135, 'i16x8', 'extend_low_i8x16_s extend_high_i8x16_s extend_low_i8x16_u extend_high_i8x16_u'),
  ...run(simd + 139, 'i16x8', shifts),
  ...run(simd + 148, 'f64x2', 'nearest'),
  ...run(simd + 149, 'i16x8', 'mul min_s min_u max_s max_u'),
  ...run(simd + 158, 'i16x8', 'extmul_low_i8x16_u extmul_high_i8x16_u'),
  ...run(simd + 160, 'i32x4', 'abs neg - all_true bitmask'),
  ...run(simd + 167, 'i32x4', 'extend_low_i16x8_s extend_high_i16x8_s extend_low_i16x8_u extend_high_i16x8_u'),
  ...run(simd + 171, 'i32x4', shifts),
  ...run(simd + 181, 'i32x4', 'mul min_s min_u max_s max_u'),
  ...run(simd + 192, 'i64x2', 'abs neg - all_true bitmask'),
  ...run(simd + 199, 'i64x2', 'extend_low_i32x4_s extend_high_i32x4_s extend_low_i32x4_u extend_high_i32x4_u'),
  ...run(simd + 203, 'i64x2', shifts),
  ...run(simd + 213, 'i64x2', 'mul eq ne lt_s gt_s le_s'),
  ...run(simd + 222, 'i64x2', 'extmul_low_i32x4_u extmul_high_i32x4_u'),
  ...run(simd + 224, 'f32x4', floatLanes),
  ...run(simd + 236, 'f64x2', floatLanes),
  ...run(simd + 248, 'i32x4', 'trunc_sat_f32x4_s trunc_sat_f32x4_u'),
  ...run(simd + 250, 'f32x4', 'convert_i32x4_s convert_i32x4_u'),
  ...run(simd + 252, 'i32x4', 'trunc_sat_f64x2_s_zero trunc_sat_f64x2_u_zero'),
  ...run(simd + 254, 'f64x2', 'convert_low_i32x4_s convert_low_i32x4_u'),
  ...run(simd + 0x105, 'f32x4', 'relaxed_madd'),
  ...run(simd + 0x107, 'f64x2', 'relaxed_madd'),
  ...run(simd + 0x109, 'i8x16', 'relaxed_laneselect'),
  ...run(simd + 0x10a, 'i16x8', 'relaxed_laneselect'),
  ...run(simd + 0x10b, 'i32x4', 'relaxed_laneselect'),
  ...run(simd + 0x10c, 'i64x2', 'relaxed_laneselect'),
} as const;

/** Memory instructions: opcode and log2 of the natural alignment. */
const aligned = <const N extends string>(first: number, log2: readonly number[], names: readonly N[]) =>
  Object.fromEntries(names.map((name, i) => [name, { code: first + i, align: log2[i]! }])) as Record<
    N,
    { readonly code: number; readonly align: number }
  >;

/** Loads and stores: alignment and offset follow. */
export const memoryOps = {
  ...aligned(
    0x28,
    [2, 3, 2, 3, 0, 0, 1, 1],
    ['i32.load', 'i64.load', 'f32.load', 'f64.load', 'i32.load8_s', 'i32.load8_u', 'i32.load16_s', 'i32.load16_u'],
  ),
  ...aligned(
    0x30,
    [0, 0, 1, 1, 2, 2],
    ['i64.load8_s', 'i64.load8_u', 'i64.load16_s', 'i64.load16_u', 'i64.load32_s', 'i64.load32_u'],
  ),
  ...aligned(
    0x36,
    [2, 3, 2, 3, 0, 1, 0, 1, 2],
    [
      'i32.store',
      'i64.store',
      'f32.store',
      'f64.store',
      'i32.store8',
      'i32.store16',
      'i64.store8',
      'i64.store16',
      'i64.store32',
    ],
  ),
  ...aligned(
    simd,
    [4, 3, 3, 3, 3, 3, 3],
    [
      'v128.load',
      'v128.load8x8_s',
      'v128.load8x8_u',
      'v128.load16x4_s',
      'v128.load16x4_u',
      'v128.load32x2_s',
      'v128.load32x2_u',
    ],
  ),
  ...aligned(
    simd + 7,
    [0, 1, 2, 3, 4],
    ['v128.load8_splat', 'v128.load16_splat', 'v128.load32_splat', 'v128.load64_splat', 'v128.store'],
  ),
  ...aligned(simd + 92, [2, 3], ['v128.load32_zero', 'v128.load64_zero']),
} as const;

/** Loads and stores of one lane: alignment, offset, lane. */
export const memoryLaneOps = {
  ...aligned(simd + 84, [0, 1, 2, 3], ['v128.load8_lane', 'v128.load16_lane', 'v128.load32_lane', 'v128.load64_lane']),
  ...aligned(
    simd + 88,
    [0, 1, 2, 3],
    ['v128.store8_lane', 'v128.store16_lane', 'v128.store32_lane', 'v128.store64_lane'],
  ),
} as const;

/** One lane number follows. */
export const laneOps = {
  ...run(simd + 22, 'i8x16', 'extract_lane_u replace_lane'),
  ...run(simd + 25, 'i16x8', 'extract_lane_u replace_lane'),
  ...run(simd + 27, 'i32x4', 'extract_lane replace_lane'),
  ...run(simd + 29, 'i64x2', 'extract_lane replace_lane'),
  ...run(simd + 31, 'f32x4', 'extract_lane replace_lane'),
  ...run(simd + 33, 'f64x2', 'extract_lane replace_lane'),
} as const;

/** One unsigned number follows: a local, function or label, or reserved bytes. */
export const numberOps = {
  br: 0x0c,
  br_if: 0x0d,
  call: 0x10,
  'local.get': 0x20,
  'local.set': 0x21,
  'local.tee': 0x22,
  'global.get': 0x23,
  'global.set': 0x24,
  'memory.grow': 0x40,
  'memory.fill': misc + 11,
  'atomic.fence': atomic + 3,
} as const;

/** A block type follows. */
export const blockOps = { block: 0x02, loop: 0x03, if: 0x04 } as const;

/** Those with immediates of their own. */
export const specialOps = {
  else: 0x05,
  end: 0x0b,
  br_table: 0x0e,
  'i32.const': 0x41,
  'i64.const': 0x42,
  'f32.const': 0x43,
  'f64.const': 0x44,
  'memory.copy': misc + 10,
  'v128.const': simd + 12,
  'i8x16.shuffle': simd + 13,
} as const;

export type PlainOp = keyof typeof plainOps;
export type MemoryOp = keyof typeof memoryOps;
export type MemoryLaneOp = keyof typeof memoryLaneOps;
export type LaneOp = keyof typeof laneOps;

/** Kinds of immediates, as the decoder needs them. */
export type OpKind = 'plain' | 'memory' | 'memoryLane' | 'lane' | 'number' | 'block' | 'special';

/** Opcode → name and kind. */
export function opNames(): ReadonlyMap<number, { readonly name: string; readonly kind: OpKind }> {
  const map = new Map<number, { name: string; kind: OpKind }>();
  const add = (kind: OpKind, table: Readonly<Record<string, number | { readonly code: number }>>): void => {
    for (const [name, op] of Object.entries(table)) map.set(typeof op === 'number' ? op : op.code, { name, kind });
  };
  add('plain', plainOps);
  add('memory', memoryOps);
  add('memoryLane', memoryLaneOps);
  add('lane', laneOps);
  add('number', numberOps);
  add('block', blockOps);
  add('special', specialOps);
  return map;
}
