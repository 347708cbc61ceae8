// One verdict on two lots of samples: the same for compare, gate, baselines and the benches.

import { checked } from '../../base/signatures.ts';
import { fileKinds } from '../file/kinds.ts';
import { mannWhitney, medianRatio, noiseOf, type Ratio } from './statistics.ts';

export interface Judged extends Ratio {
  readonly p: number;
  /** Of identical runs, as a share; the larger of both sides. */
  readonly noise: number;
  /** What a change must exceed. */
  readonly threshold: number;
  readonly samples: readonly [number, number];
  /** The interval excludes 1 and the effect is above the threshold. */
  readonly slower: boolean;
  readonly faster: boolean;
}

/** The least change that counts, and how many times the noise. */
const leastEffect = 0.03;
const noiseTimes = 2;
/** Samples that a gate needs on each side. */
export const leastSamples = 30;
/** With more noise than this nobody can judge. */
export const mostNoise = 0.1;

/** `noise` of identical runs if it is known better than from these samples. */
export const judge = checked(
  'judge',
  'a:numbers b:numbers noise:number?',
  (a: readonly number[], b: readonly number[], noise = Math.max(noiseOf(a), noiseOf(b))): Judged => {
    const { ratio, low, high } = medianRatio(a, b);
    const threshold = Math.max(leastEffect, noiseTimes * noise);
    const p = mannWhitney(a, b);
    return {
      ratio,
      low,
      high,
      p,
      noise,
      threshold,
      samples: [a.length, b.length],
      slower: low > 1 && ratio - 1 > threshold,
      faster: high < 1 && 1 / ratio - 1 > threshold,
    };
  },
  fileKinds,
);
