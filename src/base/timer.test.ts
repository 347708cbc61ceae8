import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { after, waited } from './timer.ts';

it('a time longer than what timers hold is long, not over at once', async () => {
  let over = 0;
  const cancel = [2 ** 31, 2 ** 32 + 1, 2 ** 53, Number.POSITIVE_INFINITY].map((ms) => after(ms, () => over++));
  await waited(20);
  for (const stop of cancel) stop();
  expect(over).toBe(0);
});

it('a wait says whether it went to its end, and leaves no listener', async () => {
  const controller = new AbortController();
  const listeners = (): number => getEventListeners(controller.signal, 'abort').length;
  expect(await waited(1, controller.signal)).toBe(true);
  expect(listeners()).toBe(0);
  const long = waited(2 ** 40, controller.signal);
  expect(listeners()).toBe(1);
  controller.abort();
  expect(await long).toBe(false);
  expect(await waited(1, controller.signal)).toBe(false);
});
