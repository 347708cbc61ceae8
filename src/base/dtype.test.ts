import { describe, expect, it } from 'vitest';
import {
  accumulatorFor,
  byteSize,
  type DType,
  dtypeInfo,
  dtypes,
  floatFor,
  intRange,
  is64BitInt,
  isFloat,
  isInt,
  isSigned,
  promote,
  sumTypeFor,
} from './dtype.ts';

// np.promote_types of every pair, in the order of `dtypes`; bf16 as f16, and f32 for the two together.
const numpy = `
bool bool u8  i32 u32 i64 u64 f16 bf16 f32 f64
u8   u8   u8  i32 u32 i64 u64 f16 bf16 f32 f64
i32  i32  i32 i32 i64 i64 f64 f64 f64  f64 f64
u32  u32  u32 i64 u32 i64 u64 f64 f64  f64 f64
i64  i64  i64 i64 i64 i64 f64 f64 f64  f64 f64
u64  u64  u64 f64 u64 f64 u64 f64 f64  f64 f64
f16  f16  f16 f64 f64 f64 f64 f16 f32  f32 f64
bf16 bf16 bf16 f64 f64 f64 f64 f32 bf16 f32 f64
f32  f32  f32 f64 f64 f64 f64 f32 f32  f32 f64
f64  f64  f64 f64 f64 f64 f64 f64 f64  f64 f64`
  .trim()
  .split('\n')
  .map((line) => line.split(/\s+/) as [DType, ...DType[]]);

describe('promotion', () => {
  it.each(numpy)('of %s is what NumPy does', (a, ...results) => {
    expect(dtypes.map((b) => promote(a, b))).toEqual(results);
  });
});

describe('dtypes', () => {
  it('have ids in their order and arrays of their width', () => {
    dtypes.forEach((t, i) => {
      expect(dtypeInfo[t].id).toBe(i);
      expect(new dtypeInfo[t].storage(new ArrayBuffer(16)).BYTES_PER_ELEMENT).toBe(byteSize(t));
    });
  });

  it('know their classes', () => {
    expect(dtypes.filter(isFloat)).toEqual(['f16', 'bf16', 'f32', 'f64']);
    expect(dtypes.filter(isInt)).toEqual(['u8', 'i32', 'u32', 'i64', 'u64']);
    expect(dtypes.filter(is64BitInt)).toEqual(['i64', 'u64']);
    expect(dtypes.filter((t) => isInt(t) && isSigned(t))).toEqual(['i32', 'i64']);
  });

  it('have the range of their width', () => {
    for (const [t, [low, high]] of Object.entries(intRange)) {
      expect(high - low + 1n).toBe(2n ** BigInt(8 * byteSize(t as DType)));
    }
  });

  it('are computed, summed and accumulated in types that hold the result', () => {
    expect(dtypes.map(floatFor)).toEqual(['f32', 'f32', 'f64', 'f64', 'f64', 'f64', 'f16', 'bf16', 'f32', 'f64']);
    const sums = dtypes.map((t) => sumTypeFor(t, 10));
    expect(sums).toEqual(['i32', 'u64', 'i64', 'u64', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64']);
    // A sum of bools is a count: i32 as long as that holds it.
    expect([2 ** 31 - 1, 2 ** 31].map((n) => sumTypeFor('bool', n))).toEqual(['i32', 'i64']);
    expect(dtypes.map(accumulatorFor)).toEqual(['bool', 'u8', 'i32', 'u32', 'i64', 'u64', 'f32', 'f32', 'f32', 'f64']);
  });
});
