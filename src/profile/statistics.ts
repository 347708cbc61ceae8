// Small sums over numbers.

/** The nearest power of two: sizes within a factor of two have comparable times. */
export const sizeClass = (bytes: number): number => Math.round(Math.log2(bytes + 1));

export function median(values: ArrayLike<number>): number {
  const sorted = new Float64Array(values).sort();
  const n = sorted.length;
  return n % 2 === 1 ? sorted[(n - 1) / 2]! : (sorted[n / 2 - 1]! + sorted[n / 2]!) / 2;
}
