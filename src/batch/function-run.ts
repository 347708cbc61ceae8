// One function on each item: on this thread, where only the device works in parallel, or in worker threads.
//
// Functions of tensors and lattices enqueue work, so all of a batch are called before the first result is awaited. Plain functions are
// called one after the other: calling them at once would make nothing faster.

import { isThenable } from '../base/callbacks.ts';
import { aborted, type Maybe, Tensor, withDeadline } from '../index.ts';
import type { Clock } from '../profile/clock.ts';
import type { ChunkAttempt, ChunkDone, ChunkWork, Sizes } from './chunk-work.ts';
import { endsWithin } from './ends-within.ts';
import type { Pressure } from './memory-size.ts';
import type { BatchStatistics } from './stats.ts';
import { NoSuchFunction, ThreadPool } from './threads.ts';

/** Whether items run on worker threads, on a device while this thread goes on, on the workers of a queue, or one after the other. */
export type Parallel = 'none' | 'device' | 'workers' | 'queue';

export type ItemFunction<T, R> = (item: T, index: number) => R | Promise<R>;

export interface FunctionSettings {
  readonly operation: string;
  readonly parallel: Parallel;
  readonly clock: Clock;
  readonly stats: BatchStatistics;
  readonly sizer: Sizes;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly waits: readonly number[];
  readonly pressure: Pressure | null;
  readonly signal: AbortSignal | undefined;
  /** After each batch of so many items. */
  readonly after: (size: number) => void;
}

/** How long threads may take to import their module before the time of their items begins all the same. */
const loadMs = 30_000;

export class FunctionRun<T, R> implements ChunkWork<R> {
  readonly operation: string;
  readonly total: number;
  readonly clock: Clock;
  readonly stats: BatchStatistics;
  readonly sizer: Sizes;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly waits: readonly number[];
  readonly keeps = true;
  readonly #items: readonly T[];
  readonly #work: ItemFunction<T, R> | ThreadPool;
  readonly #settings: FunctionSettings;

  constructor(items: readonly T[], work: ItemFunction<T, R> | ThreadPool, settings: FunctionSettings) {
    this.#items = items;
    this.#work = work;
    this.#settings = settings;
    this.total = items.length;
    this.operation = settings.operation;
    this.clock = settings.clock;
    this.stats = settings.stats;
    this.sizer = settings.sizer;
    this.concurrency = settings.concurrency;
    this.timeoutMs = settings.timeoutMs;
    this.attempts = settings.attempts;
    this.waits = settings.waits;
  }

  ready(): Promise<void> | null {
    const { pressure, signal } = this.#settings;
    const loading = this.#work instanceof ThreadPool ? this.#work.loaded(this.total) : null;
    if (loading) {
      const loaded = endsWithin(loadMs, loading).then(() => {});
      return withDeadline(loaded, Number.POSITIVE_INFINITY, { what: this.operation, signal });
    }
    return pressure?.ready(signal, () => aborted(this.operation, signal)) ?? null;
  }

  scale(): number {
    return 1;
  }

  run(at: number, size: number, attempt: ChunkAttempt): Promise<ChunkDone<R>> {
    const work = this.#work;
    const items = this.#items.slice(at, at + size);
    if (work instanceof ThreadPool) {
      // What still works on items that nobody waits for is stopped.
      attempt.onOver = () => work.giveUp(at, size);
      return this.#together(work.run(items, at) as Promise<R>[]);
    }
    if (this.#settings.parallel === 'none') return this.#inTurn(work, at, size, attempt);
    return this.#together(items.map(async (item, i) => work(item, at + i)));
  }

  async #inTurn(call: ItemFunction<T, R>, at: number, size: number, attempt: ChunkAttempt): Promise<ChunkDone<R>> {
    const start = this.clock.now();
    const value: R[] = [];
    try {
      // What nobody waits for any more is not called: it is called again, or not wanted.
      for (let i = at; i < at + size && !attempt.over; i++) {
        const made: Maybe<R> = call(this.#items[i]!, i);
        value.push(isThenable<R>(made) ? await made : made);
      }
    } catch (error) {
      for (const v of value) this.free(v);
      throw error;
    }
    return { value, ms: this.clock.now() - start };
  }

  async #together(begun: readonly Promise<R>[]): Promise<ChunkDone<R>> {
    const start = this.clock.now();
    const all = await Promise.allSettled(begun);
    const failed = all.find((r) => r.status === 'rejected');
    if (failed) {
      for (const r of all) if (r.status === 'fulfilled') this.free(r.value);
      throw failed.reason;
    }
    return { value: all.map((r) => (r as PromiseFulfilledResult<R>).value), ms: this.clock.now() - start };
  }

  done(size: number): Promise<void> | null {
    this.#settings.after(size);
    return null;
  }

  ends(error: unknown): boolean {
    return error instanceof NoSuchFunction;
  }

  free(value: R): void {
    if (value instanceof Tensor && !value.disposed) value.dispose();
  }
}
