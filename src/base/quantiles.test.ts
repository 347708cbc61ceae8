import { describe, expect, it } from 'vitest';
import { quantile, quantilesOf } from './quantiles.ts';

describe('a quantile', () => {
  it('is the smallest sample that at least this share does not exceed', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
    expect([0, 0.01, 0.011, 0.5, 0.501, 0.99, 0.991, 1].map((share) => quantile(hundred, share))).toEqual([
      1, 1, 2, 50, 51, 99, 100, 100,
    ]);
    expect([0, 0.5, 0.99, 1].map((share) => quantile([7], share))).toEqual([7, 7, 7, 7]);
  });

  it('of few samples hides no outlier', () => {
    expect(quantilesOf([1, 900, 2, 3])).toEqual({ p50: 2, p99: 900, max: 900 });
    // As numbers, not as text.
    expect(quantilesOf([10, 9, 100])).toEqual({ p50: 10, p99: 100, max: 100 });
    expect(quantilesOf([])).toBeNull();
  });
});
