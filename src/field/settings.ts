// The settings of a field: one table with what each does, its default, its range and the models in which it has an effect.
//
// Every setting can be overridden by an environment variable, GPUFORGE_FIELD_ and its name in capitals (GPUFORGE_FIELD_PLACE_NOISE),
// which is checked as an option is. "Keep" is always the factor that stays; the loss is 1 - keep.

import { FieldConfigError } from './errors.ts';

export type Model = 'fused' | 'full';
export type Boundary = 'periodic' | 'reflecting';
export type Blur = 'mean' | 'separable';
export type Readout = 'gradient' | 'slab' | 'trained';

export interface FieldSettings {
  /** The factor of a value that stays after a cycle. */
  readonly keep: number;
  /** A second keep factor of model `full`. */
  readonly keepMultiplier: number;
  /** How much of a value is replaced by the mean around it (`fused`), or flows per axis (`full`). */
  readonly diffusion: number;
  /** Standard deviation of the noise added in each cycle. */
  readonly spontaneous: number;
  /** Factor of the noise. */
  readonly noiseScale: number;
  /** The level that content decays to. */
  readonly restingLevel: number;
  /** How far the phase of the waves goes in a cycle. */
  readonly evolutionRate: number;
  /** Standard deviation of noise on the activity by which the emptiest cell is chosen. */
  readonly placeNoise: number;
  /** How the motors are read from the field. */
  readonly readout: Readout;
  /** Factor in front of the readout's tanh. */
  readonly gain: number;
  /** The mean of the 27 cells around, or 1/4, 1/2, 1/4 along each axis. */
  readonly blur: Blur;
  /** Standard deviation of noise added to the motors; reported apart. */
  readonly exploration: number;
  /** Amplify motors while confidence is low, and raise weak ones. */
  readonly confidenceGain: boolean;
  /** The strength of imprints follows the prediction error; else it follows the confidence. */
  readonly errorLearning: boolean;
  /** Adds 0.1·sin(0.01·cycle) to the novelty. */
  readonly noveltyWave: boolean;
  /** `trained`: predictions come from the trained readout; `legacy`: from the original formula. */
  readonly prediction: 'trained' | 'legacy';
  /** Most bytes of device memory for reward attractors. */
  readonly attractorBytes: number;
}

type Kind =
  | { readonly kind: 'number'; readonly low: number; readonly high: number }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'flag' };

export interface SettingRow {
  readonly value: Kind;
  readonly models: readonly Model[];
  readonly default: (model: Model) => number | string | boolean;
}

const number = (low: number, high: number): Kind => ({ kind: 'number', low, high });
const choice = (...choices: string[]): Kind => ({ kind: 'choice', choices });
const flag: Kind = { kind: 'flag' };
const both: readonly Model[] = ['fused', 'full'];
const full: readonly Model[] = ['full'];
const fused: readonly Model[] = ['fused'];

export const settingRows: Readonly<Record<keyof FieldSettings, SettingRow>> = {
  keep: { value: number(0, 1), models: both, default: () => 0.999 },
  keepMultiplier: { value: number(0, 1), models: full, default: () => 0.999 },
  diffusion: { value: number(0, 1), models: both, default: () => 0.05 },
  spontaneous: { value: number(0, 1), models: both, default: () => 0.001 },
  noiseScale: { value: number(0, 100), models: both, default: () => 1 },
  restingLevel: { value: number(-1, 1), models: full, default: () => 0.01 },
  evolutionRate: { value: number(0, 10), models: full, default: () => 0.1 },
  placeNoise: { value: number(0, 10), models: full, default: () => 0 },
  readout: {
    value: choice('gradient', 'slab', 'trained'),
    models: both,
    default: (m) => (m === 'fused' ? 'gradient' : 'slab'),
  },
  gain: { value: number(0, 1000), models: both, default: () => 5 },
  blur: { value: choice('mean', 'separable'), models: fused, default: () => 'mean' },
  exploration: { value: number(0, 10), models: both, default: () => 0 },
  confidenceGain: { value: flag, models: both, default: () => false },
  errorLearning: { value: flag, models: full, default: () => true },
  noveltyWave: { value: flag, models: full, default: () => false },
  prediction: { value: choice('trained', 'legacy'), models: full, default: () => 'trained' },
  attractorBytes: { value: number(0, 2 ** 40), models: full, default: () => 32 << 20 },
};

export const settingNames = Object.keys(settingRows) as readonly (keyof FieldSettings)[];

/** The environment variable that overrides a setting. */
export const variableOf = (name: string): string =>
  `GPUFORGE_FIELD_${name.replace(/[A-Z]/g, (c) => `_${c}`).toUpperCase()}`;

type Environment = Readonly<Record<string, string | undefined>>;

export function resolveSettings(
  given: Partial<FieldSettings> | undefined,
  model: Model,
  where: string,
  environment: Environment = typeof process === 'undefined' ? {} : (process.env ?? {}),
): FieldSettings {
  const known: Partial<Record<string, unknown>> = given ?? {};
  const bad = Object.keys(known).find((k) => !Object.hasOwn(settingRows, k));
  if (bad !== undefined)
    throw new FieldConfigError({
      where,
      problem: `there is no setting '${bad}'`,
      fix: `Settings are ${settingNames.join(', ')}.`,
    });
  const made: Record<string, unknown> = {};
  for (const name of settingNames) {
    const row = settingRows[name];
    const fromOutside = row.models.includes(model) ? environment[variableOf(name)] : undefined;
    const value = known[name] ?? (fromOutside === undefined ? undefined : parsed(fromOutside, row.value));
    const source = known[name] === undefined ? `the variable ${variableOf(name)}` : `the setting ${name}`;
    if (value === undefined) made[name] = row.default(model);
    else if (row.models.includes(model)) made[name] = checked(value, row.value, source, where);
    else
      throw new FieldConfigError({
        where,
        problem: `the setting ${name} has no effect in model '${model}'`,
        fix: `Leave it out, or use model '${row.models[0]}'.`,
      });
  }
  return made as unknown as FieldSettings;
}

function parsed(text: string, { kind }: Kind): unknown {
  if (kind === 'number') return text.trim() === '' ? Number.NaN : Number(text);
  if (kind === 'flag') return { '1': true, true: true, '0': false, false: false }[text] ?? text;
  return text;
}

function checked(value: unknown, kind: Kind, source: string, where: string): unknown {
  switch (kind.kind) {
    case 'number':
      if (typeof value === 'number' && value >= kind.low && value <= kind.high) return value;
      throw wrong(source, value, `a number from ${kind.low} to ${kind.high}`, where);
    case 'choice':
      if (kind.choices.includes(value as string)) return value;
      throw wrong(source, value, `one of ${kind.choices.join(', ')}`, where);
    case 'flag':
      if (typeof value === 'boolean') return value;
      throw wrong(source, value, 'true or false', where);
    default:
      return kind satisfies never;
  }
}

const wrong = (source: string, value: unknown, wanted: string, where: string): FieldConfigError =>
  new FieldConfigError({ where, problem: `${source} is ${String(value)}`, fix: `Give ${wanted}.` });
