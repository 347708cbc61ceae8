// What a reduction starts from: the value that changes nothing when it is combined with another.

import { type DType, is64BitInt } from '../base/dtype.ts';
import type { ReduceOp } from './ops.ts';
import type { Value } from './semantics.ts';

/** The identity of max. */
export const lowest: Readonly<Record<DType, Value>> = {
  bool: 0,
  u8: 0,
  u32: 0,
  u64: 0n,
  i32: -(2 ** 31),
  i64: -(2n ** 63n),
  f16: Number.NEGATIVE_INFINITY,
  bf16: Number.NEGATIVE_INFINITY,
  f32: Number.NEGATIVE_INFINITY,
  f64: Number.NEGATIVE_INFINITY,
};

/** The identity of min. */
export const highest: Readonly<Record<DType, Value>> = {
  bool: 1,
  u8: 255,
  u32: 2 ** 32 - 1,
  u64: 2n ** 64n - 1n,
  i32: 2 ** 31 - 1,
  i64: 2n ** 63n - 1n,
  f16: Number.POSITIVE_INFINITY,
  bf16: Number.POSITIVE_INFINITY,
  f32: Number.POSITIVE_INFINITY,
  f64: Number.POSITIVE_INFINITY,
};

/** For argmax and argmin: of the value that is compared, not of the position. */
export function identityOf(op: ReduceOp, type: DType): Value {
  switch (op) {
    case 'sum':
      return is64BitInt(type) ? 0n : 0;
    case 'prod':
      return is64BitInt(type) ? 1n : 1;
    case 'max':
    case 'argmax':
      return lowest[type];
    case 'min':
    case 'argmin':
      return highest[type];
    case 'any':
      return 0;
    case 'all':
      return 1;
    default:
      return op satisfies never;
  }
}
