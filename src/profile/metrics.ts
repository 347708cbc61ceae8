// The records of what was measured.

import { layerKinds } from '../base/layer-kinds.ts';

export interface MemoryUsage {
  readonly numTensors: number;
  readonly numBytes: number;
  readonly unreliable: boolean;
  readonly reasons: readonly string[];
}

export interface PerformanceMetrics {
  readonly memoryUsage: MemoryUsage;
  /** ms of the device, since the previous call. */
  readonly computeTime: number;
  /** ms of both directions, since the previous call. */
  readonly transferTime: number;
  /** Percent, 0 to 100; null when it cannot be known. */
  readonly gpuUtilization: number | null;
  readonly utilizationSource?: 'device' | 'timestamps' | null | undefined;
  /** The time the totals are of, in ms. */
  readonly interval?: number | undefined;
}

/** A flat map of numbers, or the detailed record of the monitor. */
export type MetricsInput = PerformanceMetrics | Readonly<Record<string, number | null | undefined>>;

const isFigure = ([name, value]: readonly [string, unknown]): boolean =>
  value === null ||
  value === undefined ||
  typeof value === 'number' ||
  name === 'memoryUsage' ||
  name === 'utilizationSource';

/** What `logMetrics` takes. */
export const metricsKind = {
  is: (v: unknown): boolean => layerKinds.plain.is(v) && Object.entries(v as object).every(isFigure),
  words: 'an object of numbers by name',
};
