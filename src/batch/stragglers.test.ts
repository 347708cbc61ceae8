import { expect, it } from 'vitest';
import { straggleMs } from './stragglers.ts';

it('a chunk straggles after a multiple of the median time, known from three chunks on', () => {
  expect([[], [5], [5, 5]].map((times) => straggleMs(times, 3))).toEqual([null, null, null]);
  expect(straggleMs([900, 1, 2], 3)).toBe(6);
  // By value, not as text: 100 comes last.
  expect(straggleMs([100, 20, 3, 9, 10], 2)).toBe(20);
});
