// What a cycle is given: sensor values and a reward, checked, as the tensor that goes to the device.

import { writeDials } from './cycle/dials.ts';
import { cycleBase, type FieldShape } from './cycle/shape.ts';
import { FieldInputError } from './errors.ts';
import type { FieldSettings } from './settings.ts';

/** Sensor values and reward lie between −limit and limit. */
export const inputLimit = 10;
/** Where nothing is larger than this there is nothing to imprint. */
const inputThreshold = 0.01;

export interface CheckedInput {
  readonly sensors: Float32Array;
  reward: number;
  /** Something is larger than the threshold. */
  active: boolean;
}

/** Room for the input of a cycle. */
export const emptyInput = ({ sensorDim }: FieldShape): CheckedInput => ({
  sensors: new Float32Array(sensorDim),
  reward: 0,
  active: false,
});

/**
 * Refuses anything but `sensorDim` values, or one more for the reward, all finite and within the limit. What is given is copied, `into`
 * the room of a cycle where there is one.
 */
export function checkInput(
  given: ArrayLike<number>,
  shape: FieldShape,
  where: string,
  into: CheckedInput = emptyInput(shape),
): CheckedInput {
  const { sensorDim } = shape;
  const length = typeof given === 'object' && given !== null ? given.length : Number.NaN;
  if (length !== sensorDim && length !== sensorDim + 1)
    throw new FieldInputError({
      where,
      problem: `${Number.isNaN(length) ? `the input is ${typeof given}` : `${length} values`} for ${sensorDim} sensors`,
      fix: `Give an array of ${sensorDim} numbers, or of ${sensorDim + 1} with the reward last.`,
    });
  let largest = 0;
  for (let i = 0; i < length; i++) {
    const value = given[i]!;
    if (typeof value !== 'number') throw badValue(value, i, where);
    const size = Math.abs(value);
    if (!(size <= inputLimit)) throw badValue(value, i, where);
    if (size > largest) largest = size;
  }
  const { sensors } = into;
  for (let i = 0; i < sensorDim; i++) sensors[i] = given[i]!;
  into.reward = length > sensorDim ? Math.min(1, Math.max(-1, given[sensorDim]!)) : 0;
  into.active = largest > inputThreshold;
  return into;
}

function badValue(value: unknown, index: number, where: string): FieldInputError {
  const finite = typeof value === 'number' && Number.isFinite(value);
  return new FieldInputError({
    where,
    problem: `value ${index} is ${typeof value === 'string' ? `'${value}'` : String(value)}`,
    fix: finite ? `Give numbers from −${inputLimit} to ${inputLimit}.` : 'Give finite numbers.',
    index,
  });
}

/** Writes the input of one field's cycle from `at` on. */
export function writeInput(
  into: Float32Array,
  at: number,
  input: CheckedInput,
  cycle: number,
  shape: FieldShape,
  settings: FieldSettings,
): void {
  const { sensorDim } = shape;
  for (let i = 0; i < sensorDim; i++) into[at + i] = input.sensors[i]!;
  into[at + sensorDim] = input.reward;
  into[at + sensorDim + 1] = cycle % cycleBase;
  into[at + sensorDim + 2] = Math.floor(cycle / cycleBase);
  into[at + sensorDim + 3] = input.active ? 1 : 0;
  writeDials(into, at, shape, settings);
}
