// Every wait has a time limit.
//
// `withDeadline` settles as the promise does, or with DeadlineExceeded after `ms`, or with Aborted when the signal is
// triggered; whichever comes first. It leaves no timer and no listener behind, and a promise that fails too late is not
// reported as unhandled. It cannot stop the work itself: whoever owns the device decides what a missed deadline means.

import { checkSignal } from '../../base/arguments.ts';
import { type Clock, systemClock } from './clock.ts';
import { aborted, deadlineExceeded } from './errors.ts';

export interface DeadlineOptions {
  /** Names the wait in the error: the op and device, as in `read of 4096 bytes (cuda:0)`. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

/** `ms` may be Infinity: then only the signal ends the wait. */
export function withDeadline<T>(promise: PromiseLike<T>, ms: number, options: DeadlineOptions): Promise<T> {
  const { what, signal, clock = systemClock } = options;
  return new Promise<T>((resolve, reject) => {
    checkSignal(signal, what);
    let cancel: (() => void) | null = null;
    const finish = (settle: () => void): void => {
      cancel?.();
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const onAbort = (): void => finish(() => reject(aborted(what, signal!)));
    promise.then(
      (value) => finish(() => resolve(value)),
      (error: unknown) => finish(() => reject(error)),
    );
    if (signal?.aborted) {
      onAbort();
      return;
    }
    signal?.addEventListener('abort', onAbort, { once: true });
    if (ms !== Number.POSITIVE_INFINITY)
      cancel = clock.after(ms, () => finish(() => reject(deadlineExceeded(what, ms))));
  });
}
