// The statistics of comparisons: ratio of medians with a bootstrap interval, the test of Mann and Whitney, Holm's correction.
//
// Nothing is dropped as an outlier. Random numbers are seeded: the same samples give the same verdict.

import { seededRandom } from '../../base/seeded.ts';
import { checked } from '../../base/signatures.ts';
import { fileKinds } from '../file/kinds.ts';
import { median } from '../statistics.ts';

export interface Ratio {
  /** Median of b / median of a. */
  readonly ratio: number;
  /** 95 % of the resamples lie between these. */
  readonly low: number;
  readonly high: number;
}

const resamples = 10_000;

/**
 * Medians of resamples. A sorted sample's resample has as median the value at the middle of its sorted positions, so positions are
 * drawn and counted instead of sorting values.
 */
function resampledMedian(sorted: Float64Array, counts: Uint16Array, random: () => number): number {
  const n = sorted.length;
  counts.fill(0);
  for (let i = 0; i < n; i++) {
    const at = Math.floor(random() * n);
    counts[at] = counts[at]! + 1;
  }
  const [lower, upper] = [(n - 1) >> 1, n >> 1];
  let seen = 0;
  let first = Number.NaN;
  for (let i = 0; i < n; i++) {
    seen += counts[i]!;
    if (Number.isNaN(first) && seen > lower) first = sorted[i]!;
    if (seen > upper) return (first + sorted[i]!) / 2;
  }
  return first;
}

/** How much larger b is than a, by medians. */
export const medianRatio = checked(
  'medianRatio',
  'a:numbers b:numbers times:times? seed:number?',
  (a: readonly number[], b: readonly number[], times = resamples, seed = 1): Ratio => {
    const [sa, sb] = [Float64Array.from(a).sort(), Float64Array.from(b).sort()];
    const [ca, cb] = [new Uint16Array(sa.length), new Uint16Array(sb.length)];
    const random = seededRandom(seed);
    const ratios = new Float64Array(times);
    for (let i = 0; i < times; i++) {
      ratios[i] = resampledMedian(sb, cb, random) / resampledMedian(sa, ca, random);
    }
    ratios.sort();
    const at = (share: number): number => ratios[Math.min(times - 1, Math.floor(share * times))]!;
    return { ratio: median(sb) / median(sa), low: at(0.025), high: at(0.975) };
  },
  fileKinds,
);

/** Two-sided p that a and b are of one distribution: Mann and Whitney's U with ties, by its normal approximation. */
export const mannWhitney = checked(
  'mannWhitney',
  'a:numbers b:numbers',
  (a: readonly number[], b: readonly number[]): number => {
    const [n, m] = [a.length, b.length];
    if (n === 0 || m === 0) return 1;
    const all = [...a.map((v) => [v, 0] as const), ...b.map((v) => [v, 1] as const)].sort((x, y) => x[0] - y[0]);
    let [rankSum, ties] = [0, 0];
    for (let i = 0; i < all.length; ) {
      let j = i + 1;
      while (j < all.length && all[j]![0] === all[i]![0]) j++;
      const rank = (i + j + 1) / 2;
      for (let k = i; k < j; k++) if (all[k]![1] === 0) rankSum += rank;
      ties += (j - i) ** 3 - (j - i);
      i = j;
    }
    const u = rankSum - (n * (n + 1)) / 2;
    const total = n + m;
    const variance = ((n * m) / 12) * (total + 1 - ties / (total * (total - 1)));
    if (variance <= 0) return 1;
    const z = Math.max(0, Math.abs(u - (n * m) / 2) - 0.5) / Math.sqrt(variance);
    return 2 * (1 - normalBelow(z));
  },
  fileKinds,
);

/** Of the standard normal distribution; Abramowitz and Stegun 26.2.17, exact to 7.5e-8. */
function normalBelow(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  const tail = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return 1 - density * tail;
}

/** Holm: which of several tests still say something together, at one level for all. By position. */
export const holm = checked(
  'holm',
  'ps:numbers level:number?',
  (ps: readonly number[], level = 0.05): boolean[] => {
    const order = ps.map((p, i) => [p, i] as const).sort((x, y) => x[0] - y[0]);
    const kept = ps.map(() => false);
    for (let k = 0; k < order.length; k++) {
      const [p, i] = order[k]!;
      if (p > level / (ps.length - k)) break;
      kept[i] = true;
    }
    return kept;
  },
  fileKinds,
);

/**
 * How far apart the medians of identical runs are, as a share: of the odd and the even samples, and of the first and the second half.
 * Samples in the order in which they were taken, so that slow changes of the machine count too.
 */
export function noiseOf(samples: readonly number[]): number {
  if (samples.length < 4) return Number.POSITIVE_INFINITY;
  const [even, odd]: [number[], number[]] = [[], []];
  for (const [i, v] of samples.entries()) (i % 2 === 0 ? even : odd).push(v);
  const half = samples.length >> 1;
  const pairs: readonly (readonly [readonly number[], readonly number[]])[] = [
    [even, odd],
    [samples.slice(0, half), samples.slice(half)],
  ];
  return Math.max(...pairs.map(([a, b]) => Math.abs(Math.log(median(b) / median(a)))));
}
