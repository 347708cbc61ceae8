// The loop of a batch: items in their order, cut into chunks, some of them in flight at once.
//
// Between chunks the event loop turns, the signal is looked at and progress is told. A listener that throws ends the batch with its error.
// A chunk for which there is no room is tried smaller; the size that fitted is remembered. So is one that takes longer than it may, as soon
// as it is out of the way; it has as long again for that. A failure that stays is pinned to its item: the
// chunk's items are run one by one, and the error of the one that fails ends the batch or takes the place of its result. What the
// batch has in flight when it ends is waited for, and what comes too late is freed.

import { promiseOf } from '../base/callbacks.ts';
import { Aborted, aborted, ForgeError, OutOfMemory, throwIfAborted, turnIfDue } from '../index.ts';
import { pause } from '../profile/clock.ts';
import { Failure, itemFailed, Overdue } from './chunk-failures.ts';
import type { ChunkAttempt, ChunkDone, ChunkOptions, ChunkWork, Outcome } from './chunk-work.ts';
import { endsWithin, track } from './ends-within.ts';

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

class ChunkRun<T> {
  readonly #work: ChunkWork<T>;
  readonly #options: ChunkOptions;
  /** Results, and the errors of items that failed where those are collected. */
  readonly #made: (T | Failure | undefined)[];
  /** What is to be done, the next last. */
  readonly #ranges: Range[];
  readonly #inFlight = new Set<Promise<void>>();
  /** Listeners that are told of the progress and have not ended. */
  readonly #telling = new Set<Promise<void>>();
  readonly #running = new Set<Attempt>();
  #done = 0;
  /** What ends the batch: the failure of an item, or with index -1 an error as it is. */
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
          // Another chunk may have ended the batch meanwhile.
          if (!this.#mayStart()) break;
          const running = this.#start(this.#take());
          if (running) track(this.#inFlight, running);
          else break;
        }
        if (this.#inFlight.size > 0) await this.#anyOf(this.#inFlight, signal);
        if (this.#end && this.#inFlight.size === 0 && this.#ranges.length === 0)
          throw this.#endError(this.#end.error, this.#end.index);
        if (this.#done === total) break;
        await clock.turn();
        throwIfAborted(signal, operation);
      }
      while (this.#telling.size > 0) {
        await this.#anyOf(this.#telling, signal);
        throwIfAborted(signal, operation);
        if (this.#end) throw this.#endError(this.#end.error, this.#end.index);
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
    return this.#ranges.length > 0 && this.#inFlight.size < (this.#work.concurrency ?? 1);
  }

  /** Until something of these has ended, or the caller has given up. */
  async #anyOf(waited: ReadonlySet<Promise<void>>, signal: AbortSignal | undefined): Promise<void> {
    const any = waited.size === 1 ? [...waited][0]! : Promise.race(waited);
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

  #take(): Chunk {
    const range = this.#ranges[this.#ranges.length - 1]!;
    const scale = this.#work.scale();
    const left = range.end - range.at;
    const wanted = range.most === 1 ? 1 : Math.floor(this.#work.sizer.next(left, range.at) * scale);
    const size = Math.min(left, Math.max(1, Math.min(wanted, range.most)));
    const { at, tries } = range;
    range.at += size;
    if (range.at === range.end) this.#ranges.pop();
    return { at, size, tries };
  }

  /** A promise while it runs, null if it is done. */
  #start(chunk: Chunk): Promise<void> | null {
    const start = this.#work.clock.now();
    const attempt = new Attempt();
    try {
      const running = this.#work.run(chunk.at, chunk.size, attempt);
      if (!(running instanceof Promise)) return this.#succeeded(chunk, running, start);
      this.#running.add(attempt);
      return this.#finish(chunk, running, start, attempt);
    } catch (error) {
      return this.#failed(error, chunk);
    }
  }

  #finish(chunk: Chunk, running: Promise<ChunkDone<T>>, start: number, attempt: Attempt): Promise<void> {
    const { timeoutMs = Number.POSITIVE_INFINITY } = this.#work;
    const ends = timeoutMs === Number.POSITIVE_INFINITY ? running : this.#within(running, timeoutMs, attempt);
    return ends.then(
      (done) => {
        this.#running.delete(attempt);
        return this.#succeeded(chunk, done, start) ?? undefined;
      },
      (error) => {
        this.#running.delete(attempt);
        return this.#failed(error, chunk) ?? undefined;
      },
    );
  }

  /** What ends after its time is freed. */
  #within(running: Promise<ChunkDone<T>>, ms: number, attempt: Attempt): Promise<ChunkDone<T>> {
    const { clock, operation } = this.#work;
    return new Promise((resolve, reject) => {
      let late = false;
      let ended = false;
      let cancel = (): void => {};
      const begin = (): void => {
        if (ended) return;
        cancel = clock.after(ms, () => {
          late = true;
          reject(new Overdue(operation, ms));
          attempt.end();
        });
      };
      if (attempt.begins) void attempt.begins.then(begin);
      else begin();
      const end = (): void => {
        ended = true;
        cancel();
      };
      running.then(
        (done) => {
          end();
          if (late) for (const v of done.value) this.#work.free(v);
          else resolve(done);
        },
        (error) => {
          end();
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
      if (!this.#isWanted(at)) return;
      this.#work.retried?.(error);
      this.#ranges.push({ at, end: at + size, most, tries: n });
    };
    if (error instanceof OutOfMemory && size > 1) {
      sizer.failed(size);
      again(Number.POSITIVE_INFINITY, tries);
    } else if (error instanceof Overdue && size > 1) {
      const free = this.#work.isFree?.(this.#work.timeoutMs!) ?? null;
      if (free) {
        this.#progress();
        return free.then((is) => (is ? again(Math.ceil(size / 2), 0) : this.#ended(error, this.#indexOf(at))));
      }
      again(Math.ceil(size / 2), 0);
    } else if (error instanceof ForgeError && error.retryable && tries + 1 < attempts) {
      this.#progress();
      const ms = waits[Math.min(tries, waits.length - 1)] ?? 0;
      return pause(this.#work.clock, ms, this.#options.signal, () => aborted(operation, this.#options.signal)).then(
        () => again(size, tries + 1),
        (stopped) => this.#ended(stopped, -1),
      );
    } else if (size > 1) again(1, 1);
    else if (this.#options.onError === 'collect') {
      // What its own function threw stays as it is.
      this.#made[at] = new Failure(error instanceof Overdue ? this.#itemError(error, this.#indexOf(at)) : error);
      this.#done++;
    } else this.#ended(error, this.#indexOf(at));
    this.#progress();
    return null;
  }

  #indexOf(at: number): number {
    return this.#work.indexOf?.(at) ?? at;
  }

  /** Of several failures the one of the first item counts: what comes after it is not begun, what comes before it is run to its end. */
  #ended(error: unknown, index: number): void {
    if (!this.#end || index < this.#end.index) this.#end = { error, index };
    const wanted = this.#ranges.filter((r) => this.#isWanted(r.at));
    this.#ranges.splice(0, this.#ranges.length, ...wanted);
  }

  /** After a failure only what comes before it, where results are kept. */
  #isWanted(at: number): boolean {
    return !this.#end || (this.#work.keeps === true && at < this.#end.index);
  }

  /** What a listener throws, or its promise fails with, is the caller's: no item failed, and nothing is tried again for it. */
  #progress(): void {
    const failed = (error: unknown): void => this.#ended(error, -1);
    try {
      const telling = promiseOf(this.#options.onProgress?.(this.#done, this.#work.total))?.then(() => {}, failed);
      if (telling) track(this.#telling, telling);
    } catch (error) {
      failed(error);
    }
  }

  /** Waits for what is in flight, but not for ever, and frees what was made. */
  async #leave(): Promise<void> {
    const { clock } = this.#work;
    if (this.#inFlight.size > 0)
      await endsWithin(abortMs, Promise.allSettled(this.#inFlight), (ms, then) => clock.after(ms, then));
    this.#left = true;
    for (const attempt of this.#running) attempt.end();
    if (this.#work.keeps && this.#end && this.#end.index >= 0) return;
    for (const m of this.#made) if (m !== undefined && !(m instanceof Failure)) this.#work.free(m);
  }

  /** Made when nothing is in flight any more: what other chunks have done meanwhile counts. */
  #endError(error: unknown, index: number): unknown {
    return index < 0 ? error : this.#itemError(error, index, this.#work.keeps ? this.#made : undefined);
  }

  #itemError(error: unknown, index: number, results?: readonly unknown[]): Error {
    const { operation, total } = this.#work;
    return itemFailed(error, { operation, index, total, completed: this.#done, results });
  }
}

class Attempt implements ChunkAttempt {
  over = false;
  onOver: (() => void) | null = null;
  begins: Promise<void> | null = null;

  end(): void {
    this.over = true;
    this.onOver?.();
  }
}
