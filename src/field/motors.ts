// The last stage of the motors, on the host: gain by confidence if asked for, exploration noise if asked for, clamp to ±1.

import { HostRandom } from './random.ts';
import type { FieldSettings } from './settings.ts';
import type { Carried } from './state.ts';

export interface FinishedMotors {
  readonly motors: Float32Array;
  /** The noise in them; null if there is none. */
  readonly exploration: Float32Array | null;
}

/** Below this confidence intents are amplified, and weak ones raised. */
const lowConfidence = 0.3;
const weakest = 0.05;
const mostGain = 3;

/** From the first `count` intents. */
export function finishMotors(
  intents: ArrayLike<number>,
  count: number,
  seed: number,
  { confidence, cycle }: Pick<Carried, 'confidence' | 'cycle'>,
  settings: Pick<FieldSettings, 'exploration' | 'confidenceGain'>,
): FinishedMotors {
  const motors = new Float32Array(count);
  for (let i = 0; i < count; i++) motors[i] = intents[i]!;
  if (settings.confidenceGain && confidence < lowConfidence) {
    const gain = Math.min(mostGain, 1.5 + 2 * (lowConfidence - confidence));
    // An intent of 0 stays 0: a controller must be able to stand still.
    motors.forEach((m, i) => {
      motors[i] = m === 0 ? 0 : Math.sign(m) * Math.max(weakest, Math.abs(m) * gain);
    });
  }
  let exploration: Float32Array | null = null;
  if (settings.exploration > 0) {
    const random = new HostRandom(seed, 'exploration', cycle);
    exploration = Float32Array.from(motors, () => settings.exploration * random.normal());
    exploration.forEach((e, i) => {
      motors[i]! += e;
    });
  }
  for (let i = 0; i < motors.length; i++) motors[i] = Math.min(1, Math.max(-1, motors[i]!));
  return { motors, exploration };
}
