// Time as the facade sees it. Everything that waits or measures takes a Clock, so that tests run hours in milliseconds.

export interface Clock {
  /** Monotonic, in ms. */
  now(): number;
  /** Wall clock, in ms since 1970. */
  wall(): number;
  /** Waits; an aborted signal ends the wait early, without an error. */
  sleep(ms: number, signal?: AbortSignal | undefined): Promise<void>;
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
  wall: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
    }),
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
