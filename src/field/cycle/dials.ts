// Settings as numbers in the input of a cycle: they change from one cycle to the next, and for each field of a batch, without another
// program. What the program itself looks like is its plan; see `planOf`.

import type { Tensor } from '../../index.ts';
import type { Blur, FieldSettings, Model, Readout } from '../settings.ts';
import type { FieldShape } from './shape.ts';

type Dial = readonly [models: readonly Model[], value: (s: FieldSettings) => number];

const both: readonly Model[] = ['fused', 'full'];
const fused: readonly Model[] = ['fused'];
const full: readonly Model[] = ['full'];

const dials = {
  keep: [fused, (s) => s.keep],
  /** What stays at its cell when the field spreads, and what comes from the cells around. */
  stays: [fused, (s) => 1 - s.diffusion],
  comes: [fused, (s) => s.diffusion],
  flows: [full, (s) => s.diffusion / 2],
  noise: [both, (s) => s.spontaneous * s.noiseScale],
  gain: [both, (s) => s.gain],
  rest: [full, (s) => s.restingLevel],
  placeNoise: [full, (s) => s.placeNoise],
} as const satisfies Readonly<Record<string, Dial>>;

export type DialName = keyof typeof dials;

const byModel: Readonly<Record<Model, readonly (readonly [DialName, Dial])[]>> = {
  fused: rowsOf('fused'),
  full: rowsOf('full'),
};

function rowsOf(model: Model): [DialName, Dial][] {
  return (Object.entries(dials) as [DialName, Dial][]).filter(([, [models]]) => models.includes(model));
}

/** Behind the sensors in the input of a cycle; then come the dials. */
const inputTail = ['reward', 'cycleLow', 'cycleHigh', 'flags'] as const;

const dialsStart = ({ sensorDim }: FieldShape): number => sensorDim + inputTail.length;
export const inputLength = (shape: FieldShape): number => dialsStart(shape) + byModel[shape.model].length;

/** Writes the dials of one field, whose input begins at `at`. */
export function writeDials(into: Float32Array, at: number, shape: FieldShape, settings: FieldSettings): void {
  const first = at + dialsStart(shape);
  const rows = byModel[shape.model];
  for (let i = 0; i < rows.length; i++) into[first + i] = rows[i]![1][1](settings);
}

/** A dial from the input of a cycle: [N]. */
export function dialOf(input: Tensor, name: DialName, shape: FieldShape): Tensor {
  const at = dialsStart(shape) + byModel[shape.model].findIndex(([n]) => n === name);
  return input.slice([null, [at, at + 1]]).reshape([-1]);
}

/** What settings decide about the program: another plan is another program. */
export interface CyclePlan {
  readonly readout: Readout;
  readonly blur: Blur;
  /** Whether there is noise to draw, and anything to spread. */
  readonly noisy: boolean;
  readonly spreads: boolean;
  readonly noisyPlaces: boolean;
  /** Room for attractors is part of the state. */
  readonly attractorBytes: number;
}

export const planOf = (s: FieldSettings): CyclePlan => ({
  readout: s.readout,
  blur: s.blur,
  noisy: s.spontaneous * s.noiseScale > 0,
  spreads: s.diffusion > 0,
  noisyPlaces: s.placeNoise > 0,
  attractorBytes: s.attractorBytes,
});
