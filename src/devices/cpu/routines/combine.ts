// How scans and scatters combine two values of a type: both are on the stack, one is left.

import type { DType } from '../../../base/dtype.ts';
import type { Func } from '../wasm/module.ts';
import type { PlainOp } from '../wasm/ops.ts';
import { machines } from './emit.ts';

export type CombineOp = 'sum' | 'prod' | 'max' | 'min';

type Emit = (f: Func) => void;

const one =
  (op: PlainOp): Emit =>
  (f) => {
    f.code.op(op);
  };

/** There is no integer max: keep one of the two by comparing. */
const choose =
  (type: DType, keepFirst: PlainOp): Emit =>
  (f) => {
    const [a, b] = temporaries(f, machines[type].value);
    f.code.set(b).set(a).get(a).get(b).get(a).get(b).ops(keepFirst, 'select');
  };

const pairs = new WeakMap<Func, Map<string, readonly [number, number]>>();

function temporaries(f: Func, type: 'i32' | 'i64' | 'f32' | 'f64'): readonly [number, number] {
  const known = pairs.get(f) ?? new Map<string, readonly [number, number]>();
  pairs.set(f, known);
  const made = known.get(type) ?? [f.local(type), f.local(type)];
  known.set(type, made);
  return made;
}

const signed = (t: 'i32' | 'i64'): Record<CombineOp, Emit> => ({
  sum: one(`${t}.add`),
  prod: one(`${t}.mul`),
  max: choose(t, `${t}.gt_s`),
  min: choose(t, `${t}.lt_s`),
});
const unsigned = (type: 'u8' | 'u32' | 'u64', t: 'i32' | 'i64'): Record<CombineOp, Emit> => ({
  sum: one(`${t}.add`),
  prod: one(`${t}.mul`),
  max: choose(type, `${t}.gt_u`),
  min: choose(type, `${t}.lt_u`),
});
const float = (t: 'f32' | 'f64'): Record<CombineOp, Emit> => ({
  sum: one(`${t}.add`),
  prod: one(`${t}.mul`),
  max: one(`${t}.max`),
  min: one(`${t}.min`),
});

/** f16 and bf16 are widened before they come here. */
export const combineOps: Readonly<Record<Exclude<DType, 'f16' | 'bf16'>, Readonly<Record<CombineOp, Emit>>>> = {
  bool: { sum: one('i32.or'), prod: one('i32.and'), max: one('i32.or'), min: one('i32.and') },
  // The store keeps the low eight bits; extremes are taken of values below 256.
  u8: unsigned('u8', 'i32'),
  i32: signed('i32'),
  u32: unsigned('u32', 'i32'),
  i64: signed('i64'),
  u64: unsigned('u64', 'i64'),
  f32: float('f32'),
  f64: float('f64'),
};

export const isHalf = (t: DType): t is 'f16' | 'bf16' => t === 'f16' || t === 'bf16';
