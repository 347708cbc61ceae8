// What ends a batch: the error of an item, or a list that does not fit.

import { ArgumentError, type ErrorInfo, ForgeError } from '../index.ts';

export interface BatchErrorInfo extends ErrorInfo {
  /** The item that failed, counted from 0; null if it was the call as a whole. */
  readonly index: number | null;
  /** Items that were done. */
  readonly completed: number;
  /** The batch the item was in. */
  readonly batch?: { readonly first: number; readonly size: number } | undefined;
  /** What was made, by item; empty where results were freed. */
  readonly results?: readonly unknown[] | undefined;
}

/** A batch failed at an item, or its lists do not fit together. */
export class BatchOperationError extends ForgeError {
  static override readonly code: string = 'BATCH_FAILED';
  override name = 'BatchOperationError';
  readonly op: string;
  readonly index: number | null;
  readonly completed: number;
  readonly batch: { readonly first: number; readonly size: number } | null;
  readonly results: readonly unknown[];

  constructor(info: BatchErrorInfo) {
    super(info);
    this.op = info.where;
    this.index = info.index;
    this.completed = info.completed;
    this.batch = info.batch ?? null;
    this.results = info.results ?? [];
  }
}

/** A list that cannot be run: nothing was. */
export const badList = (op: string, code: string, index: number | null, message: string, fix: string) =>
  new BatchOperationError({ code, message: `${op}: ${message}`, fix, where: op, index, completed: 0 });

export const badArgument = (where: string, message: string, fix: string): ArgumentError =>
  new ArgumentError({ message: `${where}: ${message}`, where, fix });

export const badOption = (where: string, key: string, value: unknown, must: string): ArgumentError =>
  new ArgumentError({
    code: 'BAD_OPTION',
    message: `${where}: ${key} is ${typeof value === 'string' ? `'${value}'` : String(value)}`,
    fix: `Use ${must}, or leave it out.`,
    where,
  });
