// BatchProcessor: items, and what is done with them in batches: sizes from memory and from what was measured, order, retries, limits of
// time, statistics. Operations on lists are operations.ts; the loop is chunks.ts.

import { createRuntime, type Runtime, Tensor, type TypedArray } from '../index.ts';
import { type Clock, systemClock } from '../profile/clock.ts';
import { type ChunkOptions, type Outcome, runChunks } from './chunks.ts';
import { CurveStore, curveFolder, measureCurve, type SizeCurve } from './curve.ts';
import { badArgument, badList, throwIfAborted } from './failures.ts';
import { FunctionRun, type ItemFunction, type Parallel } from './function-run.ts';
import { type ElementwiseName, elementwiseNames, elementwiseOp } from './list-ops.ts';
import type { BatchResult, ListSettings } from './list-run.ts';
import { checkItems, type Item } from './lists.ts';
import { assumedMb, Pressure, sizeFor } from './memory-size.ts';
import {
  type BatchOpOptions,
  batchXorWithNewKeys,
  checkedMatmul,
  checkedXor,
  listOperation,
  type MatmulOptions,
} from './operations.ts';
import { isQueued, type QueuedWork, runQueued } from './queued.ts';
import { type BatchSettings, checkSettings, defaults } from './settings.ts';
import { type BatchCounts, type BatchEvent, BatchStatistics } from './stats.ts';
import { type ModuleFunction, ThreadPool } from './threads.ts';

export interface ParallelOptions extends ChunkOptions {
  /** Only with `{ module, export }`: functions of this thread cannot be sent to another one. */
  readonly workers?: boolean | undefined;
}

export interface BatchStats extends BatchCounts {
  /** How the items of the last `executeParallel` ran: on worker threads, on a device, or one after the other. */
  readonly parallel: Parallel;
  /** The largest batch that was allowed last, what an item was taken to need, and how that is known. */
  readonly size: number | null;
  readonly mbPerItem: { readonly mb: number; readonly source: 'declared' | 'planned' | 'measured' | 'default' } | null;
  readonly memory: 'known' | 'assumed' | null;
}

export interface OptimizeOptions {
  /** Measure again, whatever is remembered. */
  readonly fresh?: boolean | undefined;
}

/** What has shortest paths: `Lattice` and `Graph` of gpuforge/lattice. */
interface WithPaths {
  shortestPath(start: number, end: number): unknown;
}

const hasPaths = (item: unknown): item is WithPaths =>
  typeof item === 'object' && item !== null && typeof (item as Partial<WithPaths>).shortestPath === 'function';

/** What an item of unknown kind is taken to need. */
const unknownMb = 10;
const MiB = 2 ** 20;

export class BatchProcessor<T> implements AsyncDisposable {
  readonly items: readonly T[];
  readonly #settings: BatchSettings<T>;
  readonly #clock: Clock;
  readonly #stats: BatchStatistics;
  readonly #best = new Map<string, number>();
  #runtime: Promise<Runtime> | null = null;
  #own = false;
  #parallel: Parallel = 'none';
  #measuredMb: number | null = null;
  #last: Pick<BatchStats, 'size' | 'mbPerItem' | 'memory'> = { size: null, mbPerItem: null, memory: null };
  #disposed = false;

  constructor(items: readonly T[], settings: BatchSettings<T> = {}) {
    if (!Array.isArray(items)) throw badArgument('BatchProcessor', `the items are ${typeof items}`, 'Give an array.');
    checkSettings('BatchProcessor', settings as BatchSettings<never>);
    this.items = items;
    this.#settings = settings;
    this.#clock = settings.clock ?? systemClock;
    this.#stats = settings.statistics ?? new BatchStatistics();
    if (settings.runtime) this.#runtime = Promise.resolve(settings.runtime);
  }

  /**
   * One result per item, in their order. Give one function for all, or one for each; or `{ module, export }`, which runs in
   * worker threads; or `{ op }`, which runs wherever the transport's workers are. If an item fails, the batches that run are waited for, and the error names it and holds what was made.
   * @example
   * ```ts
   * import { createBatch } from 'gpuforge/batch';
   * await using batch = createBatch([1, 2, 3]);
   * await batch.executeParallel((n) => n * n) // → [1, 4, 9]
   * ```
   */
  executeParallel<R>(
    fn: ItemFunction<T, R> | readonly ItemFunction<T, R>[] | ModuleFunction | QueuedWork<T>,
    options?: ParallelOptions & { readonly onError?: 'throw' | undefined },
  ): Promise<readonly R[]>;
  executeParallel<R>(
    fn: ItemFunction<T, R> | readonly ItemFunction<T, R>[] | ModuleFunction | QueuedWork<T>,
    options: ParallelOptions & { readonly onError: 'collect' },
  ): Promise<readonly Outcome<R>[]>;
  async executeParallel<R>(
    fn: ItemFunction<T, R> | readonly ItemFunction<T, R>[] | ModuleFunction | QueuedWork<T>,
    options: ParallelOptions = {},
  ): Promise<readonly unknown[]> {
    const where = 'executeParallel';
    this.#check(where);
    throwIfAborted(options.signal, where);
    if (isQueued<T>(fn)) {
      const { transport, attempts } = this.#settings;
      return this.items.length === 0 ? [] : runQueued(transport, attempts, this.items, fn, options);
    }
    const work = this.#work(fn as Exclude<typeof fn, QueuedWork<T>>, options);
    if (this.items.length === 0) return [];
    if (!('module' in work)) return this.#functions(work.call, work.parallel, options);
    const pool = await ThreadPool.open(work);
    try {
      const call = (item: T, index: number): Promise<R> => pool.run(item, index) as Promise<R>;
      return await this.#functions(call, 'workers', options, pool.size);
    } finally {
      await pool.close();
    }
  }

  /** XOR of item i with data i, where items are keys; else (lattices) with new keys, which are returned. */
  async batchXorTransform<A extends TypedArray>(
    data: readonly A[],
    options: BatchOpOptions = {},
  ): Promise<{ readonly data: BatchResult<A>; readonly keys: readonly A[] }> {
    this.#check('batchXorTransform');
    const { items } = this;
    if (items.length !== data.length)
      throw badList(
        'batchXorTransform',
        'LENGTH_MISMATCH',
        null,
        `${items.length} items, but ${data.length} arrays`,
        'Give as many arrays as there are items.',
      );
    const keys = items.every((k) => ArrayBuffer.isView(k)) ? (items as unknown as readonly A[]) : null;
    const own =
      keys ??
      (
        await batchXorWithNewKeys(
          data.map((d) => d.slice() as A),
          { ...options, runtime: await this.#open() },
        )
      ).keys;
    const made = await this.#list(options, data, (o) => checkedXor(data, own as readonly A[], o));
    return { data: made, keys: own as readonly A[] };
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
    options: BatchOpOptions = {},
  ): Promise<BatchResult<A>> {
    return this.#list(options, data, (o) => {
      checkItems('batchElementwise', data, o.runtime);
      return elementwiseOp(data, op, scalar);
    });
  }

  /** The shortest path of pair i in item i: lattices and graphs. */
  async batchShortestPaths(
    pairs: readonly (readonly [number, number])[],
    options: ParallelOptions = {},
  ): Promise<readonly unknown[]> {
    const where = 'batchShortestPaths';
    this.#check(where);
    if (pairs.length !== this.items.length)
      throw badList(
        where,
        'LENGTH_MISMATCH',
        null,
        `${this.items.length} items, but ${pairs.length} pairs`,
        'Give a pair for each item.',
      );
    const bad = this.items.findIndex((item) => !hasPaths(item));
    if (bad >= 0)
      throw badArgument(where, `item ${bad} has no shortestPath`, 'Use lattices or graphs of gpuforge/lattice.');
    return this.#functions(
      (item, i) => (item as WithPaths).shortestPath(pairs[i]![0], pairs[i]![1]),
      'device',
      options,
      undefined,
      'paths',
    );
  }

  /**
   * Measures which size of batch is best for an operation on the items, which must be arrays or tensors: one of the elementwise
   * names, 'xor' or 'matmul' (of each item with itself). Remembered per device.
   */
  async optimalBatchSize(op: string, options: OptimizeOptions = {}): Promise<SizeCurve> {
    const where = 'optimalBatchSize';
    this.#check(where);
    const names = [...elementwiseNames, 'xor'];
    if (!names.includes(op))
      throw badArgument(where, `there is no operation '${op}'`, `Use one of ${names.join(', ')}.`);
    if (this.items.length === 0)
      throw badArgument(where, 'there are no items to measure with', 'Make a processor with items.');
    const rt = await this.#open();
    const items = this.items as unknown as readonly Item[];
    checkItems(where, items, rt);
    const store = new CurveStore(await curveFolder());
    const key = this.#curveKey(rt, op);
    const known = options.fresh ? null : await store.get(key);
    if (known) {
      this.#best.set(op, known.best);
      return known;
    }
    const many = (size: number): Item[] => Array.from({ length: size }, (_, i) => items[i % items.length]!);
    const run = async (size: number): Promise<void> => {
      const list = many(size);
      const made =
        op === 'xor'
          ? await this.#measured(list, (o) => checkedXor(list, list, o))
          : await this.#measured(list, () => elementwiseOp(list, op as ElementwiseName, 2));
      for (const m of made) if (m instanceof Tensor) m.dispose();
    };
    const curve = await measureCurve(
      this.#clock,
      this.#device(rt),
      this.#settings.maxBatchSize ?? defaults.maxBatchSize,
      run,
    );
    this.#best.set(op, curve.best);
    await store.set(key, curve);
    return curve;
  }

  /** Counters since the start or the last reset. */
  stats(): BatchStats {
    return { ...this.#stats.counts(), parallel: this.#parallel, ...this.#last };
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

  /** Closes the runtime that this processor opened. Items and results are left alone, but for tensors of that runtime. */
  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    if (this.#own) await (await this.#runtime)?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  #check(where: string): void {
    if (this.#disposed) throw badArgument(where, 'this processor was disposed', 'Make a new one: createBatch(items).');
  }

  #work<R>(
    fn: ItemFunction<T, R> | readonly ItemFunction<T, R>[] | ModuleFunction,
    options: ParallelOptions,
  ): ModuleFunction | { readonly call: ItemFunction<T, R>; readonly parallel: Parallel } {
    const where = 'executeParallel';
    if (typeof fn === 'object' && fn !== null && 'module' in fn && 'export' in fn) return fn;
    if (options.workers)
      throw badArgument(
        where,
        'functions cannot be sent to another thread',
        'Give { module: new URL(…), export: name }: each thread imports the module.',
      );
    const list = Array.isArray(fn) ? (fn as readonly ItemFunction<T, R>[]) : null;
    if (list && list.length !== this.items.length)
      throw badList(
        where,
        'LENGTH_MISMATCH',
        null,
        `${this.items.length} items, but ${list.length} functions`,
        'Give one function for all items, or one for each.',
      );
    const bad = (list ?? [fn]).find((f) => typeof f !== 'function');
    if (bad !== undefined || fn === null)
      throw badArgument(
        where,
        `the work is ${bad === null ? 'null' : typeof bad}`,
        'Give a function of an item, a list of them, or { module, export }.',
      );
    const [first] = this.items;
    const parallel = first instanceof Tensor || hasPaths(first) ? 'device' : 'none';
    const call: ItemFunction<T, R> = list ? (item, i) => list[i]!(item, i) : (fn as ItemFunction<T, R>);
    return { call, parallel };
  }

  async #functions<R>(
    call: ItemFunction<T, R>,
    parallel: Parallel,
    options: ParallelOptions,
    threads?: number,
    operation = 'function',
  ): Promise<readonly unknown[]> {
    this.#parallel = parallel;
    const { timeoutMs = defaults.timeoutMs, attempts = defaults.attempts, concurrency } = this.#settings;
    // Only what is known to be on a device is asked how much room is left there.
    const runtime = parallel === 'device' ? await (this.#settings.runtime ?? null) : null;
    const pressure = runtime
      ? new Pressure(this.#clock, () => runtime.memory.snapshot(this.#settings.device).pressure)
      : null;
    const allocated = (): number => (runtime ? runtime.memory.snapshot(this.#settings.device).allocatedMb : 0);
    let before = allocated();
    const sizer = {
      next: (left: number): number => {
        const best = this.#size(left, runtime, operation);
        return pressure ? pressure.limit(best) : best;
      },
      failed: (size: number): void => {
        this.#best.set(operation, Math.max(1, Math.floor(size / 2)));
      },
    };
    const run = new FunctionRun<T, R>(this.items, call, {
      operation,
      parallel,
      clock: this.#clock,
      stats: this.#stats,
      sizer,
      concurrency: concurrency ?? (parallel === 'none' ? 1 : parallel === 'workers' ? threads! : 2),
      timeoutMs,
      attempts,
      waits: defaults.waits,
      pressure,
      signal: options.signal,
      after: (size) => {
        const now = allocated();
        if (now > before) this.#measuredMb = Math.max(this.#measuredMb ?? 0, (now - before) / size);
        before = now;
      },
    });
    return runChunks(run, options);
  }

  /** The size of a batch of items, and how it comes about. */
  #size(left: number, runtime: Runtime | null, operation: string): number {
    const { maxBatchSize = defaults.maxBatchSize, safetyMargin = defaults.safetyMargin } = this.#settings;
    const { minBatchSize = Math.min(defaults.minBatchSize, maxBatchSize) } = this.#settings;
    const mbPerItem = this.#itemMb();
    const availableMb = runtime?.memory.snapshot(this.#settings.device).availableMb ?? null;
    const most = Math.min(maxBatchSize, this.#best.get(operation) ?? maxBatchSize);
    const size = sizeFor(
      { maxBatchSize: most, minBatchSize: Math.min(minBatchSize, most), safetyMargin },
      left,
      availableMb ?? assumedMb,
      mbPerItem.mb,
    );
    this.#last = { size, mbPerItem, memory: availableMb === null ? 'assumed' : 'known' };
    return size;
  }

  #itemMb(): NonNullable<BatchStats['mbPerItem']> {
    const { mbPerItem } = this.#settings;
    const [first] = this.items;
    if (typeof mbPerItem === 'number') return { mb: mbPerItem, source: 'declared' };
    if (typeof mbPerItem === 'function') return { mb: mbPerItem(first as T), source: 'declared' };
    if (first instanceof Tensor) return { mb: (2 * first.nbytes) / MiB, source: 'planned' };
    if (this.#measuredMb !== null) return { mb: this.#measuredMb, source: 'measured' };
    return { mb: unknownMb, source: 'default' };
  }

  /** An operation on a list with the settings of this processor. */
  async #list<A extends Item>(
    options: BatchOpOptions,
    items: readonly A[],
    prepare: (o: BatchOpOptions) => ReturnType<typeof checkedXor>,
  ): Promise<BatchResult<A>> {
    this.#check('batch');
    const runtime = options.runtime ?? (items.length > 0 ? await this.#open() : undefined);
    const o = { ...options, runtime };
    const op = prepare(o);
    if ((this.#settings.autoOptimize ?? true) && items.length > 0) await this.#remember(runtime!, op.name);
    const made = await listOperation(
      'batch',
      o,
      () => this.#listSettings(op.name),
      items,
      () => op,
    );
    const { mbPerItem, memory } = made.report;
    this.#last = { size: this.#listSettings(op.name).maxBatchSize, mbPerItem, memory };
    return made;
  }

  /** As `#list`, in one batch, and counted nowhere. */
  #measured(
    items: readonly Item[],
    prepare: (o: BatchOpOptions) => ReturnType<typeof checkedXor>,
  ): Promise<BatchResult<Item>> {
    const settings = { ...this.#listSettings('measured'), maxBatchSize: items.length, stats: new BatchStatistics() };
    return this.#open().then((runtime) =>
      listOperation(
        'batch',
        { runtime },
        () => settings,
        items,
        () => prepare({ runtime }),
      ),
    );
  }

  #listSettings(operation: string): ListSettings {
    const s = this.#settings;
    const maxBatchSize = Math.min(
      s.maxBatchSize ?? defaults.maxBatchSize,
      this.#best.get(operation) ?? Number.MAX_SAFE_INTEGER,
    );
    return {
      maxBatchSize,
      minBatchSize: Math.min(s.minBatchSize ?? defaults.minBatchSize, maxBatchSize),
      safetyMargin: s.safetyMargin ?? defaults.safetyMargin,
      timeoutMs: s.timeoutMs ?? defaults.timeoutMs,
      attempts: s.attempts ?? defaults.attempts,
      concurrency: s.concurrency,
      device: s.device,
      mbPerItem: typeof s.mbPerItem === 'number' ? s.mbPerItem : undefined,
      stats: this.#stats,
      clock: this.#clock,
    };
  }

  /** The best size that was measured on this device, by whichever process. */
  async #remember(rt: Runtime, op: string): Promise<void> {
    if (this.#best.has(op)) return;
    const known = await new CurveStore(await curveFolder()).get(this.#curveKey(rt, op));
    this.#best.set(op, known?.best ?? Number.MAX_SAFE_INTEGER);
  }

  #curveKey(rt: Runtime, op: string): string {
    const device = this.#device(rt);
    return `${rt.device(device).caps.name} ${device} ${op}`;
  }

  #device(rt: Runtime): string {
    return this.#settings.device ?? rt.devices().find((d) => d.open)!.id;
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
export function createBatch<T>(items: readonly T[], settings?: BatchSettings<T>): BatchProcessor<T> {
  return new BatchProcessor(items, settings);
}
