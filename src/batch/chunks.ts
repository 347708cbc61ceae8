// The loop of a batch: items in their order, cut into chunks, some of them in flight at once.
//
// Between chunks the event loop turns, the signal is looked at and progress is told. A chunk for which there is no room, or that
// takes longer than it may, is tried smaller; the size that fitted is remembered. A failure that stays is pinned to its item: the
// chunk's items are run one by one, and the error of the one that fails ends the batch or takes the place of its result. What the
// batch has in flight when it ends is waited for, and what comes too late is freed.

import { Aborted, ForgeError, OutOfMemory, turnIfDue } from '../index.ts';
import { type Clock, pause } from '../profile/clock.ts';
import { aborted, BatchOperationError } from './failures.ts';
import type { BatchStatistics } from './stats.ts';

export interface ChunkOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  /** 'throw' (default) ends the batch at the first failure, 'collect' puts errors into the list of results. */
  readonly onError?: 'throw' | 'collect' | undefined;
}

/** Results of a chunk, one for each item, and how long the device was busy with it. */
export interface ChunkDone<T> {
  readonly value: readonly T[];
  readonly ms: number;
  /** The device is still busy with it up to here; null or missing if it is not. */
  readonly until?: Until | null;
}

/** A point on a device's timeline. */
export interface Until {
  done(): boolean;
  whenDone(): Promise<void>;
}

/** What takes a few tens of µs is done before the event loop has turned; waiting for it by promises takes as long again. */
const spinMs = 0.06;
/** Chunks of all batches that are waited for: of many only one is spun for. */
let waits = 0;

/** How many items a chunk has. */
export interface Sizes {
  next(left: number): number;
  /** A chunk of this size did not fit. */
  failed(size: number): void;
}

export interface ChunkWork<T> {
  readonly operation: string;
  readonly total: number;
  readonly clock: Clock;
  readonly sizer: Sizes;
  readonly stats: BatchStatistics;
  /** Chunks in flight at once. Default 1. */
  readonly concurrency?: number;
  /** The longest a chunk may take, in ms. Default: no limit. */
  readonly timeoutMs?: number;
  /** Attempts at a chunk whose error says that another may help, and the waits between. Default 1: whoever runs it has tried. */
  readonly attempts?: number;
  readonly waits?: readonly number[];
  /** Results stay when the batch fails, in the error. */
  readonly keeps?: boolean;
  /** Waits until another chunk may start; null if that is now. */
  ready?(): Promise<void> | null;
  /** The share of a normal chunk that the next one is to have. */
  scale(): number;
  run(at: number, size: number): ChunkDone<T> | Promise<ChunkDone<T>>;
  /** A chunk took so long; `alone`: it was an item looked at by itself. Returns the rest that the device is due. */
  done(size: number, ms: number, busyMs: number, alone: boolean): Promise<void> | null;
  /** Whether an error ends the batch as it is. */
  ends(error: unknown): boolean;
  free(value: T): void;
  /** A chunk is tried again. */
  retried?(error: unknown): void;
}

/** A result, or why there is none. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

/** One result per item, in their order, or a BatchOperationError; with `onError: 'collect'` one outcome per item. */
export function runChunks<T>(work: ChunkWork<T>, options: ChunkOptions): Promise<T[] | Outcome<T>[]> {
  return new ChunkRun(work, options).all();
}

/** How long chunks in flight are waited for when the caller has given up. */
const abortMs = 5000;

/** Items that are still to be run; at most `most` at a time, and for the so many-th time. */
interface Range {
  at: number;
  readonly end: number;
  readonly most: number;
  readonly tries: number;
}

interface Chunk {
  readonly at: number;
  readonly size: number;
  readonly tries: number;
}

interface Enqueued<T> {
  readonly chunk: Chunk;
  readonly done: ChunkDone<T>;
  readonly start: number;
  readonly until: Until;
}

class ChunkRun<T> {
  readonly #work: ChunkWork<T>;
  readonly #options: ChunkOptions;
  /** Results, and the errors of items that failed where those are collected. */
  readonly #made: (T | Failure | undefined)[];
  /** What is to be done, the next last. */
  readonly #ranges: Range[];
  readonly #inFlight = new Set<Promise<void>>();
  /** Chunks that the device has, and nobody waits for yet. */
  #enqueued: Enqueued<T>[] = [];
  #done = 0;
  /** What ends the batch. */
  #end: { readonly error: unknown; readonly index: number } | null = null;
  /** Nobody waits any more: what arrives now is freed. */
  #left = false;

  constructor(work: ChunkWork<T>, options: ChunkOptions) {
    this.#work = work;
    this.#options = options;
    this.#made = new Array(work.total);
    this.#ranges = [{ at: 0, end: work.total, most: Number.POSITIVE_INFINITY, tries: 0 }];
  }

  /** One function, without others to await: what is done at once costs the one promise that is returned. */
  async all(): Promise<T[] | Outcome<T>[]> {
    const { operation, clock, total } = this.#work;
    const { signal, onError } = this.#options;
    try {
      for (;;) {
        while (this.#mayStart()) {
          const ready = this.#work.ready?.();
          if (ready) await ready;
          const running = this.#start(this.#take());
          if (running) this.#track(running);
          else if (this.#enqueued.length === 0) break;
        }
        if (this.#enqueued.length > 0) {
          // Whoever started several batches at once has started the others after this.
          await undefined;
          for (const one of this.#enqueued.splice(0)) this.#await(one);
        }
        if (this.#inFlight.size > 0) await this.#anyOf(signal);
        if (this.#end && this.#inFlight.size === 0) throw this.#end.error;
        if (this.#done === total) break;
        await clock.turn();
        if (signal?.aborted) throw aborted(operation, signal);
      }
      // Loops of short batches let timers and signals have their turn too.
      const due = turnIfDue(performance.now());
      if (due) await due;
    } catch (error) {
      await this.#leave();
      throw error;
    }
    if (onError !== 'collect') return this.#made as T[];
    return this.#made.map(
      (m): Outcome<T> => (m instanceof Failure ? { ok: false, error: m.error } : { ok: true, value: m as T }),
    );
  }

  #mayStart(): boolean {
    const inFlight = this.#inFlight.size + this.#enqueued.length;
    return !this.#end && this.#ranges.length > 0 && inFlight < (this.#work.concurrency ?? 1);
  }

  /** Spins for what is nearly done; anything else is in flight from now on. */
  #await(one: Enqueued<T>): void {
    const { chunk, done, start, until } = one;
    try {
      if (this.#spun(until)) {
        const rest = this.#succeeded(chunk, done, start);
        if (rest) this.#track(rest);
        return;
      }
    } catch (error) {
      for (const v of done.value) this.#work.free(v);
      const again = this.#failed(error, chunk);
      if (again) this.#track(again);
      return;
    }
    waits++;
    const ends = until.whenDone().then(
      () => done,
      (error) => {
        for (const v of done.value) this.#work.free(v);
        throw error;
      },
    );
    this.#track(
      this.#finish(
        chunk,
        ends.finally(() => waits--),
        start,
      ),
    );
  }

  #spun(until: Until): boolean {
    const end = waits === 0 ? performance.now() + spinMs : 0;
    do if (until.done()) return true;
    while (performance.now() < end);
    return false;
  }

  /** Until something that is in flight has ended, or the caller has given up. */
  async #anyOf(signal: AbortSignal | undefined): Promise<void> {
    const any = this.#inFlight.size === 1 ? [...this.#inFlight][0]! : Promise.race(this.#inFlight);
    if (!signal || this.#work.concurrency === undefined) return any;
    if (signal.aborted) return;
    let stop = (): void => {};
    const given = new Promise<void>((resolve) => {
      stop = resolve;
    });
    signal.addEventListener('abort', stop, { once: true });
    try {
      await Promise.race([any, given]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  #track(running: Promise<void>): void {
    const tracked = running.finally(() => this.#inFlight.delete(tracked));
    this.#inFlight.add(tracked);
  }

  #take(): Chunk {
    const range = this.#ranges[this.#ranges.length - 1]!;
    const scale = this.#work.scale();
    const left = range.end - range.at;
    const wanted = range.most === 1 ? 1 : Math.floor(this.#work.sizer.next(left) * scale);
    const size = Math.min(left, Math.max(1, Math.min(wanted, range.most)));
    const { at, tries } = range;
    range.at += size;
    if (range.at === range.end) this.#ranges.pop();
    return { at, size, tries };
  }

  /** A promise while it runs, null if it is done. */
  #start(chunk: Chunk): Promise<void> | null {
    const start = this.#work.clock.now();
    try {
      const running = this.#work.run(chunk.at, chunk.size);
      if (running instanceof Promise) return this.#finish(chunk, running, start);
      const { until } = running;
      if (!until) return this.#succeeded(chunk, running, start);
      this.#enqueued.push({ chunk, done: running, start, until });
      return null;
    } catch (error) {
      return this.#failed(error, chunk);
    }
  }

  #finish(chunk: Chunk, running: Promise<ChunkDone<T>>, start: number): Promise<void> {
    const { timeoutMs = Number.POSITIVE_INFINITY } = this.#work;
    const ends = timeoutMs === Number.POSITIVE_INFINITY ? running : this.#within(running, timeoutMs);
    return ends.then(
      (done) => this.#succeeded(chunk, done, start) ?? undefined,
      (error) => this.#failed(error, chunk) ?? undefined,
    );
  }

  /** What ends after its time is freed. */
  #within(running: Promise<ChunkDone<T>>, ms: number): Promise<ChunkDone<T>> {
    const { clock, operation } = this.#work;
    return new Promise((resolve, reject) => {
      let late = false;
      const cancel = clock.after(ms, () => {
        late = true;
        reject(new Overdue(operation, ms));
      });
      running.then(
        (done) => {
          cancel();
          if (late) for (const v of done.value) this.#work.free(v);
          else resolve(done);
        },
        (error) => {
          cancel();
          reject(error);
        },
      );
    });
  }

  #succeeded({ at, size, tries }: Chunk, { value, ms: busy }: ChunkDone<T>, start: number): Promise<void> | null {
    const { clock, stats, operation } = this.#work;
    if (this.#left) {
      for (const v of value) this.#work.free(v);
      return null;
    }
    for (let i = 0; i < size; i++) this.#made[at + i] = value[i]!;
    this.#done += size;
    const ms = clock.now() - start;
    stats.done(operation, size, ms);
    const rest = this.#work.done(size, ms, busy, size === 1 && tries > 0);
    this.#progress();
    return rest;
  }

  #failed(error: unknown, chunk: Chunk): Promise<void> | null {
    if (this.#left) return null;
    const { at, size, tries } = chunk;
    const { operation, sizer, stats, attempts = 1, waits = [] } = this.#work;
    if (error instanceof Aborted || this.#work.ends(error)) {
      this.#ended(error, -1);
      return null;
    }
    stats.failed(operation);
    const again = (most: number, n: number): void => {
      this.#work.retried?.(error);
      this.#ranges.push({ at, end: at + size, most, tries: n });
    };
    if (error instanceof OutOfMemory && size > 1) {
      sizer.failed(size);
      again(Number.POSITIVE_INFINITY, tries);
    } else if (error instanceof Overdue && size > 1) again(Math.ceil(size / 2), 0);
    else if (error instanceof ForgeError && error.retryable && tries + 1 < attempts) {
      this.#progress();
      const ms = waits[Math.min(tries, waits.length - 1)] ?? 0;
      return pause(this.#work.clock, ms, this.#options.signal, () => aborted(operation, this.#options.signal)).then(
        () => again(size, tries + 1),
        (stopped) => this.#ended(stopped, -1),
      );
    } else if (size > 1) again(1, 1);
    else if (this.#options.onError === 'collect') {
      this.#made[at] = new Failure(error);
      this.#done++;
    } else this.#ended(this.#itemFailed(chunk, error), at);
    this.#progress();
    return null;
  }

  /** Of several failures the one of the first item counts. */
  #ended(error: unknown, index: number): void {
    if (!this.#end || index < this.#end.index) this.#end = { error, index };
  }

  #progress(): void {
    this.#options.onProgress?.(this.#done, this.#work.total);
  }

  /** Waits for what is in flight, but not for ever, and frees what was made. */
  async #leave(): Promise<void> {
    const { clock } = this.#work;
    if (this.#inFlight.size > 0) {
      let cancel = (): void => {};
      const enough = new Promise<void>((resolve) => {
        cancel = clock.after(abortMs, resolve);
      });
      await Promise.race([Promise.allSettled(this.#inFlight), enough]);
      cancel();
    }
    this.#left = true;
    if (this.#work.keeps && this.#end?.error instanceof BatchOperationError) return;
    for (const m of this.#made) if (m !== undefined && !(m instanceof Failure)) this.#work.free(m);
  }

  #itemFailed({ at, size }: Chunk, error: unknown): BatchOperationError {
    const { operation, total, keeps } = this.#work;
    const known = error instanceof ForgeError ? error : null;
    const overdue = error instanceof Overdue;
    const cause = error instanceof Error ? error.message.split('\n')[0]! : String(error);
    return new BatchOperationError({
      code: overdue ? 'TIMEOUT' : undefined,
      message: `${operation}: item ${at} of ${total} failed: ${cause}`,
      where: operation,
      device: known?.device,
      attempts: known?.attempts,
      fix: overdue
        ? 'Give it more time (timeoutMs), or see why it takes so long.'
        : (known?.fix ?? "The cause is the operation's own error. onError: 'collect' goes on with the other items."),
      index: at,
      completed: this.#done,
      batch: { first: at, size },
      results: keeps ? this.#made : undefined,
      cause: error,
    });
  }
}

class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** A chunk took longer than it may. */
class Overdue extends Error {
  constructor(operation: string, ms: number) {
    super(`${operation}: it took longer than ${ms} ms`);
  }
}
