// What ends a batch: the error of an item, and the caller's signal.

import { Aborted, type ErrorInfo, ForgeError } from '../index.ts';

/** One item of a batch failed; the results made before it were freed. */
export class BatchError extends ForgeError {
  static override readonly code: string = 'BATCH_FAILED';
  override name = 'BatchError';
  readonly index: number;
  readonly completed: number;

  constructor(info: ErrorInfo & { readonly index: number; readonly completed: number }) {
    super(info);
    this.index = info.index;
    this.completed = info.completed;
  }
}

export const aborted = (operation: string, signal: AbortSignal | undefined): Aborted =>
  new Aborted({
    message: `${operation}: aborted by the caller`,
    where: operation,
    fix: 'Nothing is left behind; call again when it is wanted.',
    cause: signal?.reason,
  });

export function throwIfAborted(signal: AbortSignal | undefined, operation: string): void {
  if (signal?.aborted) throw aborted(operation, signal);
}
