import { describe, expect, it } from 'vitest';
import { assumedMb, type SizeLimits, sizeFor } from './memory-size.ts';

const limits: SizeLimits = { maxBatchSize: 1000, minBatchSize: 1, safetyMargin: 0.2 };

describe('the size of a batch', () => {
  it('is what fits beside the margin, exactly', () => {
    expect(sizeFor(limits, 500, 100, 1)).toBe(80);
    expect(sizeFor(limits, 500, 99.9, 1)).toBe(79);
    // 1 - 0.8 is a little less than 0.2.
    expect(sizeFor({ ...limits, safetyMargin: 0.8 }, 500, 10, 1)).toBe(2);
    expect(sizeFor({ ...limits, safetyMargin: 0 }, 500, 10, 0.1)).toBe(100);
  });

  it('keeps to the limits, and to the items there are', () => {
    expect(sizeFor(limits, 5, 1e9, 1)).toBe(5);
    expect(sizeFor(limits, 5000, 1e9, 1)).toBe(1000);
    expect(sizeFor({ ...limits, minBatchSize: 7 }, 500, 0, 1)).toBe(7);
    expect(sizeFor({ ...limits, minBatchSize: 7 }, 3, 0, 1)).toBe(3);
  });

  it('assumes what is not known: some memory, and items that take none', () => {
    expect(sizeFor({ ...limits, safetyMargin: 0 }, 5000, null, 1)).toBe(assumedMb);
    expect(sizeFor(limits, 5000, null, 0)).toBe(1000);
  });
});
