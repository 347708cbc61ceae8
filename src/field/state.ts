// What a cycle tells about the field: the record of the device, and the few numbers that the host carries from cycle to cycle.
// Every key of `FieldState` has one definition, for both models.

import type { DeviceId } from '../index.ts';
import type { Attention } from './cycle/attention.ts';
import type { Statistics } from './cycle/record.ts';
import { cellsOf, type FieldShape } from './cycle/shape.ts';

export type Mode = 'exploring' | 'idle' | 'exploiting' | 'balanced';

export interface FieldState {
  /** Cycles that were done. */
  readonly cycle: number;
  /** From the call to the motors, on the host's clock. */
  readonly cycleTimeMs: number;
  /** mean |content| · (1 + variance of content), smoothed: 0.95 of the value before and 0.05 of the new one. */
  readonly fieldInformation: number;
  /** The largest |content|. */
  readonly maxActivation: number;
  /** How well sensors were predicted, 0 to 1; null where nothing predicts. */
  readonly predictionConfidence: number | null;
  /** 1 − MSE / MSE of taking the last value, over the last 100 cycles or so; null where nothing predicts. */
  readonly predictionSkill: number | null;
  /** The part of the field's memories (imprints, novelty, attractors, regions) that is in use. */
  readonly memorySaturation: number;
  /** `exploring` below 0.3 of information, `idle` above 0.7 with 50 idle cycles, `exploiting` above 0.6 of confidence, else `balanced`. */
  readonly mode: Mode;
  /** Information below 0.3, above 0.7, or in between. */
  readonly informationState: 'low' | 'medium' | 'high';
  /** Whether this cycle wrote sensor values into the field. */
  readonly evolutionState: 'imprinting' | 'resting';
  /** Live regions; 0 in model `fused`. */
  readonly regions: number;
  readonly tensorShape: readonly [number, number, number, number];
  readonly device: DeviceId;
  /** Root of the sum of squares of content. */
  readonly energy: number;
  /** The part of content values with |x| < 0.01. */
  readonly sparsity: number;
  /** After how many cycles without input half of a value is left: ln 0.5 / ln keep. */
  readonly halfLifeCycles: number;
  /** What this cycle moved between host and device. */
  readonly transfers: { readonly up: number; readonly down: number };
  /** What stands out in the field; null unless `telemetry` is 'full'. */
  readonly attention: Attention | null;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Numbers that the host carries from cycle to cycle, all of them saved. */
export interface Carried {
  cycle: number;
  /** Smoothed information, and how long it has hardly changed. */
  information: number;
  plateau: number;
  /** Cycles without input, one after the other. */
  idle: number;
  confidence: number;
  /** Smoothed squared errors of the prediction and of the last value. */
  squaredError: number;
  squaredChange: number;
  /** The strengths of the motors' echo: along axis 2, along axis 1, everywhere. */
  readonly echo: [number, number, number];
}

export const startCarried = (): Carried => ({
  cycle: 0,
  information: 0,
  plateau: 0,
  idle: 0,
  confidence: 0.5,
  squaredError: 0,
  squaredChange: 0,
  echo: [0, 0, 0],
});

/** Means over content, from the sums of the record. */
export interface ContentMeans {
  readonly mean: number;
  readonly absolute: number;
  readonly variance: number;
  readonly sparsity: number;
  readonly information: number;
}

export function contentMeans(s: Statistics, shape: FieldShape): ContentMeans {
  const n = cellsOf(shape) * shape.layout.content;
  const mean = s.sum / n;
  const variance = varianceOf(mean, s.squares / n);
  const information = informationOf(s.sum, s.absolute, s.squares, shape);
  return { mean, absolute: s.absolute / n, variance, sparsity: s.sparse / n, information };
}

const varianceOf = (mean: number, square: number): number => Math.max(0, square - mean * mean);

/** mean |content| · (1 + variance of content), from their sums. */
export function informationOf(sum: number, absolute: number, squares: number, shape: FieldShape): number {
  const n = cellsOf(shape) * shape.layout.content;
  return (absolute / n) * (1 + varianceOf(sum / n, squares / n));
}

/** Information, plateau and idle cycles after a cycle. */
export function carryOn(carried: Carried, information: number, active: boolean): void {
  const before = carried.information;
  carried.information = 0.95 * before + 0.05 * information;
  carried.plateau = Math.abs(carried.information - before) < 0.001 ? carried.plateau + 1 : 0;
  carried.idle = active ? 0 : carried.idle + 1;
}

/** The motors' echo after a cycle: planes are `echoPlanes`. */
export function carryEcho(carried: Carried, motors: ArrayLike<number>): void {
  const n = motors.length;
  let size = 0;
  for (let i = 0; i < n; i++) size += Math.abs(motors[i]!);
  const { echo } = carried;
  echo[0] = 0.95 * echo[0] + 0.3 * (n > 0 ? motors[0]! : 0);
  echo[1] = 0.95 * echo[1] + 0.3 * (n > 1 ? motors[1]! : 0);
  echo[2] = 0.95 * echo[2] + (n > 0 ? (0.2 * size) / n : 0);
}

/**
 * The two planes of the motors' echo, [height, width] each. They only ever get multiples of two ramps and of a constant, so the
 * field carries those three strengths instead of the planes.
 */
export function echoPlanes([across, down, even]: readonly number[], height: number, width: number): Float32Array[] {
  const ramp = (i: number, n: number): number => (n > 1 ? (2 * i) / (n - 1) - 1 : 0);
  const first = new Float32Array(height * width);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) first[y * width + x] = across! * ramp(x, width) + down! * ramp(y, height);
  return [first, new Float32Array(height * width).fill(even!)];
}

export const halfLife = (keep: number): number =>
  keep >= 1 ? Number.POSITIVE_INFINITY : Math.log(0.5) / Math.log(keep);

export function modeOf(information: number, idle: number, confidence: number | null): Mode {
  if (information < 0.3) return 'exploring';
  if (information > 0.7 && idle > 50) return 'idle';
  return confidence !== null && confidence > 0.6 ? 'exploiting' : 'balanced';
}
