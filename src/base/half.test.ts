import { describe, expect, it } from 'vitest';
import fc from '../../test/support/properties.ts';
import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16, roundToBf16, roundToF16 } from './half.ts';

const patterns = Array.from({ length: 65536 }, (_, i) => i);
const formats = [
  { name: 'f16', toNumber: f16ToNumber, toBits: numberToF16, infinity: 0x7c00, nan: 0x7e00 },
  { name: 'bf16', toNumber: bf16ToNumber, toBits: numberToBf16, infinity: 0x7f80, nan: 0x7fc0 },
];

describe.each(formats)('$name', ({ toNumber, toBits, infinity, nan }) => {
  it('gives every bit pattern back', () => {
    const changed = patterns.filter((bits) => {
      const value = toNumber(bits);
      return toBits(value) !== (Number.isNaN(value) ? nan : bits);
    });
    expect(changed).toEqual([]);
  });

  it('keeps the order of positive patterns', () => {
    const positive = patterns.slice(0, infinity);
    expect(positive.filter((bits) => !(toNumber(bits) < toNumber(bits + 1)))).toEqual([]);
  });

  it('rounds to the nearest, ties to even, straight from the double', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: infinity - 2 }), fc.boolean(), (bits, negative) => {
        const [low, high] = [toNumber(bits), toNumber(bits + 1)];
        const sign = negative ? -1 : 1;
        const signBit = negative ? 0x8000 : 0;
        const middle = (low + high) / 2;
        const even = bits % 2 === 0 ? bits : bits + 1;
        expect(toBits(sign * middle)).toBe(signBit | even);
        // Just beside the middle, closer than an f32 can tell.
        expect(toBits(sign * (middle + (high - low) * 2 ** -30))).toBe(signBit | (bits + 1));
        expect(toBits(sign * (middle - (high - low) * 2 ** -30))).toBe(signBit | bits);
      }),
    );
  });

  it('has zeros of both signs, infinities and NaN', () => {
    expect(toBits(0)).toBe(0);
    expect(toBits(-0)).toBe(0x8000);
    expect(Object.is(toNumber(0x8000), -0)).toBe(true);
    expect(toBits(Number.POSITIVE_INFINITY)).toBe(infinity);
    expect(toBits(Number.NEGATIVE_INFINITY)).toBe(0x8000 | infinity);
    expect(toBits(Number.NaN)).toBe(nan);
    expect(toBits(1e300)).toBe(infinity);
    expect(toBits(-1e300)).toBe(0x8000 | infinity);
    expect(toBits(1e-300)).toBe(0);
    expect(toBits(-1e-300)).toBe(0x8000);
  });
});

it('rounds values', () => {
  expect(roundToF16(0.1)).toBe(0.0999755859375);
  expect(roundToF16(65519.9)).toBe(65504);
  expect(roundToF16(65520)).toBe(Number.POSITIVE_INFINITY);
  expect(roundToBf16(0.1)).toBe(0.10009765625);
  expect(roundToBf16(3.4e38)).toBe(Number.POSITIVE_INFINITY);
});
