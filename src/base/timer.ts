// Timers of JavaScript. One that is set for longer than 2³¹ - 1 ms fires at once; here it waits for as long as a timer can, 24 days.

const longestMs = 2 ** 31 - 1;

/** Calls back once after `ms`. */
export const timer = (ms: number, call: () => void): ReturnType<typeof setTimeout> =>
  setTimeout(call, Math.min(ms, longestMs));

/** Calls back once after `ms`; the returned function cancels it. */
export function after(ms: number, callback: () => void): () => void {
  const set = timer(ms, callback);
  return () => clearTimeout(set);
}

/** What calls back later: the real clock, or one that tests steer. */
export interface Timers {
  readonly after: typeof after;
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

/** Waits by the real clock; false if the signal ended that. */
export const waited = (ms: number, signal?: AbortSignal): Promise<boolean> =>
  sleep({ after }, ms, signal).then(
    () => true,
    () => false,
  );
