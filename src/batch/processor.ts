// BatchProcessor: items, and what is done with them in batches: sizes from memory and from what was measured, order, retries, limits of
// time, statistics. Operations on lists are operations.ts; the loop is chunks.ts.

import { argumentsOf, checked, checkMethods } from '../base/signatures.ts';
import { createRuntime, type Runtime, Tensor, type TypedArray, throwIfAborted } from '../index.ts';
import { type Clock, systemClock } from '../profile/clock.ts';
import { Calls } from './calls.ts';
import type { ChunkOptions, Outcome } from './chunk-work.ts';
import type { SizeCurve } from './curve.ts';
import { type ElementwiseName, elementwiseOp } from './elementwise.ts';
import { badArgument } from './failures.ts';
import { FunctionBatches } from './function-batches.ts';
import type { ItemFunction, Parallel } from './function-run.ts';
import type { ListSettings } from './list-call.ts';
import type { ListOp } from './list-op.ts';
import type { BatchResult } from './list-report.ts';
import { checkItems, type Item } from './lists.ts';
import { newKeys } from './new-keys.ts';
import {
  type BatchOpOptions,
  checkedMatmul,
  checkedXor,
  listOperation,
  type MatmulOptions,
  type PadOptions,
} from './operations.ts';
import { checkCount, hasPaths, type WithPaths, type Work, workOf } from './parallel-work.ts';
import { ProcessorSizes, type SizeFacts, sizedOperation } from './processor-sizes.ts';
import { isQueued, type QueuedWork, runQueued } from './queued.ts';
import { type BatchSettings, checkSettings, defaults } from './settings.ts';
import { batchKinds, processorSignatures, settingsSignature } from './signatures.ts';
import { checkProbe, sizeProbe } from './size-probe.ts';
import { type BatchCounts, type BatchEvent, BatchStatistics } from './stats.ts';

export interface ParallelOptions extends ChunkOptions {
  /** Only with `{ module, export }`: functions of this thread cannot be sent to another one. */
  readonly workers?: boolean | undefined;
}

export interface BatchStats extends BatchCounts, SizeFacts {
  /** How the items of the last `executeParallel` ran: on worker threads, on a device, through a queue, or one after the other. */
  readonly parallel: Parallel;
}

export interface OptimizeOptions {
  /** Measure again, whatever is remembered. */
  readonly fresh?: boolean | undefined;
}

export class BatchProcessor<T> implements AsyncDisposable {
  readonly items: readonly T[];
  readonly #settings: BatchSettings<T>;
  readonly #clock: Clock;
  readonly #stats: BatchStatistics;
  readonly #sizes: ProcessorSizes<T>;
  #runtime: Promise<Runtime> | null = null;
  #own = false;
  #parallel: Parallel = 'none';
  readonly #functions: FunctionBatches<T>;
  readonly #calls: Calls;

  constructor(items: readonly T[], settings: BatchSettings<T> = {}) {
    // biome-ignore lint/complexity/noArguments: one too many is refused as well.
    takes(...arguments);
    if (!Array.isArray(items)) throw badArgument('BatchProcessor', `the items are ${typeof items}`, 'Give an array.');
    checkSettings('BatchProcessor', settings as BatchSettings<never>);
    this.items = items;
    this.#settings = settings;
    this.#sizes = new ProcessorSizes(items, settings);
    this.#clock = settings.clock ?? systemClock;
    this.#calls = new Calls(this.#clock);
    this.#stats = settings.statistics ?? new BatchStatistics();
    this.#functions = new FunctionBatches(items, settings, {
      clock: this.#clock,
      stats: this.#stats,
      sizes: this.#sizes,
    });
    if (settings.runtime) this.#runtime = Promise.resolve(settings.runtime);
  }

  /**
   * One result per item, in their order. Give one function for all, or one for each; or `{ module, export }`, which runs in
   * worker threads; or `{ op }`, which runs wherever the transport's workers are. If an item fails, the batches that run are
   * waited for, and the error names it and holds what was made.
   * @example
   * ```ts
   * import { createBatch } from 'gpuforge/batch';
   * await using batch = createBatch([1, 2, 3]);
   * await batch.executeParallel((n) => n * n) // → [1, 4, 9]
   * ```
   */
  executeParallel<R>(
    fn: Work<T, R> | QueuedWork<T>,
    options?: ParallelOptions & { readonly onError?: 'throw' | undefined },
  ): Promise<readonly R[]>;
  executeParallel<R>(
    fn: Work<T, R> | QueuedWork<T>,
    options: ParallelOptions & { readonly onError: 'collect' },
  ): Promise<readonly Outcome<R>[]>;
  executeParallel<R>(fn: Work<T, R> | QueuedWork<T>, options: ParallelOptions = {}): Promise<readonly unknown[]> {
    return this.#calls.run('executeParallel', () => this.#execute(fn, this.#calls.stoppable(options)));
  }

  async #execute<R>(fn: Work<T, R> | QueuedWork<T>, options: ParallelOptions): Promise<readonly unknown[]> {
    throwIfAborted(options.signal, 'executeParallel');
    if (isQueued<T>(fn)) {
      if (this.items.length === 0) return [];
      this.#parallel = 'queue';
      const start = this.#clock.now();
      const made = await runQueued(this.#settings, this.items, fn, options);
      this.#stats.done(fn.op, made.length, this.#clock.now() - start);
      return made;
    }
    const work = workOf<T, R>(this.items, fn as Work<T, R>, options.workers === true);
    if (this.items.length === 0) return [];
    if (!('module' in work)) return this.#run(work.call, work.parallel, options);
    this.#parallel = 'workers';
    return this.#functions.onThreads<R>(work, options);
  }

  /** XOR of item i with data i, where items are keys; else (lattices) with new keys, which are returned. */
  async batchXorTransform<A extends TypedArray>(
    data: readonly A[],
    options: BatchOpOptions = {},
  ): Promise<{ readonly data: BatchResult<A>; readonly keys: readonly A[] }> {
    checkCount('batchXorTransform', this.items, data, 'arrays', 'Give as many arrays as there are items.');
    checkItems('batchXorTransform', data, undefined);
    const keyed = this.items.every((k) => ArrayBuffer.isView(k));
    const keys = (keyed ? this.items : newKeys(data, undefined, undefined)) as unknown as readonly A[];
    return { data: await this.#list(options, data, (o) => checkedXor(data, keys, o)), keys };
  }

  /** The product of each pair, in batches of this processor's size. */
  batchMatrix<A extends Item>(a: readonly A[], b: readonly A[], options: MatmulOptions = {}): Promise<BatchResult<A>> {
    return this.#list(options, a, (o) => checkedMatmul(a, b, o));
  }

  /** An elementwise operation on each item of a list, in batches of this processor's size. */
  batchElementwise<A extends Item>(
    data: readonly A[],
    op: ElementwiseName,
    scalar?: number,
    options: BatchOpOptions & PadOptions = {},
  ): Promise<BatchResult<A>> {
    return this.#list(options, data, (o) => {
      checkItems('batchElementwise', data, o.runtime);
      return elementwiseOp(data, op, scalar, options.pad);
    });
  }

  /** The shortest path of pair i in item i: lattices and graphs. */
  batchShortestPaths(
    pairs: readonly (readonly [number, number])[],
    options: ParallelOptions = {},
  ): Promise<readonly unknown[]> {
    return this.#calls.run('batchShortestPaths', () => this.#paths(pairs, this.#calls.stoppable(options)));
  }

  async #paths(pairs: readonly (readonly [number, number])[], options: ParallelOptions): Promise<readonly unknown[]> {
    const where = 'batchShortestPaths';
    checkCount(where, this.items, pairs, 'pairs', 'Give a pair for each item.');
    const bad = this.items.findIndex((item) => !hasPaths(item));
    if (bad >= 0)
      throw badArgument(where, `item ${bad} has no shortestPath`, 'Use lattices or graphs of gpuforge/lattice.');
    const path = (item: T, i: number): unknown => (item as WithPaths).shortestPath(pairs[i]![0], pairs[i]![1]);
    return this.#run(path, 'device', options, 'paths');
  }

  /**
   * Measures which size of batch is best for an operation on the items, which must be arrays or tensors: one of the elementwise
   * names, or 'xor'. Remembered per device.
   */
  optimalBatchSize(op: string, options: OptimizeOptions = {}): Promise<SizeCurve> {
    return this.#calls.run('optimalBatchSize', () => this.#measure(op, options));
  }

  async #measure(op: string, options: OptimizeOptions): Promise<SizeCurve> {
    checkProbe(op, this.items);
    const rt = await this.#open();
    const probe = sizeProbe(op, this.items as unknown as readonly Item[], rt);
    const run = async (size: number): Promise<void> => {
      const list = probe.list(size);
      const made = await this.#measured(list, () => probe.operation(list));
      for (const m of made) if (m instanceof Tensor) m.dispose();
    };
    return this.#sizes.measure(rt, this.#clock, probe.kind, options.fresh === true, run);
  }

  /** Counters since the start or the last reset. */
  stats(): BatchStats {
    return { ...this.#stats.counts(), parallel: this.#parallel, ...this.#sizes.last };
  }

  resetStats(): void {
    this.#stats.reset();
  }

  /** Totals, then one line for each operation. */
  printStats(write: (line: string) => void = (line) => console.log(line)): void {
    this.#stats.print(write);
  }

  /** Calls back after each batch; returns what ends it. */
  onBatch(callback: (event: BatchEvent) => void): () => void {
    return this.#stats.onBatch(callback);
  }

  /**
   * Takes no further call. Those in progress have five seconds to end; then they are aborted. After that it closes the runtime that this
   * processor opened. Items and results are left alone, but for tensors of that runtime.
   */
  async dispose(): Promise<void> {
    if (!(await this.#calls.end())) return;
    await this.#functions.close();
    if (this.#own) await (await this.#runtime)?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  #run<R>(
    call: ItemFunction<T, R>,
    parallel: Parallel,
    options: ParallelOptions,
    operation?: string,
  ): Promise<readonly unknown[]> {
    this.#parallel = parallel;
    return this.#functions.run(call, parallel, options, operation);
  }

  /** An operation on a list with the settings of this processor. */
  #list<A extends Item>(
    options: BatchOpOptions,
    items: readonly A[],
    prepare: (o: BatchOpOptions) => ListOp,
  ): Promise<BatchResult<A>> {
    return this.#calls.run('batch', () => this.#listed(options, items, prepare));
  }

  async #listed<A extends Item>(
    options: BatchOpOptions,
    items: readonly A[],
    prepare: (o: BatchOpOptions) => ListOp,
  ): Promise<BatchResult<A>> {
    const runtime = options.runtime ?? (items.length > 0 ? await this.#open() : undefined);
    const o = { ...options, runtime };
    const op = prepare(o);
    const kind = items.length > 0 ? sizedOperation(op) : op.name;
    if ((this.#settings.autoOptimize ?? true) && items.length > 0) await this.#sizes.remember(runtime!, kind);
    const settings = this.#listSettings(kind);
    // A single batch is waited for; between several there is a moment to stop.
    const ends = items.length > settings.maxBatchSize ? this.#calls.stoppable(o) : o;
    const made = await listOperation('batch', ends, settings, items, () => op);
    const { mbPerItem, memory } = made.report;
    this.#sizes.last = { size: settings.maxBatchSize, mbPerItem, memory };
    return made;
  }

  /** As `#list`, in one batch, and counted nowhere. */
  #measured(items: readonly Item[], prepare: () => ListOp): Promise<BatchResult<Item>> {
    const settings = { ...this.#listSettings('measured'), maxBatchSize: items.length, stats: new BatchStatistics() };
    return this.#open().then((runtime) => listOperation('batch', { runtime }, settings, items, prepare));
  }

  #listSettings(operation: string): ListSettings {
    const s = this.#settings;
    return {
      ...this.#sizes.limits(operation),
      timeoutMs: s.timeoutMs ?? defaults.timeoutMs,
      attempts: s.attempts ?? defaults.attempts,
      concurrency: s.concurrency,
      device: s.device,
      mbPerItem: typeof s.mbPerItem === 'number' ? s.mbPerItem : undefined,
      stats: this.#stats,
      clock: this.#clock,
    };
  }

  #open(): Promise<Runtime> {
    if (!this.#runtime) {
      this.#own = true;
      this.#runtime = createRuntime();
    }
    return this.#runtime;
  }
}

/** A processor over items of any kind: arrays, tensors, lattices. */
export const createBatch = checked(
  'createBatch',
  settingsSignature,
  <T>(items: readonly T[], settings?: BatchSettings<T>): BatchProcessor<T> => new BatchProcessor(items, settings),
  batchKinds,
);

checkMethods(BatchProcessor.prototype, processorSignatures, batchKinds);

const takes = argumentsOf('BatchProcessor', settingsSignature, batchKinds);
