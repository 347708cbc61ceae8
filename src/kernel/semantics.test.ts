import { describe, expect, it } from 'vitest';
import fc from '../../test/support/properties.ts';
import { type DType, dtypeInfo, dtypes, intRange, is64BitInt } from '../base/dtype.ts';
import { type AluOp, aluOps } from './ops.ts';
import { bitcastValue, castValue, erf, floorMod, meaning, roundHalfEven, roundTo, type Value } from './semantics.ts';

const inf = Number.POSITIVE_INFINITY;
const nan = Number.NaN;

/** The op on values of a type, wrapped or rounded to it. */
function apply(op: AluOp, type: DType, ...args: Value[]): Value {
  const [a, b, c] = args as [Value, Value, Value];
  const result = aluOps[op].compares ? 'bool' : type;
  return roundTo[result](meaning(op, type)!(a, b, c));
}

describe('meaning', () => {
  it('exists for exactly the types that the table of ops allows', () => {
    for (const [op, info] of Object.entries(aluOps) as [AluOp, (typeof aluOps)[AluOp]][]) {
      for (const type of dtypes) {
        if (info.classes.includes(dtypeInfo[type].class)) expect(meaning(op, type), `${op} of ${type}`).toBeDefined();
      }
      if (info.classes.includes('index')) expect(meaning(op, 'index'), op).toBeDefined();
    }
    expect(meaning('exp', 'i32')).toBeUndefined();
    expect(meaning('idiv', 'f32')).toBeUndefined();
    expect(meaning('and', 'f64')).toBeUndefined();
  });

  it.each<[AluOp, DType, Value[], Value]>([
    ['add', 'i32', [2 ** 31 - 1, 1], -(2 ** 31)],
    ['sub', 'u32', [0, 1], 2 ** 32 - 1],
    ['mul', 'i32', [65537, 65537], 131073],
    ['mul', 'u32', [2 ** 32 - 1, 2 ** 32 - 1], 1],
    ['mul', 'u8', [200, 2], 144],
    ['neg', 'i32', [-(2 ** 31)], -(2 ** 31)],
    ['abs', 'i32', [-(2 ** 31)], -(2 ** 31)],
    ['neg', 'u8', [1], 255],
    ['add', 'i64', [2n ** 63n - 1n, 1n], -(2n ** 63n)],
    ['abs', 'i64', [-5n], 5n],
    ['mul', 'u64', [2n ** 63n, 2n], 0n],
    ['idiv', 'i32', [-7, 2], -4],
    ['idiv', 'i32', [7, -2], -4],
    ['idiv', 'i32', [7, 0], 0],
    ['idiv', 'i32', [-(2 ** 31), -1], -(2 ** 31)],
    ['imod', 'i32', [-7, 2], 1],
    ['imod', 'i32', [7, -2], -1],
    ['imod', 'i32', [7, 0], 0],
    ['idiv', 'i64', [-7n, 2n], -4n],
    ['imod', 'i64', [-7n, 2n], 1n],
    ['idiv', 'i64', [-6n, 2n], -3n],
    ['idiv', 'u64', [7n, 0n], 0n],
    ['imod', 'u64', [7n, 0n], 0n],
    ['shl', 'i32', [1, 31], -(2 ** 31)],
    ['shl', 'i32', [1, 32], 0],
    ['shl', 'i32', [1, -1], 0],
    ['shr', 'i32', [-8, 1], -4],
    ['shr', 'i32', [-8, 99], -1],
    ['shr', 'i32', [8, 99], 0],
    ['shr', 'u32', [2 ** 31, 31], 1],
    ['shr', 'u8', [255, 8], 0],
    ['shl', 'i64', [1n, 64n], 0n],
    ['shr', 'i64', [-8n, 64n], -1n],
    ['shr', 'i64', [-8n, 1n], -4n],
    ['shr', 'u64', [2n ** 63n, 63n], 1n],
    ['pow', 'i32', [3, 20], -808182895],
    ['pow', 'i32', [-1, -3], -1],
    ['pow', 'i32', [-1, -4], 1],
    ['pow', 'i32', [1, -4], 1],
    ['pow', 'i32', [2, -1], 0],
    ['pow', 'i32', [0, -1], 0],
    ['pow', 'i32', [0, 0], 1],
    ['pow', 'u8', [3, 6], 217],
    ['pow', 'i64', [-3n, 3n], -27n],
    ['max', 'i64', [3n, -4n], 3n],
    ['min', 'u64', [3n, 4n], 3n],
    ['not', 'i32', [0], -1],
    ['not', 'i64', [0n], -1n],
    ['not', 'u8', [1], 254],
    ['not', 'bool', [1], 0],
    ['xor', 'i64', [5n, 3n], 6n],
    ['and', 'u32', [2 ** 32 - 1, 2 ** 31], 2 ** 31],
    ['lt', 'u64', [2n ** 63n, 1n], 0],
    ['le', 'i64', [1n, 1n], 1],
    ['eq', 'i64', [1n, 1n], 1],
    ['ne', 'i32', [1, 1], 0],
    ['max', 'f32', [nan, 1], nan],
    ['min', 'f32', [1, nan], nan],
    ['lt', 'f32', [nan, 1], 0],
    ['ne', 'f32', [nan, nan], 1],
    ['pow', 'f64', [1, nan], 1],
    ['pow', 'f64', [-1, inf], 1],
    ['pow', 'f64', [nan, 0], 1],
    ['pow', 'f64', [-8, 1 / 3], nan],
    ['div', 'f32', [1, -0], -inf],
    ['add', 'f16', [2048, 1], 2048],
    ['add', 'bf16', [256, 1], 256],
    ['mul', 'f32', [16777217, 1], 16777216],
  ])('%s of %s on %o is %o', (op, type, args, want) => {
    expect(apply(op, type, ...args)).toBe(want);
  });

  it('chooses by the condition', () => {
    for (const type of ['i32', 'i64', 'f32', 'bool'] as const) {
      const [p, q]: [Value, Value] = is64BitInt(type) ? [1n, 0n] : [1, 0];
      expect(meaning('where', type)!(1, p, q)).toBe(p);
      expect(meaning('where', type)!(0, p, q)).toBe(q);
    }
  });

  it('agrees with Math where Math has the function', () => {
    const same = [
      'exp',
      'expm1',
      'log',
      'log2',
      'log10',
      'log1p',
      'sin',
      'cos',
      'tan',
      'asin',
      'acos',
      'atan',
    ] as const;
    const more = ['sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'sqrt', 'floor', 'ceil', 'trunc', 'abs'] as const;
    for (const op of [...same, ...more]) {
      for (const x of [-2.5, -0.3, 0, 0.7, 1, 3]) expect(meaning(op, 'f64')!(x, 0, 0)).toBe(Math[op](x));
    }
    expect(meaning('exp2', 'f64')!(0.5, 0, 0)).toBe(Math.SQRT2);
    expect(meaning('atan2', 'f64')!(-0, -1, 0)).toBe(-Math.PI);
  });
});

describe('roundHalfEven', () => {
  it.each([
    [0.5, 0],
    [1.5, 2],
    [2.5, 2],
    [-0.5, -0],
    [-1.5, -2],
    [-2.5, -2],
    [-0.2, -0],
    [-0, -0],
    [0.49999999999999994, 0],
    [2 ** 52 + 1, 2 ** 52 + 1],
    [inf, inf],
    [nan, nan],
  ])('of %d is %d', (x, want) => {
    expect(roundHalfEven(x)).toBe(want);
  });
});

describe('floorMod', () => {
  it.each([
    [7, 3, 1],
    [-7, 3, 2],
    [7, -3, -2],
    [-7, -3, -1],
    [6, -3, -0],
    [-6, 3, 0],
    [5, inf, 5],
    [-5, inf, inf],
    [5, -inf, -inf],
    [inf, 3, nan],
    [3, 0, nan],
    [0, 0, nan],
    [nan, 3, nan],
  ])('of %d and %d is %d, as NumPy has it', (a, b, want) => {
    expect(floorMod(a, b)).toBe(want);
  });
});

describe('castValue', () => {
  it.each<[Value, DType | 'index', DType | 'index', Value]>([
    [2.9, 'f32', 'i32', 2],
    [-2.9, 'f32', 'i32', -2],
    [nan, 'f32', 'i32', 0],
    [nan, 'f64', 'i64', 0n],
    [inf, 'f32', 'i32', 2 ** 31 - 1],
    [-inf, 'f32', 'i64', -(2n ** 63n)],
    [1e20, 'f64', 'u64', 2n ** 64n - 1n],
    [-1, 'f32', 'u8', 0],
    [300, 'f32', 'u8', 255],
    [300, 'i32', 'u8', 44],
    [-1, 'i32', 'u32', 2 ** 32 - 1],
    [2 ** 32 - 1, 'u32', 'i32', -1],
    [-1, 'i32', 'u64', 2n ** 64n - 1n],
    [2n ** 40n + 5n, 'i64', 'i32', 5],
    [2n ** 63n, 'u64', 'i64', -(2n ** 63n)],
    [nan, 'f32', 'bool', 1],
    [-0, 'f32', 'bool', 0],
    [0n, 'i64', 'bool', 0],
    [3n, 'i64', 'bool', 1],
    [1, 'bool', 'f16', 1],
    [0.1, 'f64', 'f32', Math.fround(0.1)],
    [70000, 'f32', 'f16', inf],
    [7, 'index', 'i32', 7],
    [7, 'index', 'i64', 7n],
    [7n, 'i64', 'index', 7],
  ])('%s of %s to %s is %s', (v, from, to, want) => {
    expect(castValue(v, from, to)).toBe(want);
  });

  it.each([
    ['f32', 24],
    ['bf16', 8],
  ] as const)('rounds 64-bit integers to %s once, not by way of a double', (type, precision) => {
    fc.assert(
      fc.property(
        fc.bigInt(2n ** 62n, 2n ** 63n - 1n),
        fc.constantFrom(-1n, 0n, 1n),
        fc.boolean(),
        (v, off, negative) => {
          // Close to the middle between two neighbours, where a first rounding would hide the difference.
          const unit = 1n << BigInt(63 - precision);
          const near = (v / unit) * unit + unit / 2n + off;
          const down = (near / unit) * unit;
          const up = down + unit;
          const even = (down / unit) % 2n === 0n ? down : up;
          const want = Number(off < 0n ? down : off > 0n ? up : even);
          const sign = negative ? -1 : 1;
          expect(castValue(BigInt(sign) * near, 'i64', type)).toBe(sign * want);
        },
      ),
    );
    expect(castValue(2n ** 64n - 1n, 'u64', type)).toBe(2 ** 64);
  });

  it('never leaves the range of an integer type', () => {
    fc.assert(
      fc.property(fc.double(), fc.constantFrom('u8', 'i32', 'u32', 'i64', 'u64'), (v, to) => {
        const got = BigInt(castValue(v, 'f64', to));
        const [low, high] = intRange[to];
        expect(got >= low && got <= high).toBe(true);
      }),
    );
  });
});

describe('bitcastValue', () => {
  it('keeps the bits, there and back', () => {
    expect(bitcastValue(1, 'f32', 'i32')).toBe(0x3f800000);
    expect(bitcastValue(-1, 'f32', 'u32')).toBe(0xbf800000);
    expect(bitcastValue(-1, 'i32', 'u32')).toBe(2 ** 32 - 1);
    expect(bitcastValue(2 ** 31, 'u32', 'f32')).toBe(-0);
    expect(bitcastValue(1, 'f64', 'i64')).toBe(0x3ff0000000000000n);
    expect(bitcastValue(-2, 'f64', 'u64')).toBe(0xc000000000000000n);
    expect(bitcastValue(0x3ff0000000000000n, 'i64', 'f64')).toBe(1);
    expect(bitcastValue(-1n, 'i64', 'u64')).toBe(2n ** 64n - 1n);
    expect(bitcastValue(2n ** 64n - 1n, 'u64', 'i64')).toBe(-1n);
  });
});

describe('erf', () => {
  it.each([
    [0.5, 0.5204998778130465],
    [1, 0.8427007929497149],
    [2, 0.9953222650189527],
    [2.6, 0.9997639655834707],
    [3.5, 0.9999992569016276],
    [-1, -0.8427007929497149],
    [7, 1],
    [-inf, -1],
    [0, 0],
    [nan, nan],
  ])('of %d is %d', (x, want) => {
    if (Number.isNaN(want)) expect(erf(x)).toBe(want);
    else expect(Math.abs(erf(x) - want)).toBeLessThanOrEqual(8 * 2 ** -53);
  });

  it('keeps the sign of zero', () => {
    expect(erf(-0)).toBe(-0);
  });
});
