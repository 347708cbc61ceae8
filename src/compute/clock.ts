// Time as the facade sees it: the clock of recovery, with wall time, turns of the event loop and repeated calls. Everything
// that waits or measures takes a Clock, so that tests run hours in milliseconds. Deadlines on devices that may never answer
// are no policy: they go by the real clock everywhere (`withDeadline`).

import { type Clock as Steady, systemClock as steady } from '../governor/recovery/clock.ts';

export interface Clock extends Steady {
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

/** Calls back when whoever runs now has had its turn. */
export const later = (call: () => void): void => {
  if (typeof setImmediate === 'function') setImmediate(call);
  else setTimeout(call);
};

export const systemClock: Clock = {
  ...steady,
  wall: () => Date.now(),
  turn: () =>
    new Promise((resolve) => {
      if (typeof setImmediate === 'function') setImmediate(resolve);
      else {
        // Browsers round timers up to milliseconds; a message does not wait.
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          port1.close();
          resolve();
        };
        port2.postMessage(null);
      }
    }),
  every: (ms, call) => {
    const timer = setInterval(call, ms);
    (timer as unknown as Timer).unref?.();
    return () => clearInterval(timer);
  },
};
