// Time as recovery sees it: a steady clock and timers, replaceable so that tests need not wait.

import { idle } from '../../base/platform.ts';

export interface Clock {
  /** Milliseconds, steady, from any origin. */
  now(): number;
  /** Calls back once after `ms`; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
}

const clockOf = (started: (timer: ReturnType<typeof setTimeout>) => unknown): Clock => ({
  now: () => performance.now(),
  after: (ms, callback) => {
    // Longer timers than this fire at once in JavaScript.
    const timer = setTimeout(callback, Math.min(ms, 2 ** 31 - 1));
    started(timer);
    return () => clearTimeout(timer);
  },
});

export const systemClock: Clock = /* @__PURE__ */ clockOf(() => {});

/** As `systemClock`; what is waited for keeps no process alive. */
export const idleClock: Clock = /* @__PURE__ */ clockOf(idle);

/** Waits; ends early with the error of `onAbort` if the signal is triggered. Leaves no timer and no listener behind. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal, onAbort?: () => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(onAbort?.() ?? signal.reason);
      return;
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    const stop = (): void => {
      cancel();
      reject(onAbort?.() ?? signal?.reason);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}
