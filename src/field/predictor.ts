// What a field remembers of its inputs, and what trained readouts make of it: predictions, confidence, motors.

import { projected } from './cycle/features.ts';
import type { FieldShape } from './cycle/shape.ts';
import { apply, type Weights } from './linear.ts';
import type { Carried } from './state.ts';

/** Sensor vectors that are remembered, and those of them that are features. */
export const remembered = 10;
const recentFeatures = 4;

export const featureCount = ({ sensorDim }: FieldShape): number => projected + recentFeatures * sensorDim + 1;

export interface Trained {
  prediction: Weights | null;
  motors: Weights | null;
}

/** The last sensor vectors, the newest first; zeros before there were any. They change with the next cycle. */
export class Recent {
  /** In a ring. The newest is at `#newest`, those before it behind. */
  readonly #ring: Float32Array[] = [];
  #newest = 0;

  get vectors(): readonly Float32Array[] {
    return [...this.#ring.slice(this.#newest), ...this.#ring.slice(0, this.#newest)];
  }

  /** Copies them: into the array of the oldest vector, once there are enough. */
  add(sensors: Float32Array): void {
    const ring = this.#ring;
    if (ring.length < remembered) {
      ring.unshift(Float32Array.from(sensors));
      return;
    }
    this.#newest = (this.#newest + remembered - 1) % remembered;
    const vector = ring[this.#newest]!;
    for (let i = 0; i < vector.length; i++) vector[i] = sensors[i]!;
  }

  set(vectors: readonly Float32Array[]): void {
    this.#ring.splice(0, this.#ring.length, ...vectors.map((v) => Float32Array.from(v)));
    this.#newest = 0;
  }
}

/** Features of the field, the last sensor vectors, and 1. */
export function featureVector(fromField: ArrayLike<number>, recent: Recent, shape: FieldShape): Float64Array {
  const made = new Float64Array(featureCount(shape));
  made.set(Array.from(fromField).slice(0, projected));
  for (let k = 0; k < recentFeatures; k++) {
    const vector = recent.vectors[k];
    if (vector) made.set(vector, projected + k * shape.sensorDim);
  }
  made[made.length - 1] = 1;
  return made;
}

export const predictFrom = (weights: Weights, features: Float64Array): Float32Array =>
  Float32Array.from(apply(weights, features));

/** The original's prediction: it cannot fit even a constant, and is here to compare with. */
export function legacyPrediction(recent: Recent, meanContent: number, sensorDim: number): Float32Array | null {
  const [now, before, earlier] = recent.vectors;
  if (!now) return null;
  return Float32Array.from({ length: sensorDim }, (_, i) => {
    const first = now[i]! - (before?.[i] ?? now[i]!);
    const second = (before?.[i] ?? now[i]!) - (earlier?.[i] ?? before?.[i] ?? now[i]!);
    const guess = 0.3 * (now[i]! + 0.5 * first + 0.3 * second) + 0.1 * meanContent;
    return Math.min(1, Math.max(-1, guess));
  });
}

/** Confidence after a cycle in which the prediction was off by `error` on the mean, with so many regions. */
export function nextConfidence(confidence: number, error: number, cycle: number, regions: number): number {
  const known = Math.min(1, regions / 50);
  const weight = 1.5 - 0.5 * known;
  const base = cycle < 50 ? 0.2 * (1 - known) : 0;
  const raw = Math.max(base, 1 - Math.min(1, error * weight));
  const keep = 0.9 - Math.min(0.2, cycle / 1000);
  return keep * confidence + (1 - keep) * raw;
}

/** How much of the skill's means stays from cycle to cycle. */
const skillKeep = 0.99;

/** Compares what was predicted with what came; returns the mean absolute error. */
export function judge(
  carried: Carried,
  predicted: Float32Array,
  sensors: Float32Array,
  before: Float32Array | undefined,
  regions: number,
): number {
  let [absolute, squared, change] = [0, 0, 0];
  for (let i = 0; i < sensors.length; i++) {
    const off = sensors[i]! - predicted[i]!;
    absolute += Math.abs(off);
    squared += off * off;
    change += (sensors[i]! - (before?.[i] ?? 0)) ** 2;
  }
  const n = sensors.length;
  carried.squaredError = skillKeep * carried.squaredError + (1 - skillKeep) * (squared / n);
  carried.squaredChange = skillKeep * carried.squaredChange + (1 - skillKeep) * (change / n);
  carried.confidence = nextConfidence(carried.confidence, absolute / n, carried.cycle + 1, regions);
  return absolute / n;
}
