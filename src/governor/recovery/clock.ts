// Time as recovery sees it: a steady clock and timers, replaceable so that tests need not wait.

export interface Clock {
  /** Milliseconds, steady, from any origin. */
  now(): number;
  /** Calls back once after `ms`; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, callback) => {
    // Longer timers than this fire at once in JavaScript.
    const timer = setTimeout(callback, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
};

/** As `systemClock`; what is waited for keeps no process alive. */
export const idleClock: Clock = {
  now: systemClock.now,
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(ms, 2 ** 31 - 1));
    (timer as { unref?: () => void }).unref?.();
    return () => clearTimeout(timer);
  },
};

interface Alarm {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to go on. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #alarms = new Set<Alarm>();

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const alarm = { at: this.#now + ms, callback };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** Alarms that are set and have not gone off. */
  get pending(): number {
    return this.#alarms.size;
  }

  /** Lets time pass; alarms go off in the order of their times, each at its own time. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#alarms].filter((a) => a.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#now = Math.max(this.#now, due.at);
      this.#alarms.delete(due);
      due.callback();
      // What the alarm woke gets to run, and may set the next one.
      for (let i = 0; i < 8; i++) await Promise.resolve();
    }
    this.#now = end;
    for (let i = 0; i < 8; i++) await Promise.resolve();
  }
}

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
