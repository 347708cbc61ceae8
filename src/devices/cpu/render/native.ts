// The ops the renderer expresses by itself, per dtype. Everything else is decomposed before it gets here.

import type { DType } from '../../../base/dtype.ts';
import type { AluOp } from '../../../kernel/ops.ts';

const compare: readonly AluOp[] = ['eq', 'ne', 'lt', 'le', 'where'];
const bits: readonly AluOp[] = ['and', 'or', 'xor', 'not'];
const arithmetic: readonly AluOp[] = ['add', 'sub', 'mul', 'max', 'min', 'neg', 'abs'];
const wide = new Set<AluOp>([...compare, ...bits, ...arithmetic, 'shl', 'shr']);
const int = new Set<AluOp>([...wide, 'idiv', 'imod']);
const float = new Set<AluOp>([...compare, ...arithmetic, 'div', 'floor', 'ceil', 'trunc', 'round', 'sqrt']);

export const cpuNative: Readonly<Record<DType, ReadonlySet<AluOp>>> = {
  bool: new Set<AluOp>([...compare, ...bits]),
  u8: int,
  i32: int,
  u32: int,
  // 64-bit numbers divide one by one: a decomposition finds those that divide as doubles.
  i64: wide,
  u64: wide,
  f16: float,
  bf16: float,
  f32: float,
  f64: float,
};
