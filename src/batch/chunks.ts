// The loop of a batch: items in their order, cut into chunks.
//
// Between chunks the event loop turns, the signal is looked at and progress is told. A chunk for which there is no room is
// tried smaller; the size that worked is remembered. A failure that stays is pinned to its item: the chunk's items are run
// one by one, and the error of the one that fails ends the batch or takes the place of its result. Trying again, waiting and
// changing the device are the runtime's business: whatever fails here has failed for good.

import { Aborted, ForgeError, OutOfMemory, turnIfDue } from '../index.ts';
import type { Clock } from '../profile/clock.ts';
import { BatchError, throwIfAborted } from './failures.ts';
import type { ChunkSizer } from './sizer.ts';
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
}

export interface ChunkWork<T> {
  readonly operation: string;
  readonly total: number;
  readonly clock: Clock;
  readonly sizer: ChunkSizer;
  readonly stats: BatchStatistics;
  /** The share of a normal chunk that the next one is to have. */
  scale(): number;
  run(at: number, size: number): ChunkDone<T> | Promise<ChunkDone<T>>;
  /** A chunk took so long; `alone`: it was an item looked at by itself. Returns the rest that the device is due. */
  done(size: number, ms: number, busyMs: number, alone: boolean): Promise<void> | null;
  /** Whether an error ends the batch as it is. */
  ends(error: unknown): boolean;
  free(value: T): void;
}

/** A result, or why there is none. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

/** One result per item, in their order, or a BatchError; with `onError: 'collect'` one outcome per item. */
export async function runChunks<T>(work: ChunkWork<T>, options: ChunkOptions): Promise<T[] | Outcome<T>[]> {
  const { operation, total, clock, sizer, stats } = work;
  const { signal, onProgress, onError } = options;
  /** Results, and the errors of items that failed where those are collected. */
  const made: (T | Failure)[] = [];
  /** Items up to here are run alone, to find the one that fails. */
  let isolateUntil = 0;
  const failed = (error: unknown, at: number, size: number): void => {
    if (error instanceof Aborted || work.ends(error)) throw error;
    stats.failed(operation);
    if (error instanceof OutOfMemory && size > 1) sizer.failed(size);
    else if (size > 1) isolateUntil = at + size;
    else if (onError === 'collect') made.push(new Failure(error));
    else throw itemFailed(operation, at, total, error);
  };
  try {
    while (made.length < total) {
      const at = made.length;
      const alone = at < isolateUntil;
      const scale = work.scale();
      const size = alone ? 1 : Math.max(1, Math.floor(sizer.next(total - at) * scale));
      const start = clock.now();
      try {
        const running = work.run(at, size);
        const { value, ms: busy } = running instanceof Promise ? await running : running;
        for (const v of value) made.push(v);
        const ms = clock.now() - start;
        stats.done(operation, size, ms);
        const rest = work.done(size, ms, busy, alone);
        if (rest) await rest;
      } catch (error) {
        failed(error, at, size);
      }
      onProgress?.(made.length, total);
      if (made.length < total) {
        await clock.turn();
        throwIfAborted(signal, operation);
      }
    }
    // Loops of short batches let timers and signals have their turn too.
    const due = turnIfDue(performance.now());
    if (due) await due;
  } catch (e) {
    for (const m of made) if (!(m instanceof Failure)) work.free(m);
    throw e;
  }
  if (onError !== 'collect') return made as T[];
  return made.map((m): Outcome<T> => (m instanceof Failure ? { ok: false, error: m.error } : { ok: true, value: m }));
}

class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

function itemFailed(operation: string, at: number, total: number, error: unknown): BatchError {
  const known = error instanceof ForgeError ? error : null;
  const cause = error instanceof Error ? error.message.split('\n')[0]! : String(error);
  return new BatchError({
    message: `${operation}: item ${at} of ${total} failed: ${cause}`,
    where: operation,
    device: known?.device,
    attempts: known?.attempts,
    fix: known?.fix ?? "The cause is the operation's own error. onError: 'collect' goes on with the other items.",
    index: at,
    completed: at,
    cause: error,
  });
}
