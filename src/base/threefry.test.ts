import { describe, expect, it } from 'vitest';
import { threefry } from './threefry.ts';

/** Digits of pi, which published answers are given for. */
const [key, counter] = [
  [0x13198a2e, 0x03707344],
  [0x243f6a88, 0x85a308d3],
] as const;

describe('Threefry-2x32', () => {
  it.each([
    [13, [0x9d1c5ec6, 0x8bd50731], [0xfd36d048, 0x2d17272c], [0xba3e4725, 0xf27d669e]],
    [20, [0x6b200159, 0x99ba4efe], [0x1cb996fc, 0xbb002be7], [0xc4923a9c, 0x483df7a0]],
  ])('has the published words with %i rounds', (rounds, zeros, ones, digits) => {
    expect(threefry(0, 0, 0, 0, rounds)).toEqual(zeros);
    expect(threefry(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, rounds)).toEqual(ones);
    expect(threefry(...key, ...counter, rounds)).toEqual(digits);
  });

  it('changes half of the bits of a draw with any bit of its key or counter', () => {
    const inputs = [1, 2, 3, 4];
    const bits = (v: number): number => v.toString(2).replaceAll('0', '').length;
    for (let bit = 0; bit < 128; bit++) {
      let changed = 0;
      const draws = 200;
      for (let i = 0; i < draws; i++) {
        const at = inputs.map((v) => (v * 2654435761 * (i + 1)) >>> 0) as [number, number, number, number];
        const other = [...at] as typeof at;
        other[bit >> 5] = (other[bit >> 5]! ^ (1 << (bit & 31))) >>> 0;
        const [a, b] = threefry(...at);
        const [c, d] = threefry(...other);
        changed += bits((a ^ c) >>> 0) + bits((b ^ d) >>> 0);
      }
      // Of 64 bits 32, give or take five standard errors.
      expect(Math.abs(changed / draws - 32)).toBeLessThan((5 * 4) / Math.sqrt(draws));
    }
  });
});
