// Time as a function of an amount of work: straight lines between measured points.
//
// Between points a launch with a fixed part and a part in proportion lies on the line, whatever the sizes of the points.
// Below the first the time is flat, above the last it grows as it did between the last two.

export interface Curve {
  /** Amounts, ascending. */
  readonly x: readonly number[];
  /** Times in µs, never falling. */
  readonly y: readonly number[];
}

/** Where the last two points lie flat because the launch hides the work, larger work grows at least with this share of proportion. */
const leastGrowth = 0.1;

/** Points (amount, µs) in any order; times that fall although the work grows are levelled out. */
export function curveOf(points: readonly (readonly [amount: number, us: number])[]): Curve {
  const sorted = points.filter(([a, t]) => a > 0 && t > 0).sort((p, q) => p[0] - q[0]);
  const x: number[] = [];
  const y: number[] = [];
  for (const [amount, us] of sorted) {
    if (x[x.length - 1] === amount) continue;
    x.push(amount);
    y.push(us);
  }
  // From above: a small point that was disturbed says nothing about the large ones.
  for (let i = y.length - 2; i >= 0; i--) y[i] = Math.min(y[i]!, y[i + 1]!);
  return { x, y };
}

/** µs for an amount of work. */
export function at({ x, y }: Curve, amount: number): number {
  const last = x.length - 1;
  if (last < 0) return 0;
  if (!(amount > x[0]!)) return y[0]!;
  if (amount >= x[last]!) {
    const proportion = y[last]! / x[last]!;
    const slope = last === 0 ? proportion : (y[last]! - y[last - 1]!) / (x[last]! - x[last - 1]!);
    return y[last]! + (amount - x[last]!) * Math.max(slope, leastGrowth * proportion);
  }
  let i = 1;
  while (x[i]! < amount) i++;
  const part = (amount - x[i - 1]!) / (x[i]! - x[i - 1]!);
  return y[i - 1]! + part * (y[i]! - y[i - 1]!);
}

/** The same curve with every time multiplied. */
export const scaled = ({ x, y }: Curve, factor: number): Curve => ({ x, y: y.map((v) => v * factor) });
