// Small sums over lists of numbers.

export function median(values: ArrayLike<number>): number {
  const sorted = new Float64Array(values).sort();
  const n = sorted.length;
  return n % 2 === 1 ? sorted[(n - 1) / 2]! : (sorted[n / 2 - 1]! + sorted[n / 2]!) / 2;
}
