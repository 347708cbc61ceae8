// How the failures of a chunk are told: which item it was, why, and what was made before it.

import { type DeviceId, ForgeError } from '../index.ts';
import { BatchOperationError } from './failures.ts';
import { codeOf, firstLineOf, messageOf, traceOf } from './thrown.ts';
import type { DeadLetter } from './transport.ts';

/** The error of an item, in the place of its result. */
export class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** A chunk took longer than it may. */
export class Overdue extends Error {
  constructor(operation: string, ms: number) {
    super(`${operation}: it took longer than ${ms} ms`);
  }
}

export interface FailedItem {
  readonly operation: string;
  readonly index: number;
  readonly total: number;
  /** Items that were done. */
  readonly completed: number;
  /** What was made, by item; undefined where it is freed. */
  readonly results: readonly unknown[] | undefined;
}

/** What helps when an item fails by itself, where the others may go on without it. */
export const ownError = "The cause is the operation's own error. onError: 'collect' goes on with the other items.";
/** And where they may not: lists. */
const itemsOwn = 'The cause is the error of this item alone: mend it, or leave it out.';
/** What helps when something took longer than it may. */
export const tooSlow = 'Give it more time (timeoutMs), or see why it takes so long.';

/** The error of a list that is one piece of work for its device, and took too long: which item is to blame is not known. */
export const listOverdue = (operation: string, size: number, device: DeviceId, ms: number): BatchOperationError =>
  new BatchOperationError({
    code: 'TIMEOUT',
    message: `${new Overdue(operation, ms).message} for ${size} items on ${device}`,
    where: operation,
    device,
    fix: tooSlow,
    index: null,
    completed: 0,
    batch: { first: 0, size },
  });

/** The error that ends a batch: an item failed, with its cause and what may help. */
export function itemFailed(error: unknown, item: FailedItem): BatchOperationError {
  const { operation, index, total, completed, results } = item;
  const known = error instanceof ForgeError ? error : null;
  const overdue = error instanceof Overdue;
  return new BatchOperationError({
    code: overdue ? 'TIMEOUT' : undefined,
    message: `${operation}: item ${index} of ${total} failed: ${firstLineOf(error)}`,
    where: operation,
    device: known?.device,
    attempts: known?.attempts,
    fix: overdue ? tooSlow : (known?.fix ?? (item.results ? ownError : itemsOwn)),
    index,
    completed,
    batch: { first: index, size: 1 },
    results,
    cause: error,
  });
}

/** What is kept of the last attempt at a chunk. */
export function letterOf(error: unknown, about: Omit<DeadLetter, 'error' | 'code' | 'trace'>): DeadLetter {
  return { ...about, error: messageOf(error), code: codeOf(error), trace: traceOf(error) };
}
