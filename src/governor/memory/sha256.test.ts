import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import fc from '../../../test/support/properties.ts';
import { sha256 } from './sha256.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

it('knows the published examples', () => {
  const text = (s: string): string => hex(sha256(new TextEncoder().encode(s)));
  expect(text('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(text('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

it('agrees with the platform on any bytes, around block borders too', () => {
  const reference = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
  for (const n of [55, 56, 63, 64, 65, 119, 120, 128]) {
    const bytes = new Uint8Array(n).map((_, i) => i * 37);
    expect(hex(sha256(bytes))).toBe(reference(bytes));
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1000 }), (bytes) => {
      expect(hex(sha256(bytes))).toBe(reference(bytes));
    }),
    { numRuns: 300 },
  );
});
