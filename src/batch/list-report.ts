// What a call of an operation on a list tells of itself.

import type { DeviceId } from '../index.ts';

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

/** The results in order, with the report of the call. */
export interface BatchResult<T> extends ReadonlyArray<T> {
  readonly report: BatchReport;
}

/** Results with their report, which is not one of them. */
export const reported = <T>(results: readonly unknown[], report: BatchReport): BatchResult<T> =>
  Object.defineProperty(results, 'report', { value: report }) as unknown as BatchResult<T>;

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
