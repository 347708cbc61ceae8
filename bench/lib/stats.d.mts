/** Median, and the range that holds the middle 80 % of the samples. */
export function summary(times: readonly number[]): {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly samples: number;
};
