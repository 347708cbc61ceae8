// Time as the layers above the runtime see it. Whatever measures, rests or repeats takes a Clock, so that tests run hours in
// milliseconds. The waits between attempts are the runtime's own and go by the real clock.

import { turn } from '../index.ts';

export interface Clock {
  /** Milliseconds, steady, from any origin. */
  now(): number;
  /** Calls back once after `ms`; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
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
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  wall: () => Date.now(),
  turn,
  every: (ms, call) => {
    const timer = setInterval(call, ms);
    (timer as unknown as Timer).unref?.();
    return () => clearInterval(timer);
  },
};

/** Waits so long, or until the signal is triggered: then it throws what `stopped` gives. Leaves nothing behind. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal, stopped?: () => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(stopped?.());
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
