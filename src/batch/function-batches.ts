// Functions on the items of a processor, in batches: on this thread, or on worker threads that stay for the next call.

import type { Clock } from '../profile/clock.ts';
import type { ChunkOptions } from './chunk-work.ts';
import { runChunks } from './chunks.ts';
import { FunctionRun, type ItemFunction, type Parallel } from './function-run.ts';
import { Pressure } from './memory-size.ts';
import type { ProcessorSizes } from './processor-sizes.ts';
import { type BatchSettings, defaults } from './settings.ts';
import type { BatchStatistics } from './stats.ts';
import { type ModuleFunction, ThreadPool } from './threads.ts';

/** What a processor's runs share. */
export interface RunParts<T> {
  readonly clock: Clock;
  readonly stats: BatchStatistics;
  readonly sizes: ProcessorSizes<T>;
}

export class FunctionBatches<T> {
  readonly #items: readonly T[];
  readonly #settings: BatchSettings<T>;
  readonly #parts: RunParts<T>;
  /** Idle ones, by module and export. */
  readonly #threads = new Map<string, ThreadPool>();
  #closed = false;

  constructor(items: readonly T[], settings: BatchSettings<T>, parts: RunParts<T>) {
    this.#items = items;
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Threads stay for the next call: starting them takes longer than most batches. What an item has failed or was given up on does not. */
  async onThreads<R>(work: ModuleFunction, options: ChunkOptions): Promise<readonly unknown[]> {
    const key = `${work.module} ${work.export}`;
    const pool = this.#threads.get(key) ?? (await ThreadPool.open(work));
    this.#threads.delete(key);
    try {
      const made = await this.run<R>(pool, 'workers', options);
      if (!this.#closed && !this.#threads.has(key)) this.#threads.set(key, pool);
      else await pool.close();
      return made;
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  run<R>(
    work: ItemFunction<T, R> | ThreadPool,
    parallel: Parallel,
    options: ChunkOptions,
    operation = 'function',
  ): Promise<readonly unknown[]> {
    const { timeoutMs = defaults.timeoutMs, attempts = defaults.attempts, concurrency, device } = this.#settings;
    const { clock, stats, sizes } = this.#parts;
    // Only what is known to be on a device is asked how much room is left there.
    const runtime = (parallel === 'device' && this.#settings.runtime) || null;
    const pressure = runtime && new Pressure(clock, () => runtime.memory.snapshot(device).pressure);
    const allocated = (): number => (runtime ? runtime.memory.snapshot(device).allocatedMb : 0);
    let before = allocated();
    const sizer = {
      next: (left: number, at: number): number => {
        const best = sizes.next(left, at, runtime, operation);
        return pressure ? pressure.limit(best) : best;
      },
      failed: (size: number): void => sizes.failed(operation, size),
    };
    const run = new FunctionRun<T, R>(this.#items, work, {
      operation,
      parallel,
      clock,
      stats,
      sizer,
      concurrency: concurrency ?? (work instanceof ThreadPool ? work.size : parallel === 'none' ? 1 : 2),
      timeoutMs,
      attempts,
      waits: defaults.waits,
      pressure,
      signal: options.signal,
      after: (size) => {
        const now = allocated();
        sizes.took(now - before, size);
        before = now;
      },
    });
    return runChunks(run, options);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#threads.values()].map((pool) => pool.close()));
    this.#threads.clear();
  }
}
