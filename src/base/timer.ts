// Timers of JavaScript. One that is set for longer than 2³¹ - 1 ms fires at once; here it waits for as long as a timer can, 24 days.

const longestMs = 2 ** 31 - 1;

/** Calls back once after `ms`. */
export const timer = (ms: number, call: () => void): ReturnType<typeof setTimeout> =>
  setTimeout(call, Math.min(ms, longestMs));

/** What calls back later: the real clock, or one that tests steer. */
export interface Timers {
  /** Calls back once after `ms`; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** Waits; ends early with the error of `onAbort` if the signal is triggered. Leaves no timer and no listener behind. */
export function sleep(clock: Timers, ms: number, signal?: AbortSignal, onAbort?: () => unknown): Promise<void> {
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
