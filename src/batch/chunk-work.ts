// The contract between the loop of a batch (chunks.ts) and what it runs: how large a chunk is, how one is run, what is told of it.

import type { Maybe } from '../index.ts';
import type { Clock } from '../profile/clock.ts';
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

/** One run of a chunk. */
export interface ChunkAttempt {
  /** Nobody waits for it any more: it took too long, or the batch has ended. What has not begun should not begin. */
  readonly over: boolean;
  /** Called when that happens. */
  onOver: (() => void) | null;
  /** Its time counts from when this ends, where it may have to wait for others; null: from now. */
  begins: Promise<void> | null;
}

/** How many items a chunk has. */
export interface Sizes {
  /** `at`: the place of the first of them. */
  next(left: number, at: number): number;
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
  run(at: number, size: number, attempt: ChunkAttempt): Maybe<ChunkDone<T>>;
  /** A chunk took so long; `alone`: it was an item looked at by itself. Returns the rest that the device is due. */
  done(size: number, ms: number, busyMs: number, alone: boolean): Promise<void> | null;
  /** The item at a place, where chunks are cut from the items in another order than the caller's. */
  indexOf?(at: number): number;
  /** Whether what took too long is out of the way by so many ms: what comes next would wait behind it. Missing where nothing does. */
  isFree?(ms: number): Promise<boolean> | null;
  /** Whether an error ends the batch as it is. */
  ends(error: unknown): boolean;
  free(value: T): void;
  /** A chunk is tried again. */
  retried?(error: unknown): void;
}

/** A result, or why there is none. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };
