import { expect, it } from 'vitest';
import { at, curveOf, scaled } from './curve.ts';

it('goes through its points, on straight lines between them, flat below', () => {
  const c = curveOf([
    [1000, 30],
    [10, 5],
    [100, 10],
  ]);
  expect([1, 10, 55, 100, 550, 1000].map((n) => at(c, n))).toEqual([5, 5, 7.5, 10, 20, 30]);
});

it('goes on as it went between the last two points', () => {
  const c = curveOf([
    [100, 10],
    [200, 15],
  ]);
  expect(at(c, 300)).toBe(20);
  expect(at(c, 2200)).toBe(115);
});

it('grows a little even where the last two points lie flat', () => {
  const c = curveOf([
    [100, 10],
    [200, 10],
  ]);
  expect(at(c, 20_200)).toBeCloseTo(10 + 20_000 * 0.1 * (10 / 200));
});

it('is in proportion if there is one point only, and 0 if there is none', () => {
  expect(at(curveOf([[100, 10]]), 1000)).toBe(100);
  expect(at(curveOf([]), 1000)).toBe(0);
});

it('does not take a disturbed small point for the truth about large ones', () => {
  const c = curveOf([
    [10, 500],
    [100, 10],
    [1000, 20],
  ]);
  expect(c.y).toEqual([10, 10, 20]);
});

it('can be scaled, and leaves out points without meaning', () => {
  expect(at(scaled(curveOf([[100, 10]]), 3), 100)).toBe(30);
  expect(
    curveOf([
      [0, 1],
      [5, 0],
      [7, 1],
      [7, 2],
    ]),
  ).toEqual({ x: [7], y: [1] });
});
