import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Rate } from './rate.ts';

let now = 0;
beforeEach(() => {
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const takes = (rate: Rate, count: number): boolean[] => Array.from({ length: count }, () => rate.take());

it('lets through as many at once as were held back, and no more', () => {
  const rate = new Rate(1000, 10);
  expect(takes(rate, 11)).toEqual([...Array(10).fill(true), false]);
  now += 3;
  expect(takes(rate, 4)).toEqual([true, true, true, false]);
  // A long rest is worth no more than the burst.
  now += 60_000;
  expect(takes(rate, 11).filter(Boolean)).toHaveLength(10);
});

it('lets one through at a time where a burst would be less than one', () => {
  const rate = new Rate(20, 0.2);
  expect(takes(rate, 2)).toEqual([true, false]);
  now += 49;
  expect(rate.take()).toBe(false);
  now += 1;
  expect(rate.take()).toBe(true);
});
