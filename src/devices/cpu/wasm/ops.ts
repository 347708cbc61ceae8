// The WebAssembly instructions, as tables: name → opcode and kind of immediate.
//
// Numbers are prefix·0x10000 + code, with prefix 0 for single-byte opcodes. They are those that kernels and routines use; the gaps
// are others. Source: the WebAssembly core, threads and relaxed-SIMD specifications.

/** Names given in opcode order from `first`; an empty name is a gap. */
function run<const N extends string>(first: number, names: readonly N[]): Record<Exclude<N, ''>, number> {
  const table: Record<string, number> = {};
  names.forEach((name, i) => {
    if (name) table[name] = first + i;
  });
  return table as Record<Exclude<N, ''>, number>;
}

const simd = 0xfd0000;
const atomic = 0xfe0000;
const misc = 0xfc0000;

/** No immediates. */
export const plainOps = {
  ...run(0x00, ['unreachable', 'nop']),
  ...run(0x0f, ['return']),
  ...run(0x1a, ['drop', 'select']),
  ...run(0x45, ['i32.eqz', 'i32.eq', 'i32.ne', 'i32.lt_s', 'i32.lt_u', 'i32.gt_s', 'i32.gt_u', 'i32.le_s', 'i32.le_u']),
  ...run(0x4e, ['', 'i32.ge_u', 'i64.eqz', 'i64.eq', 'i64.ne', 'i64.lt_s', 'i64.lt_u', 'i64.gt_s', 'i64.gt_u']),
  ...run(0x57, ['i64.le_s', 'i64.le_u', '', 'i64.ge_u']),
  ...run(0x5b, ['f32.eq', 'f32.ne', 'f32.lt', 'f32.gt', 'f32.le', 'f32.ge']),
  ...run(0x61, ['f64.eq', 'f64.ne', 'f64.lt', 'f64.gt', 'f64.le', 'f64.ge']),
  ...run(0x67, ['i32.clz', 'i32.ctz', 'i32.popcnt', 'i32.add', 'i32.sub', 'i32.mul', 'i32.div_s', 'i32.div_u']),
  ...run(0x6f, ['i32.rem_s', 'i32.rem_u', 'i32.and', 'i32.or', 'i32.xor', 'i32.shl', 'i32.shr_s', 'i32.shr_u']),
  ...run(0x77, ['', '', 'i64.clz', 'i64.ctz', 'i64.popcnt', 'i64.add', 'i64.sub', 'i64.mul']),
  ...run(0x7f, ['i64.div_s', 'i64.div_u', 'i64.rem_s', 'i64.rem_u', 'i64.and', 'i64.or', 'i64.xor', 'i64.shl']),
  ...run(0x87, ['i64.shr_s', 'i64.shr_u']),
  ...run(0x8b, ['f32.abs', 'f32.neg', 'f32.ceil', 'f32.floor', 'f32.trunc', 'f32.nearest', 'f32.sqrt', 'f32.add']),
  ...run(0x93, ['f32.sub', 'f32.mul', 'f32.div', 'f32.min', 'f32.max']),
  ...run(0x99, ['f64.abs', 'f64.neg', 'f64.ceil', 'f64.floor', 'f64.trunc', 'f64.nearest', 'f64.sqrt', 'f64.add']),
  ...run(0xa1, ['f64.sub', 'f64.mul', 'f64.div', 'f64.min', 'f64.max']),
  ...run(0xa7, ['i32.wrap_i64']),
  ...run(0xac, ['', 'i64.extend_i32_u']),
  ...run(0xb1, ['', '', '', 'f32.convert_i64_s', 'f32.convert_i64_u']),
  ...run(0xb6, ['f32.demote_f64', '', '', 'f64.convert_i64_s', 'f64.convert_i64_u']),
  ...run(0xbb, ['f64.promote_f32', 'i32.reinterpret_f32']),
  ...run(misc, ['', '', 'i32.trunc_sat_f64_s', 'i32.trunc_sat_f64_u']),
  ...run(misc + 4, ['', '', 'i64.trunc_sat_f64_s', 'i64.trunc_sat_f64_u']),
  ...run(simd + 14, ['', 'i8x16.splat', 'i16x8.splat', 'i32x4.splat', 'i64x2.splat', 'f32x4.splat']),
  ...run(simd + 20, ['f64x2.splat']),
  ...run(simd + 35, ['i8x16.eq', 'i8x16.ne', 'i8x16.lt_s', 'i8x16.lt_u', 'i8x16.gt_s', 'i8x16.gt_u', 'i8x16.le_s']),
  ...run(simd + 42, ['i8x16.le_u', '', 'i8x16.ge_u']),
  ...run(simd + 45, ['i16x8.eq', 'i16x8.ne', 'i16x8.lt_s', 'i16x8.lt_u', 'i16x8.gt_s', 'i16x8.gt_u', 'i16x8.le_s']),
  ...run(simd + 52, ['i16x8.le_u', '', 'i16x8.ge_u']),
  ...run(simd + 55, ['i32x4.eq', 'i32x4.ne', 'i32x4.lt_s', 'i32x4.lt_u', 'i32x4.gt_s', 'i32x4.gt_u', 'i32x4.le_s']),
  ...run(simd + 62, ['i32x4.le_u', '', 'i32x4.ge_u']),
  ...run(simd + 65, ['f32x4.eq', 'f32x4.ne', 'f32x4.lt', 'f32x4.gt', 'f32x4.le', 'f32x4.ge']),
  ...run(simd + 71, ['f64x2.eq', 'f64x2.ne', 'f64x2.lt', 'f64x2.gt', 'f64x2.le', 'f64x2.ge']),
  ...run(simd + 77, ['v128.not', 'v128.and', 'v128.andnot', 'v128.or', 'v128.xor', 'v128.bitselect', 'v128.any_true']),
  ...run(simd + 94, ['f32x4.demote_f64x2_zero', 'f64x2.promote_low_f32x4', 'i8x16.abs', 'i8x16.neg', 'i8x16.popcnt']),
  ...run(simd + 99, ['i8x16.all_true', 'i8x16.bitmask', 'i8x16.narrow_i16x8_s', 'i8x16.narrow_i16x8_u']),
  ...run(simd + 103, ['f32x4.ceil', 'f32x4.floor', 'f32x4.trunc', 'f32x4.nearest']),
  ...run(simd + 107, ['i8x16.shl', 'i8x16.shr_s', 'i8x16.shr_u', 'i8x16.add']),
  ...run(simd + 113, ['i8x16.sub', '', '', 'f64x2.ceil', 'f64x2.floor', 'i8x16.min_s']),
  ...run(simd + 119, ['i8x16.min_u', 'i8x16.max_s', 'i8x16.max_u', 'f64x2.trunc']),
  ...run(simd + 124, ['i16x8.extadd_pairwise_i8x16_s']),
  ...run(simd + 126, ['i32x4.extadd_pairwise_i16x8_s', '', 'i16x8.abs', 'i16x8.neg']),
  ...run(simd + 130, ['', 'i16x8.all_true', 'i16x8.bitmask', 'i16x8.narrow_i32x4_s']),
  ...run(simd + 134, ['i16x8.narrow_i32x4_u', 'i16x8.extend_low_i8x16_s', 'i16x8.extend_high_i8x16_s']),
  ...run(simd + 137, [
    'i16x8.extend_low_i8x16_u',
    'i16x8.extend_high_i8x16_u',
    'i16x8.shl',
    'i16x8.shr_s',
    'i16x8.shr_u',
  ]),
  ...run(simd + 142, ['i16x8.add', '', '', 'i16x8.sub']),
  ...run(simd + 147, ['', 'f64x2.nearest', 'i16x8.mul', 'i16x8.min_s', 'i16x8.min_u', 'i16x8.max_s']),
  ...run(simd + 153, ['i16x8.max_u']),
  ...run(simd + 158, ['i16x8.extmul_low_i8x16_u', 'i16x8.extmul_high_i8x16_u', 'i32x4.abs', 'i32x4.neg']),
  ...run(simd + 163, [
    'i32x4.all_true',
    'i32x4.bitmask',
    '',
    '',
    'i32x4.extend_low_i16x8_s',
    'i32x4.extend_high_i16x8_s',
  ]),
  ...run(simd + 169, ['i32x4.extend_low_i16x8_u', 'i32x4.extend_high_i16x8_u', 'i32x4.shl', 'i32x4.shr_s']),
  ...run(simd + 173, ['i32x4.shr_u', 'i32x4.add', '', '', 'i32x4.sub', '', '', '', 'i32x4.mul', 'i32x4.min_s']),
  ...run(simd + 183, ['i32x4.min_u', 'i32x4.max_s', 'i32x4.max_u', '', '', '']),
  ...run(simd + 192, ['i64x2.abs', 'i64x2.neg', '', 'i64x2.all_true', 'i64x2.bitmask']),
  ...run(simd + 199, ['i64x2.extend_low_i32x4_s', 'i64x2.extend_high_i32x4_s', 'i64x2.extend_low_i32x4_u']),
  ...run(simd + 202, ['i64x2.extend_high_i32x4_u', 'i64x2.shl', 'i64x2.shr_s', 'i64x2.shr_u', 'i64x2.add']),
  ...run(simd + 209, ['i64x2.sub', '', '', '', 'i64x2.mul', 'i64x2.eq', 'i64x2.ne', 'i64x2.lt_s', 'i64x2.gt_s']),
  ...run(simd + 218, ['i64x2.le_s']),
  ...run(simd + 222, ['i64x2.extmul_low_i32x4_u', 'i64x2.extmul_high_i32x4_u', 'f32x4.abs', 'f32x4.neg']),
  ...run(simd + 227, ['f32x4.sqrt', 'f32x4.add', 'f32x4.sub', 'f32x4.mul', 'f32x4.div', 'f32x4.min', 'f32x4.max']),
  ...run(simd + 234, [
    'f32x4.pmin',
    'f32x4.pmax',
    'f64x2.abs',
    'f64x2.neg',
    '',
    'f64x2.sqrt',
    'f64x2.add',
    'f64x2.sub',
  ]),
  ...run(simd + 242, ['f64x2.mul', 'f64x2.div', 'f64x2.min', 'f64x2.max', 'f64x2.pmin', 'f64x2.pmax']),
  ...run(simd + 248, ['i32x4.trunc_sat_f32x4_s', 'i32x4.trunc_sat_f32x4_u', 'f32x4.convert_i32x4_s']),
  ...run(simd + 251, ['f32x4.convert_i32x4_u', 'i32x4.trunc_sat_f64x2_s_zero', 'i32x4.trunc_sat_f64x2_u_zero']),
  ...run(simd + 254, ['f64x2.convert_low_i32x4_s', 'f64x2.convert_low_i32x4_u']),
  ...run(simd + 0x103, ['', '', 'f32x4.relaxed_madd']),
  ...run(simd + 0x106, ['', 'f64x2.relaxed_madd', '', 'i8x16.relaxed_laneselect']),
  ...run(simd + 0x10a, ['i16x8.relaxed_laneselect', 'i32x4.relaxed_laneselect', 'i64x2.relaxed_laneselect']),
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
  ...run(simd + 21, ['', 'i8x16.extract_lane_u', 'i8x16.replace_lane']),
  ...run(simd + 25, ['i16x8.extract_lane_u', 'i16x8.replace_lane', 'i32x4.extract_lane', 'i32x4.replace_lane']),
  ...run(simd + 29, ['i64x2.extract_lane', 'i64x2.replace_lane', 'f32x4.extract_lane', 'f32x4.replace_lane']),
  ...run(simd + 33, ['f64x2.extract_lane', 'f64x2.replace_lane']),
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
  'memory.size': 0x3f,
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
