// How close work came to what the device can do, and what kept it from more.

import { expect, it } from 'vitest';
import type { Roof } from '../file/types.ts';
import { reached } from './roofline.ts';

/** 100 GB/s, 1,000 GFLOP/s, launches of 5 µs. */
const roof = { memoryGBs: 100, gflops: 1000, launchUs: 5 } as Roof;

it('says how much of the roof work reached, and whether memory or arithmetic bounds it', () => {
  // 1 MB takes 10 µs at best, 1 MFLOP one.
  expect(reached(roof, 0.02, 1e6, 1e6)).toEqual({ share: 0.5, bound: 'memory' });
  expect(reached(roof, 0.1, 1e6, 50e6)).toEqual({ share: 0.5, bound: 'compute' });
});

it('says that a launch bounds what takes no longer than one', () => {
  expect(reached(roof, 0.005, 1e5, 1)).toEqual({ share: null, bound: 'launch' });
  expect(reached(roof, 0.0051, 1e5, 1).bound).toBe('memory');
});

it('claims nothing where the calibration is missing or was disturbed', () => {
  expect(reached(roof, 0.009, 1e6, 1).share).toBeCloseTo(10 / 9);
  // More than a quarter faster than the best that was measured.
  expect(reached(roof, 0.0079, 1e6, 1)).toEqual({ share: null, bound: 'memory' });
  expect(reached(null, 1, 1, 1)).toEqual({ share: null, bound: null });
  expect(reached(roof, 1, null, 1)).toEqual({ share: null, bound: null });
  expect(reached(roof, 0, 1e6, 1)).toEqual({ share: null, bound: null });
  expect(reached(roof, 1, 0, 0)).toEqual({ share: null, bound: null });
});
