import { describe, expect, it } from 'vitest';
import fc from '../../../test/support/properties.ts';
import { roundSize } from './rounding.ts';

const MB = 2 ** 20;

describe('rounding', () => {
  const checks: [number, number][] = [
    [0.5, 0.5],
    [0.71, 0.8],
    [0.95, 1.0],
    [1, 1],
    [1.5, 2],
    [10, 10],
    [10.1, 20],
    [15, 20],
    [99, 100],
    [100, 100],
    [101, 150],
    [150, 150],
  ];
  it.each(checks)('by table: %d MB → %d MB', (size, expected) => {
    expect(roundSize(Math.floor(size * MB), 'table')).toBe(Math.ceil(expected * MB));
  });

  it.each(checks)('fine: %d MB gets at most a sixteenth more', (size) => {
    const bytes = Math.floor(size * MB);
    const step = 2 ** (Math.floor(Math.log2(bytes)) - 4);
    expect(roundSize(bytes, 'fine')).toBe(Math.ceil(bytes / step) * step);
    expect(roundSize(bytes, 'fine') / bytes).toBeLessThanOrEqual(1.0625);
  });

  it.each(checks)('none: %d MB stays as it is', (size) => {
    expect(roundSize(Math.floor(size * MB), 'none')).toBe(Math.floor(size * MB));
  });

  it('is stable, never too small, monotonous and in whole bytes', () => {
    const size = fc.integer({ min: 1, max: 2 ** 40 });
    fc.assert(
      fc.property(size, size, fc.constantFrom('fine' as const, 'table' as const, 'none' as const), (a, b, mode) => {
        const [p, q] = [roundSize(a, mode), roundSize(b, mode)];
        expect(Number.isSafeInteger(p)).toBe(true);
        expect(p).toBeGreaterThanOrEqual(a);
        expect(roundSize(p, mode)).toBe(p);
        if (a <= b) expect(p).toBeLessThanOrEqual(q);
      }),
      { numRuns: 3000 },
    );
  });

  it('fine wastes at most 6.25 % from 4 KiB on, and gives words', () => {
    fc.assert(
      fc.property(fc.integer({ min: 257, max: 2 ** 36 }), (bytes) => {
        const size = roundSize(bytes, 'fine');
        expect(size % 16).toBe(0);
        if (bytes >= 4096) expect(size / bytes).toBeLessThanOrEqual(1.0625);
      }),
    );
  });
});
