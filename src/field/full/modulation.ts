// The numbers that steer a cycle of model `full`, worked out on the host from what the record of the cycle before told.

import type { FieldSettings } from '../settings.ts';
import type { Carried, ContentMeans } from '../state.ts';

/** What modulation carries from cycle to cycle. */
export interface Mood {
  /** Prediction errors of the last cycles, the newest first. */
  errors: number[];
  /** Smoothed 1 / (1 + 5·mean error). */
  calm: number;
  novelty: number;
  phase: number;
}

export const startMood = (): Mood => ({ errors: [], calm: 1, novelty: 1, phase: 0 });

export const errorMemory = 20;
/** Activity above this makes content decay faster, activity below it slower. */
const activityTarget = 0.2;

const meanError = (errors: readonly number[], from = 0): number => {
  const part = errors.slice(from, from + 10);
  return part.length > 0 ? part.reduce((a, b) => a + b, 0) / part.length : 0;
};

export interface Modulation {
  readonly meanError: number;
  readonly information: number;
  readonly calm: number;
  readonly drive: number;
  readonly exploration: number;
  readonly amplification: number;
  readonly imprintStrength: number;
  readonly keep: number;
  readonly intensity: number;
  readonly aims: readonly [number, number, number, number];
  readonly aimOfError: number;
}

const clip = (v: number, low: number, high: number): number => Math.min(high, Math.max(low, v));

export interface ModulationFacts {
  readonly mood: Mood;
  readonly carried: Carried;
  readonly means: ContentMeans;
  /** The part of content with |x| < 0.1. */
  readonly sparsity: number;
  readonly idle: number;
  readonly reward: number;
  readonly settings: FieldSettings;
}

export function modulate({ mood, carried, means, sparsity, idle, reward, settings }: ModulationFacts): Modulation {
  const error = meanError(mood.errors);
  const i = clip(carried.information / 1.5, 0, 1);
  const calm = 0.9 * mood.calm + 0.1 / (1 + 5 * error);
  const drive = idle > 100 ? 0.95 : (i + calm) / 2;
  const bored = Math.min(0.5, carried.plateau / 200);
  const curious = Math.min(1, (1 - i) * (0.5 + 0.5 * mood.novelty) + bored + 0.3);
  const exploration = Math.min(1, curious + 0.2 * (1 - calm));
  const amplification = 1 + 0.5 * (1 - calm);
  const imprintStrength = 0.1 + 0.7 * (1 - drive);
  const rate = clip(0.1 * (1 + 4 * error), 0.1, 0.3);
  const gain = settings.errorLearning ? rate / 0.1 : 0.1 + 0.9 * (1 - carried.confidence);
  const speed = Math.min(0.3, Math.min(3, 1 + 4 * error) * (0.01 + 0.09 * Math.log10(1 + carried.cycle / 1000)));
  const blend = Math.min(0.5, error);
  const aims = [
    // Twenty times the others': of an aim a twentieth is added in each cycle, and this one is to be added whole.
    -20 * speed * (means.absolute - activityTarget),
    speed * means.variance,
    0.5 * speed * sparsity,
    0.5 * speed * (means.absolute * exploration - 0.5),
  ].map((aim) => (1 - blend) * aim) as [number, number, number, number];
  return {
    meanError: error,
    information: i,
    calm,
    drive,
    exploration,
    amplification,
    imprintStrength,
    keep: (settings.keep - 0.01 * i) * settings.keepMultiplier,
    intensity: (0.5 + 0.5 * Math.abs(reward)) * imprintStrength * amplification * gain,
    aims,
    aimOfError: blend * Math.sign(error - meanError(mood.errors, 10)) * 0.1,
  };
}
