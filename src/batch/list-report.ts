// What a call of an operation on a list tells of itself.

import { promiseOf } from '../base/callbacks.ts';
import { type DeviceId, turnIfDue, withDeadline } from '../index.ts';
import { type Clock, systemClock } from '../profile/clock.ts';
import { MiB } from './list-call.ts';

export interface BatchReport {
  readonly items: number;
  /** Kinds of items. */
  readonly groups: number;
  readonly launches: number;
  /** Where the results are; the first device of the runtime if they are in host memory. */
  readonly device: DeviceId;
  readonly moved: readonly {
    readonly from: DeviceId;
    readonly to: DeviceId;
    readonly items: number;
    readonly reason: string;
  }[];
  readonly ms: number;
  readonly perItemMs: number;
  /** Chunks that were tried again. */
  readonly retries: number;
  /** Whether the device told how much memory there is. */
  readonly memory: 'known' | 'assumed';
  /** Where the size of an item comes from. */
  readonly mbPerItem: { readonly mb: number; readonly source: 'declared' | 'planned' | 'measured' | 'default' };
}

/** What an item takes: as the caller says, else its operands and result. */
export const itemSize = (declaredMb: number | undefined, bytes: number): BatchReport['mbPerItem'] =>
  declaredMb === undefined ? { mb: bytes / MiB, source: 'planned' } : { mb: declaredMb, source: 'declared' };

/** The results in order, with the report of the call. */
export interface BatchResult<T> extends ReadonlyArray<T> {
  readonly report: BatchReport;
}

/** Results with their report, which is not one of them. */
export const reported = <T>(results: readonly unknown[], report: BatchReport): BatchResult<T> =>
  Object.defineProperty(results, 'report', { value: report }) as unknown as BatchResult<T>;

/** A result that is there, at this time: loops of short batches let timers and signals have their turn too. */
export function inTurn<R>(clock: Clock, now: number, result: R): Promise<R> {
  const due = turnIfDue(clock === systemClock ? now : performance.now());
  return due ? due.then(() => result) : Promise.resolve(result);
}

/** Who is told of a call that is done, and what is undone if that fails. */
export interface Telling {
  readonly where: string;
  readonly signal: AbortSignal | undefined;
  readonly tell: () => unknown;
  /** Lets go of what was made. */
  readonly free: () => void;
}

/**
 * Tells of a call that is done, then gives its result in turn. What the listener throws, or its promise fails with, ends the call
 * instead. So does the signal while that promise is waited for.
 */
export function afterTelling<R>(
  { where, signal, tell, free }: Telling,
  clock: Clock,
  now: number,
  result: R,
): Promise<R> {
  const ended = (error: unknown): Promise<never> => {
    free();
    return Promise.reject(error);
  };
  try {
    const telling = promiseOf(tell());
    if (!telling) return inTurn(clock, now, result);
    return withDeadline(telling, Number.POSITIVE_INFINITY, { what: where, signal }).then(() => result, ended);
  } catch (error) {
    return ended(error);
  }
}

/** Of an empty list. */
export const nothing: BatchReport = {
  items: 0,
  groups: 0,
  launches: 0,
  device: 'none',
  moved: [],
  ms: 0,
  perItemMs: 0,
  retries: 0,
  memory: 'known',
  mbPerItem: { mb: 0, source: 'planned' },
};
