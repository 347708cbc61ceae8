import { expect, it, vi } from 'vitest';
import { systemClock } from '../profile/clock.ts';
import { endsWithin } from './ends-within.ts';

const month = 31 * 24 * 3600 * 1000;

it('work with a month of time is not over at once', async () => {
  const work = new Promise((resolve) => setTimeout(resolve, 20));
  expect(await endsWithin(month, work)).toBe(true);
  const called = vi.fn();
  const cancel = systemClock.after(month, called);
  await new Promise((resolve) => setTimeout(resolve, 20));
  cancel();
  expect(called).not.toHaveBeenCalled();
});
