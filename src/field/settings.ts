// The settings of a field: one table with what each does, its default, its range, the models in which it has an effect, and whether it may
// change while the field runs.
//
// Every setting can be overridden by an environment variable, GPUFORGE_FIELD_ and its name in capitals (GPUFORGE_FIELD_PLACE_NOISE),
// which is checked as an option is. "Keep" is always the factor that stays; the loss is 1 - keep.

import { checked as checkedCall } from '../base/signatures.ts';
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

export type SettingKind =
  | { readonly kind: 'number'; readonly low: number; readonly high: number; readonly fine: 'low' | 'high' | null }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'flag' };

export type SettingName = keyof FieldSettings;

export interface SettingRow {
  /** What it is, in a few words. */
  readonly about: string;
  readonly value: SettingKind;
  readonly models: readonly Model[];
  readonly default: (model: Model) => number | string | boolean;
  /** It belongs to the compiled program or to the memory that was taken: `configure` refuses it. */
  readonly fixed?: true;
}

/** `fine`: the end of the range at which small differences matter. A slider gives it more room. */
const number = (low: number, high: number, fine: 'low' | 'high' | null = 'low'): SettingKind => ({
  kind: 'number',
  low,
  high,
  fine,
});
const choice = (...choices: string[]): SettingKind => ({ kind: 'choice', choices });
const flag: SettingKind = { kind: 'flag' };
const both: readonly Model[] = ['fused', 'full'];
const full: readonly Model[] = ['full'];
const fused: readonly Model[] = ['fused'];

export const settingRows: Readonly<Record<SettingName, SettingRow>> = {
  keep: {
    about: 'the part of a value that stays after a cycle',
    value: number(0, 1, 'high'),
    models: both,
    default: () => 0.999,
  },
  keepMultiplier: {
    about: 'a second factor of what stays',
    value: number(0, 1, 'high'),
    models: full,
    default: () => 0.999,
  },
  diffusion: {
    about: 'how much the cells around count',
    value: number(0, 1),
    models: both,
    default: () => 0.05,
  },
  spontaneous: {
    about: 'standard deviation of the noise of a cycle',
    value: number(0, 1),
    models: both,
    default: () => 0.001,
  },
  noiseScale: {
    about: 'factor of the noise',
    value: number(0, 100),
    models: both,
    default: () => 1,
  },
  restingLevel: {
    about: 'the level that content decays to',
    value: number(-1, 1, null),
    models: full,
    default: () => 0.01,
  },
  evolutionRate: {
    about: 'how far the waves go in a cycle',
    value: number(0, 10),
    models: full,
    default: () => 0.1,
  },
  placeNoise: {
    about: 'noise on the choice of the emptiest cell',
    value: number(0, 10),
    models: full,
    default: () => 0,
  },
  readout: {
    about: 'how motors are read from the field',
    value: choice('gradient', 'slab', 'trained'),
    models: both,
    default: (m) => (m === 'fused' ? 'gradient' : 'slab'),
    fixed: true,
  },
  gain: {
    about: 'factor of the motors before tanh',
    value: number(0, 1000),
    models: both,
    default: () => 5,
  },
  blur: {
    about: '27 cells alike, or 1/4, 1/2, 1/4 along each axis',
    value: choice('mean', 'separable'),
    models: fused,
    default: () => 'mean',
    fixed: true,
  },
  exploration: {
    about: 'standard deviation of noise on the motors',
    value: number(0, 10),
    models: both,
    default: () => 0,
  },
  confidenceGain: {
    about: 'raise weak motors while predictions are poor',
    value: flag,
    models: both,
    default: () => false,
  },
  errorLearning: {
    about: 'imprints follow the prediction error, else the confidence',
    value: flag,
    models: full,
    default: () => true,
  },
  noveltyWave: {
    about: 'add a slow wave to the novelty',
    value: flag,
    models: full,
    default: () => false,
  },
  prediction: {
    about: 'by the trained readout, or by the original formula',
    value: choice('trained', 'legacy'),
    models: full,
    default: () => 'trained',
  },
  attractorBytes: {
    about: 'most bytes of device memory for attractors',
    value: number(0, 2 ** 40),
    models: full,
    default: () => 32 << 20,
    fixed: true,
  },
};

export const settingNames = Object.keys(settingRows) as readonly SettingName[];

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
  checkNames(known, where);
  const made: Record<string, unknown> = {};
  for (const name of settingNames) {
    const row = settingRows[name];
    const fromOutside = row.models.includes(model) ? environment[variableOf(name)] : undefined;
    const value = known[name] ?? (fromOutside === undefined ? undefined : parsed(fromOutside, row.value));
    const source = known[name] === undefined ? `the variable ${variableOf(name)}` : `the setting ${name}`;
    if (value === undefined) made[name] = row.default(model);
    else if (row.models.includes(model)) made[name] = checked(value, row.value, source, where);
    else throw noEffect(name, model, where);
  }
  return made as unknown as FieldSettings;
}

/** Settings with some of them changed while a field runs: all of the changes, or an error and none. */
export function changeSettings(
  now: FieldSettings,
  changes: Partial<FieldSettings>,
  model: Model,
  where: string,
): FieldSettings {
  checkNames(changes, where);
  const made: Record<string, unknown> = { ...now };
  for (const [name, value] of Object.entries(changes) as [SettingName, unknown][]) {
    const row = settingRows[name];
    if (!row.models.includes(model)) throw noEffect(name, model, where);
    const next = checked(value, row.value, `the setting ${name}`, where);
    if (row.fixed && next !== now[name])
      throw new FieldConfigError({
        where,
        problem: `the setting ${name} is fixed when the field is made`,
        fix: 'Make a field with it, and give it a snapshot of this one.',
      });
    made[name] = next;
  }
  return made as unknown as FieldSettings;
}

/** One setting as it is now, with what it may become: what a page needs to draw a slider. */
export interface SettingView {
  readonly name: SettingName;
  readonly about: string;
  readonly value: number | string | boolean;
  readonly kind: SettingKind;
  /** False where `configure` refuses it. */
  readonly live: boolean;
}

/** The settings that have an effect in a model. */
export const settingViews = checkedCall(
  'settingViews',
  "settings:object model:'fused'|'full'",
  (settings: FieldSettings, model: Model): SettingView[] =>
    settingNames
      .filter((name) => settingRows[name].models.includes(model))
      .map((name) => {
        const { about, value: kind, fixed } = settingRows[name];
        return { name, about, value: settings[name], kind, live: !fixed };
      }),
);

function checkNames(given: object, where: string): void {
  const bad = Object.keys(given).find((k) => !Object.hasOwn(settingRows, k));
  if (bad === undefined) return;
  throw new FieldConfigError({
    where,
    problem: `there is no setting '${bad}'`,
    fix: `Settings are ${settingNames.join(', ')}.`,
  });
}

const noEffect = (name: SettingName, model: Model, where: string): FieldConfigError =>
  new FieldConfigError({
    where,
    problem: `the setting ${name} has no effect in model '${model}'`,
    fix: `Leave it out, or use model '${settingRows[name].models[0]}'.`,
  });

function parsed(text: string, { kind }: SettingKind): unknown {
  if (kind === 'number') return text.trim() === '' ? Number.NaN : Number(text);
  if (kind === 'flag') return { '1': true, true: true, '0': false, false: false }[text] ?? text;
  return text;
}

function checked(value: unknown, kind: SettingKind, source: string, where: string): unknown {
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
