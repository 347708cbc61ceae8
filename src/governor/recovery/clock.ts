// Time as recovery sees it: a steady clock and timers, replaceable so that tests need not wait.

import { idle } from '../../base/platform.ts';
import { type Timers, timer } from '../../base/timer.ts';

export { sleep } from '../../base/timer.ts';

export interface Clock extends Timers {
  /** Milliseconds, steady, from any origin. */
  now(): number;
}

const clockOf = (started: (set: ReturnType<typeof timer>) => unknown): Clock => ({
  now: () => performance.now(),
  after: (ms, callback) => {
    const set = timer(ms, callback);
    started(set);
    return () => clearTimeout(set);
  },
});

export const systemClock: Clock = /* @__PURE__ */ clockOf(() => {});

/** As `systemClock`; what is waited for keeps no process alive. */
export const idleClock: Clock = /* @__PURE__ */ clockOf(idle);
