// The settings of routing: one table with, for each, its check, its default and the environment variable that supplies it.
//
// Options given in code win over the environment, which wins over the defaults. A value that cannot be used is an error
// that names the key (or the variable); nothing is clamped or ignored in silence. The environment is read here and nowhere else.

import { shown } from '../../base/arguments.ts';
import { type Environment, environment } from '../../base/platform.ts';
import type { DeviceId } from '../../devices/device.ts';
import { ArgumentError } from '../../errors.ts';

export type RoutingMode = 'measured' | 'rules' | 'off';

export interface ExploreOptions {
  /** Time that may be lost to trying the device predicted to be slower, as a share of all routed time. Default 0.02. */
  readonly maxShare?: number | undefined;
  /** Only devices predicted to take at most this many times the best. Default 1.4. */
  readonly maxRatio?: number | undefined;
  /** Work measured this often on a device is not explored there any more, nor is work measured twice as often where it runs. Default 4. */
  readonly minSamples?: number | undefined;
  /** Calls predicted to take longer are never explored, in ms. Default 20. */
  readonly maxMs?: number | undefined;
}

export interface RoutingOptions {
  /** `measured` (default) compares predicted costs, `rules` uses the fixed table, `off` the device that is pinned, else the first. */
  readonly mode?: RoutingMode | undefined;
  /** false is the same as mode `off`. */
  readonly enabled?: boolean | undefined;
  /** Everything runs here. A device that is not there is an error, unless `allowFallback` is set. */
  readonly device?: DeviceId | undefined;
  /** Never used. A kind such as `webgpu` stands for all its devices. */
  readonly forbid?: readonly DeviceId[] | undefined;
  /** A pinned device that is not there is replaced by the others, with that reason. Default false. */
  readonly allowFallback?: boolean | undefined;
  /** Smaller work is not sent to a GPU (from 10; 1000 where the rules apply). In `measured` mode only if you set it. */
  readonly gpuThresholdElements?: number | undefined;
  /** Elements from which the rules call a GPU optimal. Default 10,000, at least 100. In `measured` mode it takes part in naming the outcome only if you set it. */
  readonly gpuOptimalThreshold?: number | undefined;
  /** Overhead, in ms, above which the rules leave small work to the CPU for good. Default 10. In `measured` mode, if you set it: most time that launches and transfers of a GPU may take. */
  readonly overheadToleranceMs?: number | undefined;
  /** Trying devices to learn about them. Default on, with the limits below. */
  readonly explore?: boolean | ExploreOptions | undefined;
  /** Folder for measurements of this machine; false keeps nothing on disk. Default: the user's cache folder. */
  readonly cache?: string | false | undefined;
}

/** Options with every default filled in; null where a setting has no effect unless given. */
export interface Routing {
  readonly mode: RoutingMode;
  readonly device: DeviceId | null;
  readonly forbid: readonly DeviceId[];
  readonly allowFallback: boolean;
  readonly gpuThresholdElements: number;
  readonly gpuOptimalThreshold: number;
  readonly overheadToleranceMs: number;
  /** Which of the three thresholds the user has set: in `measured` mode only those count. */
  readonly given: { readonly threshold: boolean; readonly optimal: boolean; readonly overhead: boolean };
  readonly explore: false | Required<{ readonly [K in keyof ExploreOptions]: number }>;
  /** null: the default folder. */
  readonly cache: string | false | null;
}

type Key = keyof RoutingOptions;

interface Setting {
  /** What a value must be, in words; the check itself. */
  readonly must: string;
  readonly ok: (v: unknown) => boolean;
  readonly variable: string;
  /** From the text of the variable. */
  readonly parse: (text: string) => unknown;
}

const modes: readonly RoutingMode[] = ['measured', 'rules', 'off'];
const isText = (v: unknown): v is string => typeof v === 'string' && v.length > 0;
const isNumber = (v: unknown, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  typeof v === 'number' && v >= least && v <= most;
const isWhole = (v: unknown, least: number): boolean => isNumber(v, least) && Number.isInteger(v);

const asText = (text: string): unknown => text;
const asNumber = (text: string): unknown => (text.trim() === '' ? Number.NaN : Number(text));
const asFlag = (text: string): unknown => ({ '1': true, true: true, '0': false, false: false })[text] ?? text;
const asList = (text: string): unknown => text.split(',').map((s) => s.trim());

const isExplore = (v: unknown): boolean => typeof v === 'boolean' || (typeof v === 'object' && v !== null);

const settings: Readonly<Record<Key, Setting>> = {
  mode: {
    must: `one of ${modes.join(', ')}`,
    ok: (v) => modes.includes(v as RoutingMode),
    variable: 'GPUFORGE_ROUTING_MODE',
    parse: asText,
  },
  enabled: {
    must: 'true or false',
    ok: (v) => typeof v === 'boolean',
    variable: 'GPUFORGE_ROUTING_ENABLED',
    parse: asFlag,
  },
  device: { must: "a device such as 'cuda:0'", ok: isText, variable: 'GPUFORGE_ROUTING_DEVICE', parse: asText },
  forbid: {
    must: "a list of devices such as ['webgpu']",
    ok: (v) => Array.isArray(v) && v.every(isText),
    variable: 'GPUFORGE_ROUTING_FORBID',
    parse: asList,
  },
  allowFallback: {
    must: 'true or false',
    ok: (v) => typeof v === 'boolean',
    variable: 'GPUFORGE_ROUTING_ALLOW_FALLBACK',
    parse: asFlag,
  },
  gpuThresholdElements: {
    must: 'a whole number, 10 or more',
    ok: (v) => isWhole(v, 10),
    variable: 'GPUFORGE_GPU_THRESHOLD_ELEMENTS',
    parse: asNumber,
  },
  gpuOptimalThreshold: {
    must: 'a whole number, 100 or more',
    ok: (v) => isWhole(v, 100),
    variable: 'GPUFORGE_GPU_OPTIMAL_THRESHOLD',
    parse: asNumber,
  },
  overheadToleranceMs: {
    must: 'a number of milliseconds, 0 or more',
    ok: (v) => isNumber(v, 0),
    variable: 'GPUFORGE_OVERHEAD_TOLERANCE_MS',
    parse: asNumber,
  },
  explore: {
    must: 'true, false or an object',
    ok: isExplore,
    variable: 'GPUFORGE_ROUTING_EXPLORE',
    parse: asFlag,
  },
  cache: {
    must: 'a folder, or false',
    ok: (v) => v === false || isText(v),
    variable: 'GPUFORGE_ROUTING_CACHE',
    parse: (text) => (text === '0' || text === 'false' ? false : text),
  },
};

const exploreSettings: Readonly<
  Record<keyof ExploreOptions, { must: string; ok: (v: unknown) => boolean; usual: number }>
> = {
  maxShare: { must: 'a number from 0 to 0.5', ok: (v) => isNumber(v, 0, 0.5), usual: 0.02 },
  maxRatio: { must: 'a number from 1 to 10', ok: (v) => isNumber(v, 1, 10), usual: 1.4 },
  minSamples: { must: 'a whole number, 1 or more', ok: (v) => isWhole(v, 1), usual: 4 },
  maxMs: { must: 'a number of milliseconds above 0', ok: (v) => isNumber(v, Number.MIN_VALUE), usual: 20 },
};

/** The variables that supply defaults, by setting. */
export const routingVariables: Readonly<Record<Key, string>> = Object.fromEntries(
  Object.entries(settings).map(([key, s]) => [key, s.variable]),
) as Record<Key, string>;

export type { Environment };

function refuse(name: string, value: unknown, must: string): never {
  throw new ArgumentError({
    code: 'BAD_OPTION',
    message: `${name}: ${shown(value)} is not ${must}`,
    fix: `Use ${must}.`,
    where: name,
  });
}

/** Checks options, adds what the environment says, and fills in the defaults. */
export function resolveRouting(options: RoutingOptions = {}, env: Environment = environment()): Routing {
  for (const key of Object.keys(options)) {
    if (!(key in settings)) refuse(`routing.${key}`, key, `a setting of routing (${Object.keys(settings).join(', ')})`);
  }
  const value = (key: Key): unknown => {
    const given = options[key];
    const { ok, must, variable, parse } = settings[key];
    if (given !== undefined) return ok(given) ? given : refuse(`routing.${key}`, given, must);
    const text = env[variable];
    if (text === undefined || text === '') return undefined;
    const parsed = parse(text);
    return ok(parsed) ? parsed : refuse(variable, text, must);
  };
  const number = (key: Key, usual: number): number => (value(key) as number | undefined) ?? usual;
  return {
    mode: value('enabled') === false ? 'off' : ((value('mode') as RoutingMode | undefined) ?? 'measured'),
    device: (value('device') as string | undefined) ?? null,
    forbid: (value('forbid') as readonly string[] | undefined) ?? [],
    allowFallback: (value('allowFallback') as boolean | undefined) ?? false,
    gpuThresholdElements: number('gpuThresholdElements', 1000),
    gpuOptimalThreshold: number('gpuOptimalThreshold', 10_000),
    overheadToleranceMs: number('overheadToleranceMs', 10),
    given: {
      threshold: value('gpuThresholdElements') !== undefined,
      optimal: value('gpuOptimalThreshold') !== undefined,
      overhead: value('overheadToleranceMs') !== undefined,
    },
    explore: resolveExplore(value('explore') as boolean | ExploreOptions | undefined),
    cache: (value('cache') as string | false | undefined) ?? null,
  };
}

function resolveExplore(explore: boolean | ExploreOptions | undefined): Routing['explore'] {
  if (explore === false) return false;
  const given: ExploreOptions = typeof explore === 'object' ? explore : {};
  for (const key of Object.keys(given)) {
    if (!(key in exploreSettings))
      refuse(`routing.explore.${key}`, key, `a setting of it (${Object.keys(exploreSettings).join(', ')})`);
  }
  const one = (key: keyof ExploreOptions): number => {
    const { ok, must, usual } = exploreSettings[key];
    const v = given[key] ?? usual;
    return ok(v) ? v : refuse(`routing.explore.${key}`, v, must);
  };
  return { maxShare: one('maxShare'), maxRatio: one('maxRatio'), minSamples: one('minSamples'), maxMs: one('maxMs') };
}

/** Whether a list of devices and kinds covers a device: `webgpu` covers `webgpu:0`. */
export const covers = (list: readonly DeviceId[], id: DeviceId): boolean =>
  list.includes(id) || list.includes(id.split(':')[0]!);
