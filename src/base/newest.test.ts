import { expect, it } from 'vitest';
import { Newest } from './newest.ts';

it('keeps the newest, in both orders, and counts the others', () => {
  const newest = new Newest<number>(3);
  expect([newest.list(), newest.last(2)]).toEqual([[], []]);
  for (let i = 1; i <= 5; i++) newest.push(i);
  expect(newest.list()).toEqual([3, 4, 5]);
  expect(newest.list(2)).toEqual([4, 5]);
  expect([newest.list(0), newest.list(-1), newest.list(Number.NaN), newest.list(9)]).toEqual([[], [], [], [3, 4, 5]]);
  expect([newest.last(2), newest.last(0)]).toEqual([[5, 4], []]);
  expect([...newest.backwards()]).toEqual([5, 4, 3]);
  expect([newest.size, newest.dropped]).toEqual([3, 2]);
  newest.clear();
  expect([newest.list(), newest.size, newest.dropped]).toEqual([[], 0, 0]);
});
