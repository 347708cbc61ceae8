// The calls of a processor that are in progress: no further one begins once it is disposed of, and these have some time to end.

import { Aborted } from '../index.ts';
import type { Clock } from '../profile/clock.ts';
import { endsWithin } from './ends-within.ts';
import { badArgument } from './failures.ts';

/** How long calls in progress may go on. */
const patienceMs = 5000;
/** And how long they may take to end when they are aborted: batches that run have five seconds. */
const abortedMs = 6000;

export class Calls {
  readonly #clock: Clock;
  readonly #running = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();
  #over = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A call that the end waits for. */
  async run<R>(where: string, work: () => Promise<R>): Promise<R> {
    if (this.#over) throw badArgument(where, 'this processor was disposed', 'Make a new one: createBatch(items).');
    const call = work();
    this.#running.add(call);
    try {
      return await call;
    } finally {
      this.#running.delete(call);
    }
  }

  /** Ends with the caller's signal, and with the processor. */
  stoppable<O extends { readonly signal?: AbortSignal | undefined }>(options: O): O {
    const { signal } = options;
    return { ...options, signal: signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal };
  }

  /** Waits for calls, aborts those that take too long; false if that was done before. */
  async end(): Promise<boolean> {
    if (this.#over) return false;
    this.#over = true;
    if (await this.#ended(patienceMs)) return true;
    this.#stop.abort(disposed());
    await this.#ended(abortedMs);
    return true;
  }

  /** Whether all have ended after so many ms. */
  #ended(ms: number): Promise<boolean> {
    return endsWithin(ms, Promise.allSettled(this.#running), (after, then) => this.#clock.after(after, then));
  }
}

const disposed = (): Aborted =>
  new Aborted({
    message: 'BatchProcessor: the processor was disposed of while this call ran',
    where: 'BatchProcessor',
    fix: 'Wait for its calls before dispose(), or make a new one: createBatch(items).',
  });
