// Small sums over numbers.

import { quantile } from '../base/quantiles.ts';

/** The nearest power of two: sizes within a factor of two have comparable times. */
export const sizeClass = (bytes: number): number => Math.round(Math.log2(bytes + 1));

export function median(values: ArrayLike<number>): number {
  return sortedMedian(new Float64Array(values).sort());
}

function sortedMedian(sorted: Float64Array): number {
  const n = sorted.length;
  return n % 2 === 1 ? sorted[(n - 1) / 2]! : (sorted[n / 2 - 1]! + sorted[n / 2]!) / 2;
}

export interface Distribution {
  readonly count: number;
  readonly total: number;
  readonly mean: number;
  /** Population standard deviation; 0 below two values. */
  readonly std: number;
  readonly median: number;
  readonly p95: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
}

/** Of at least one value. */
export function distribution(values: ArrayLike<number>): Distribution {
  const sorted = Float64Array.from(values).sort();
  const n = sorted.length;
  let total = 0;
  for (const v of sorted) total += v;
  const mean = total / n;
  let squares = 0;
  for (const v of sorted) squares += (v - mean) ** 2;
  return {
    count: n,
    total,
    mean,
    std: n < 2 ? 0 : Math.sqrt(squares / n),
    median: sortedMedian(sorted),
    p95: quantile(sorted, 0.95),
    p99: quantile(sorted, 0.99),
    min: sorted[0]!,
    max: sorted[n - 1]!,
  };
}
