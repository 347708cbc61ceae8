// Each limit of exploring by itself.

import { describe, expect, it } from 'vitest';
import { Exploration } from './explore.ts';
import type { Prediction } from './types.ts';

const limits = { maxShare: 0.02, maxRatio: 1.4, minSamples: 4, maxMs: 20 };
const made = (routedUs = 1e9): Exploration => {
  const exploration = new Exploration(limits);
  exploration.routed(routedUs);
  return exploration;
};
const predicted = (us: number, samples = 0, penalty = 1): Prediction => ({
  device: 'x',
  us,
  launch: 0,
  work: us,
  transfer: 0,
  penalty,
  samples,
});
const free = (): number => 0;
/** Whether the second device is tried beside a first that takes 100 µs and was measured three times. */
const tries = (other: Prediction, exploration = made(), extra: (i: number) => number | null = free): boolean =>
  exploration.tryOther([predicted(100, 3), other], 0, extra) === 1;

describe('another device is tried', () => {
  it('if it is predicted to take at most 1.4 times as long', () => {
    expect([tries(predicted(140)), tries(predicted(141)), tries(predicted(50))]).toEqual([true, false, true]);
  });

  it('while it was measured less often, and fewer than four times', () => {
    const of = (chosen: number, other: number): number =>
      made().tryOther([predicted(100, chosen), predicted(100, other)], 0, free);
    expect([of(3, 2), of(3, 3), of(1, 0), of(0, 0)]).toEqual([1, -1, 1, -1]);
    expect([of(8, 3), of(8, 4), of(9, 0)]).toEqual([1, -1, -1]);
  });

  it('unless it failed lately, may not be tried, or its call takes more than 20 ms', () => {
    expect([tries(predicted(100)), tries(predicted(100, 0, 1.5))]).toEqual([true, false]);
    expect(tries(predicted(100), made(), () => null)).toBe(false);
    const long = (us: number): number => made().tryOther([predicted(us, 3), predicted(us)], 0, free);
    expect([long(20_000), long(20_001)]).toEqual([1, -1]);
  });

  it('as long as all that was lost is at most two per cent of what was routed', () => {
    // 40 µs are lost each time, of 2 % of 10,000.
    const exploration = made(10_000);
    expect(Array.from({ length: 6 }, () => tries(predicted(140), exploration))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(exploration.lostUs).toBe(200);
    exploration.routed(2000);
    expect(tries(predicted(140), exploration)).toBe(true);
    // What making the program takes counts too.
    expect(tries(predicted(100), made(10_000), () => 201)).toBe(false);
  });

  it('never where exploring is switched off', () => {
    const off = new Exploration(false);
    off.routed(1e9);
    expect(off.tryOther([predicted(100, 3), predicted(100)], 0, free)).toBe(-1);
  });
});
