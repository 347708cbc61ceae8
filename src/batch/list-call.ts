// What an operation on a list is called with: the settings of whoever runs it, and the wishes of the caller.

import type { DeviceId } from '../index.ts';
import { type Clock, systemClock } from '../profile/clock.ts';
import { defaults } from './settings.ts';
import { BatchStatistics } from './stats.ts';

export interface ListSettings {
  readonly maxBatchSize: number;
  readonly minBatchSize: number;
  readonly safetyMargin: number;
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly concurrency: number | undefined;
  readonly device: DeviceId | undefined;
  readonly mbPerItem: number | undefined;
  readonly stats: BatchStatistics;
  readonly clock: Clock;
}

export interface ListCall {
  readonly out: 'tensors' | 'arrays';
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((done: number, total: number) => void) | undefined;
}

/** Of calls without a processor: as many items as memory allows, in statistics that nobody asks for. */
export const plainSettings: ListSettings = {
  maxBatchSize: Number.MAX_SAFE_INTEGER,
  minBatchSize: 1,
  safetyMargin: defaults.safetyMargin,
  timeoutMs: defaults.timeoutMs,
  attempts: defaults.attempts,
  concurrency: undefined,
  device: undefined,
  mbPerItem: undefined,
  stats: new BatchStatistics(),
  clock: systemClock,
};

/**
 * The most items that are computed in one go, however short they are: between chunks the event loop turns, the signal is looked at and
 * progress is told. So many take some 10 to 100 ms.
 */
export const mostAtOnce = 10_000;
export const MiB = 2 ** 20;
/** Lists up to this size always fit: how much memory is free is not asked, and the router places each of their operations. */
export const smallBytes = 16 * MiB;
