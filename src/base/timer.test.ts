import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { waited } from './timer.ts';

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
