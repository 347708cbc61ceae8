// Options of a field, checked and complete.

import type { DeviceId, Runtime } from '../index.ts';
import type { Edges } from './cycle/grid.ts';
import type { FieldShape } from './cycle/shape.ts';
import { FieldConfigError } from './errors.ts';
import { type ChannelLayout, checkLayout, layoutOf, totalChannels } from './layout.ts';
import { type Boundary, type FieldSettings, type Model, resolveSettings } from './settings.ts';

export interface FieldOptions {
  /** Sensor values per cycle. Default 16. */
  readonly sensorDim?: number | undefined;
  /** Motor values per cycle. Default 5. */
  readonly motorDim?: number | undefined;
  /** Cells along each edge, from 4 on. Default 32. */
  readonly resolution?: number | readonly [number, number, number] | undefined;
  /** Channels of each kind, or how many in all. Default 64. */
  readonly channels?: ChannelLayout | number | undefined;
  /** Default 'fused'. */
  readonly model?: Model | undefined;
  /** Default 'periodic'. */
  readonly boundary?: Boundary | undefined;
  /** Default 'auto': a GPU that gives the CPU's results, else the CPU. */
  readonly device?: 'auto' | 'gpu' | 'cpu' | DeviceId | undefined;
  /** Refuse to run on anything but a GPU. */
  readonly forceGPU?: boolean | undefined;
  /** A runtime to live in; without one the field opens its own and closes it. */
  readonly runtime?: Runtime | undefined;
  /** Equal seeds give equal fields. Default 0. */
  readonly seed?: number | undefined;
  readonly settings?: Partial<FieldSettings> | undefined;
  /** `full` measures the attention features too. Default 'record'. */
  readonly telemetry?: 'off' | 'record' | 'full' | undefined;
  /** Do not print which device was chosen. Default true. */
  readonly quiet?: boolean | undefined;
  /** How field values are stored; sums and steps are computed in f32 either way. Default 'f32'. */
  readonly precision?: 'f32' | 'f16' | undefined;
}

export interface ResolvedField {
  readonly shape: FieldShape;
  readonly settings: FieldSettings;
  readonly boundary: Boundary;
  readonly seed: number;
  readonly telemetry: 'off' | 'record' | 'full';
}

const names: ReadonlySet<string> = new Set<keyof FieldOptions>([
  'sensorDim',
  'motorDim',
  'resolution',
  'channels',
  'model',
  'boundary',
  'device',
  'forceGPU',
  'runtime',
  'seed',
  'settings',
  'telemetry',
  'quiet',
  'precision',
]);

const where = 'createField';

export function resolveField(options: FieldOptions): ResolvedField {
  const bad = Object.keys(options).find((k) => !names.has(k));
  if (bad !== undefined) throw refused(`there is no option '${bad}'`, `Options are ${[...names].join(', ')}.`);
  const model = oneOf('model', options.model ?? 'fused', ['fused', 'full']);
  const boundary = oneOf('boundary', options.boundary ?? 'periodic', ['periodic', 'reflecting']);
  const precision = oneOf('precision', options.precision ?? 'f32', ['f32', 'f16']);
  const telemetry = oneOf('telemetry', options.telemetry ?? 'record', ['off', 'record', 'full']);
  const edges = edgesOf(options.resolution ?? 32);
  const given = options.channels ?? 64;
  if (typeof given === 'number') whole('channels', given, model === 'full' ? 20 : 1, 4096);
  const layout = checkLayout(
    typeof given === 'number' ? (model === 'full' ? layoutOf(given, 16) : layoutOf(given)) : given,
    model,
    where,
  );
  const sensorDim = whole('sensorDim', options.sensorDim ?? 16, 1, 1023);
  const motorDim = whole('motorDim', options.motorDim ?? 5, 1, 1024);
  if (sensorDim > layout.content)
    throw refused(
      `there are ${sensorDim} sensors and ${layout.content} content channels: each sensor needs one of its own`,
      'Use fewer sensors, or more channels.',
    );
  if (edges.reduce((n, e) => n * e, totalChannels(layout)) >= 2 ** 32)
    throw refused(
      `a field of ${edges.join(' × ')} × ${totalChannels(layout)} has 2^32 values or more`,
      'Use fewer cells or channels.',
    );
  const seed = options.seed ?? 0;
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw refused(`seed is ${String(seed)}`, 'Use a whole number from 0 on.');
  return {
    shape: { edges, layout, sensorDim, motorDim, precision, model },
    settings: resolveSettings(options.settings, model, where),
    boundary,
    seed,
    telemetry,
  };
}

function edgesOf(given: NonNullable<FieldOptions['resolution']>): Edges {
  const edges = typeof given === 'number' ? [given, given, given] : given;
  if (!Array.isArray(edges) || edges.length !== 3)
    throw refused(`resolution is ${String(given)}`, 'Give a number of cells, or one for each of three edges.');
  for (const e of edges) whole('resolution', e, 4, 4096);
  return [edges[0]!, edges[1]!, edges[2]!];
}

function whole(name: string, value: number, low: number, high: number): number {
  if (Number.isSafeInteger(value) && value >= low && value <= high) return value;
  throw refused(`${name} is ${String(value)}`, `Use a whole number from ${low} to ${high}.`);
}

function oneOf<T extends string>(name: string, value: T, choices: readonly T[]): T {
  if (choices.includes(value)) return value;
  throw refused(`${name} is '${String(value)}'`, `Use one of ${choices.join(', ')}.`);
}

const refused = (problem: string, fix: string): FieldConfigError => new FieldConfigError({ where, problem, fix });
