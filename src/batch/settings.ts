// The settings of batches, as a table: default, and what a value must be. A bad key is named.

import type { Runtime } from '../index.ts';
import type { Clock } from '../profile/clock.ts';
import { badOption } from './failures.ts';
import type { BatchStatistics } from './stats.ts';
import type { Transport } from './transport.ts';

export interface BatchSettings<T = unknown> {
  /** Items per batch at most. Default 32. */
  readonly maxBatchSize?: number | undefined;
  /** Items per batch at least, while there are so many. Default 2. */
  readonly minBatchSize?: number | undefined;
  /** Use the best size that was measured on this device, if one was. Default true. */
  readonly autoOptimize?: boolean | undefined;
  /** The share of free memory that stays free. Default 0.2. */
  readonly safetyMargin?: number | undefined;
  /** The longest one batch may take, in ms. Default 300,000; Infinity for no limit. */
  readonly timeoutMs?: number | undefined;
  /** Attempts at a batch that fails for a passing reason, 50 and 200 ms apart. Default 3. */
  readonly attempts?: number | undefined;
  /** Batches in flight at once. Default 2 on a GPU (one computes, one travels), 1 on the CPU. */
  readonly concurrency?: number | undefined;
  /** What an item takes on the device, in MB. Default: its inputs and results, else what the first batch took, else 10. */
  readonly mbPerItem?: number | ((item: T) => number) | undefined;
  /** Where operations run. Default: one that the processor opens and closes. */
  readonly runtime?: Runtime | undefined;
  /** The device they run on. Default: the router's choice. */
  readonly device?: string | undefined;
  /** How work reaches other machines. Default: it stays in this process. */
  readonly transport?: Transport | undefined;
  /** Counters that are shared with others. */
  readonly statistics?: BatchStatistics | undefined;
  readonly clock?: Clock | undefined;
}

interface Rule {
  readonly holds: (v: unknown) => boolean;
  readonly must: string;
}

const whole: Rule = { holds: (v) => Number.isSafeInteger(v) && (v as number) >= 1, must: 'a whole number, at least 1' };
const object = (must: string): Rule => ({ holds: (v) => typeof v === 'object' && v !== null, must });

const rules: Readonly<Record<keyof BatchSettings, Rule>> = {
  maxBatchSize: whole,
  minBatchSize: whole,
  autoOptimize: { holds: (v) => typeof v === 'boolean', must: 'true or false' },
  safetyMargin: { holds: (v) => typeof v === 'number' && v >= 0 && v < 1, must: 'a number from 0 to below 1' },
  timeoutMs: { holds: (v) => typeof v === 'number' && v > 0, must: 'a time in ms above 0, or Infinity' },
  attempts: whole,
  concurrency: whole,
  mbPerItem: {
    holds: (v) => typeof v === 'function' || (typeof v === 'number' && v > 0 && v < Number.POSITIVE_INFINITY),
    must: 'a number of MB above 0, or a function of an item',
  },
  runtime: object('a runtime'),
  device: { holds: (v) => typeof v === 'string' && v !== '', must: "the name of a device, such as 'cuda:0'" },
  transport: object('a transport'),
  statistics: object('a BatchStatistics'),
  clock: object('a clock'),
};

export const defaults = {
  maxBatchSize: 32,
  minBatchSize: 2,
  safetyMargin: 0.2,
  timeoutMs: 300_000,
  attempts: 3,
  waits: [50, 200],
} as const;

/** The limits of the settings; throws ArgumentError that names the key. */
export function checkSettings(where: string, settings: BatchSettings<never>): void {
  for (const [key, value] of Object.entries(settings)) {
    if (value === undefined) continue;
    const rule = Object.hasOwn(rules, key) ? rules[key as keyof BatchSettings] : undefined;
    if (!rule) throw badOption(where, key, value, `one of ${Object.keys(rules).join(', ')}`);
    if (!rule.holds(value)) throw badOption(where, key, value, rule.must);
  }
  const { maxBatchSize = defaults.maxBatchSize, minBatchSize = Math.min(defaults.minBatchSize, maxBatchSize) } =
    settings;
  if (minBatchSize > maxBatchSize)
    throw badOption(where, 'minBatchSize', minBatchSize, `a number up to maxBatchSize, which is ${maxBatchSize}`);
}
