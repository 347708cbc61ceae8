import { describe, expect, it } from 'vitest';
import { Murmur } from './murmur.ts';

const hash = (bytes: Uint8Array, seed = 0): string => new Murmur(seed).update(bytes).digest();
const text = (s: string): Uint8Array => new TextEncoder().encode(s);

describe('MurmurHash3 of 128 bits', () => {
  it('is that of the published algorithm', () => {
    expect(hash(text(''))).toBe('0'.repeat(32));
    expect(hash(text('The quick brown fox jumps over the lazy dog'))).toBe('2f1583c3ecee2c675d7bf66ce5e91d2c');
    expect(hash(text('The quick brown fox jumps over the lazy cog'))).not.toBe('2f1583c3ecee2c675d7bf66ce5e91d2c');
  });

  it('is the same in pieces and at odd addresses, and sees every bit, the length and the seed', () => {
    const bytes = Uint8Array.from({ length: 75 }, (_, i) => (i * 37 + 11) % 256);
    const whole = hash(bytes);
    expect(new Murmur().update(bytes.subarray(0, 32)).update(bytes.subarray(32)).digest()).toBe(whole);
    const odd = new Uint8Array(80);
    odd.set(bytes, 3);
    expect(hash(odd.subarray(3, 78))).toBe(whole);
    const seen = new Set([whole, hash(bytes, 1), hash(bytes.subarray(0, 74))]);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const other = bytes.slice();
      other[bit >> 3]! ^= 1 << (bit & 7);
      seen.add(hash(other));
    }
    expect(seen.size).toBe(3 + 8 * bytes.length);
    expect(() => new Murmur().update(bytes).update(bytes)).toThrow(/multiple of 16/);
  });
});
