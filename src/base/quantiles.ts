// Quantiles of samples by nearest rank: the smallest sample that at least this share of all samples does not exceed.

/** Of samples in ascending order, at least one. */
export const quantile = (sorted: ArrayLike<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))]!;

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Of samples in any order; null of none. */
export function quantilesOf(samples: ArrayLike<number>): Quantiles | null {
  if (samples.length === 0) return null;
  const sorted = Float64Array.from(samples).sort();
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), max: sorted[sorted.length - 1]! };
}
