// Time as the layers above the runtime see it. Whatever measures, rests or repeats takes a Clock, so that tests run hours in
// milliseconds. The waits between attempts are the runtime's own and go by the real clock.

import { after, type Timers } from '../base/timer.ts';
import { turn } from '../index.ts';

export { sleep as pause } from '../base/timer.ts';

export interface Clock extends Timers {
  /** Milliseconds, steady, from any origin. */
  now(): number;
  /** Wall clock, in ms since 1970. */
  wall(): number;
  /** Lets the event loop turn once. */
  turn(): Promise<void>;
  /** Calls again and again without keeping the process alive; returns a function that stops it. */
  every(ms: number, call: () => void): () => void;
}

interface Timer {
  unref?(): void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after,
  wall: () => Date.now(),
  turn,
  every: (ms, call) => {
    const timer = setInterval(call, ms);
    (timer as unknown as Timer).unref?.();
    return () => clearInterval(timer);
  },
};
