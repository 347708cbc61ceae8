// Memory settings of a runtime: typed, validated by a table, every value in one unit afterwards.
//
// Amounts are bytes, shares of the device's memory (a number up to 1, or '80%'), or sizes with a unit ('512MiB').

import type { DeviceId } from '../../devices/device.ts';
import { ArgumentError } from '../../errors.ts';
import { defaultLimits, type LevelLimits } from './levels.ts';

/** Bytes; a share of the whole up to and including 1; `'80%'`; or a size such as `'512MiB'` or `'1.5GB'`. */
export type Amount = number | string;

/** What devices may hold, by id (`cuda:0`) or kind (`cuda`), and all of them together (`total`: bytes, no share). */
export interface Budgets {
  readonly total?: Amount | undefined;
  readonly [device: DeviceId]: Amount | undefined;
}

export interface LeakOptions {
  /** How far back growth is looked for. Default: 5 minutes. */
  readonly windowMs?: number | undefined;
  /** Time that samples must span before anything is said. Default: 1 minute. */
  readonly spanMs?: number | undefined;
  /** Growth below this is not worth a report, in bytes. Default: 1 MiB. */
  readonly leastBytes?: number | undefined;
}

export interface MemoryOptions {
  /** Where the pressure levels begin, in per cent. Default: 60, 80, 90. */
  readonly levels?: Partial<LevelLimits> | undefined;
  /** Utilisation at which memory is cleaned up by itself, in per cent. Default: 85. `false`: never. */
  readonly cleanupAt?: number | false | undefined;
  /**
   * The most the runtime may hold: one amount is for each device, or per device and in all:
   * `{ 'cuda:0': '60%', cpu: '2GiB', total: '8GiB' }`. Default: no limit of its own.
   */
  readonly budget?: Amount | Budgets | undefined;
  /** Host memory that spilled tensors may take. A share counts of the machine's memory. Default: a quarter of it. */
  readonly hostBytes?: Amount | undefined;
  /**
   * Which tensors remember the line that made them: noting it costs microseconds. `large`: from 16 MiB on. Default: large ones
   * once memory is short or a budget is set; `all` in development mode.
   */
  readonly sites?: 'all' | 'large' | 'off' | undefined;
  /** Watch for growth without end. Default: on. */
  readonly leaks?: LeakOptions | boolean | undefined;
  /** Milliseconds between samples. Default: 1000. `false`: only on allocations and on request. */
  readonly sampleMs?: number | false | undefined;
}

export interface LeakSettings {
  readonly windowMs: number;
  readonly spanMs: number;
  readonly leastBytes: number;
}

/** Options with every default filled in. Amounts stay as they were given: a share needs a total (`bytesOf`). */
export interface MemorySettings {
  readonly levels: LevelLimits;
  readonly cleanupAt: number | null;
  readonly budget: Amount | Budgets | null;
  readonly hostBytes: Amount;
  readonly sites: 'all' | 'large' | 'off' | null;
  readonly leaks: LeakSettings | null;
  readonly sampleMs: number | null;
}

export const defaultLeaks: LeakSettings = { windowMs: 300_000, spanMs: 60_000, leastBytes: 2 ** 20 };

type Check = (value: unknown, key: string) => void;

const checks: Readonly<Record<keyof MemoryOptions, Check>> = {
  levels: (v, key) => {
    const given = record(v, key, ['moderate', 'high', 'critical'], percent);
    const { moderate, high, critical } = { ...defaultLimits, ...given } as LevelLimits;
    if (!(moderate < high && high < critical))
      throw bad(key, `${moderate}, ${high}, ${critical}`, 'Let the levels rise: moderate < high < critical.');
  },
  cleanupAt: (v, key) => {
    if (v !== false) percent(v, key);
  },
  budget: (v, key) => {
    if (typeof v === 'number' || typeof v === 'string') checkAmount(v, key);
    else for (const [id, amount] of Object.entries(plain(v, key))) checkBudget(id, amount, key);
  },
  hostBytes: (v, key) => {
    if (v !== 0) checkAmount(v, key);
  },
  sites: (v, key) => {
    if (v !== 'all' && v !== 'large' && v !== 'off') throw bad(key, v, "Use 'all', 'large' or 'off'.");
  },
  leaks: (v, key) => {
    if (typeof v === 'boolean') return;
    const given = record(v, key, ['windowMs', 'spanMs', 'leastBytes'], positive);
    const { windowMs, spanMs } = { ...defaultLeaks, ...given } as LeakSettings;
    if (spanMs > windowMs) throw bad(`${key}.spanMs`, spanMs, `Keep it within the window of ${windowMs} ms.`);
  },
  sampleMs: (v, key) => {
    if (v === false) return;
    positive(v, key);
    if ((v as number) > 2 ** 31 - 1) throw bad(key, v, 'Timers take at most 2147483647 ms.');
  },
};

/** Checks options and fills in the defaults. A key that is unknown or has a bad value is named in the error. */
export function memorySettings(options: MemoryOptions = {}): MemorySettings {
  const given = plain(options, 'memory');
  for (const [key, value] of Object.entries(given)) {
    const check = checks[key as keyof MemoryOptions] as Check | undefined;
    if (!check) throw unknownKey(`memory.${key}`, Object.keys(checks));
    if (value !== undefined) check(value, `memory.${key}`);
  }
  const { leaks, cleanupAt, sampleMs } = options;
  return {
    levels: { ...defaultLimits, ...defined(options.levels) },
    cleanupAt: cleanupAt === false ? null : (cleanupAt ?? 85),
    budget: options.budget ?? null,
    hostBytes: options.hostBytes ?? '25%',
    sites: options.sites ?? null,
    leaks: leaks === false ? null : { ...defaultLeaks, ...(leaks === true ? {} : defined(leaks)) },
    sampleMs: sampleMs === false ? null : (sampleMs ?? 1000),
  };
}

/** The budget of a device in bytes; Infinity if none was set. `total`: the device's memory, where it is known. */
export function budgetFor(settings: MemorySettings, device: DeviceId, total: number | null): number {
  const { budget } = settings;
  if (budget === null) return Number.POSITIVE_INFINITY;
  if (typeof budget !== 'object') return bytesOf(budget, total, 'memory.budget');
  const own = budget[device] ?? budget[device.split(':')[0]!];
  return own === undefined ? Number.POSITIVE_INFINITY : bytesOf(own, total, `memory.budget['${device}']`);
}

/** What all devices may hold together, in bytes; Infinity if that was not set. */
export function totalBudget({ budget }: MemorySettings): number {
  const total = typeof budget === 'object' ? budget?.total : undefined;
  return total === undefined ? Number.POSITIVE_INFINITY : bytesOf(total, null, 'memory.budget.total');
}

/** An amount in bytes. */
export function bytesOf(amount: Amount, total: number | null, key: string): number {
  const { value, share } = parseAmount(amount, key);
  if (!share) return Math.floor(value);
  if (total === null)
    throw bad(key, amount, 'The total is not known here, so a share means nothing: give bytes, such as "2GiB".');
  return Math.floor(value * total);
}

const unitBytes: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

function parseAmount(amount: unknown, key: string): { readonly value: number; readonly share: boolean } {
  const fix = 'Give bytes, a share up to 1, or text such as "80%" or "512MiB".';
  if (typeof amount === 'number') {
    if (!(amount > 0) || !Number.isFinite(amount)) throw bad(key, amount, fix);
    return { value: amount, share: amount <= 1 };
  }
  const [, digits, unit] = /^\s*(\d+(?:\.\d+)?)\s*(%|[KMGT]i?B|B)\s*$/.exec(String(amount)) ?? [];
  if (typeof amount !== 'string' || digits === undefined || Number(digits) === 0) throw bad(key, amount, fix);
  if (unit !== '%') return { value: Number(digits) * unitBytes[unit!]!, share: false };
  if (Number(digits) > 100) throw bad(key, amount, fix);
  return { value: Number(digits) / 100, share: true };
}

const kinds = ['cuda', 'webgpu', 'cpu', 'reference'];

/** A misspelt device would have no limit at all, and nobody would notice. */
function checkBudget(id: string, amount: unknown, key: string): void {
  if (amount === undefined) return;
  if (id === 'total') {
    if (parseAmount(amount, `${key}.total`).share)
      throw bad(
        `${key}.total`,
        amount,
        'Devices have different sizes, so a share means nothing: give bytes, such as "8GiB".',
      );
    return;
  }
  if (!kinds.includes(id.split(':')[0]!)) throw unknownKey(`${key}.${id}`, ['total', ...kinds, "ids such as 'cuda:0'"]);
  checkAmount(amount, `${key}['${id}']`);
}

const checkAmount: Check = (v, key) => void parseAmount(v, key);

const percent: Check = (v, key) => {
  if (typeof v !== 'number' || !(v > 0 && v <= 100)) throw bad(key, v, 'Give a percentage above 0, at most 100.');
};

const positive: Check = (v, key) => {
  if (typeof v !== 'number' || !(v > 0) || !Number.isFinite(v)) throw bad(key, v, 'Give a number above 0.');
};

/** A plain object whose values all pass; other keys than those listed are refused. */
function record(v: unknown, key: string, keys: readonly string[], check: Check): Record<string, unknown> {
  const given = plain(v, key);
  for (const [k, value] of Object.entries(given)) {
    if (!keys.includes(k)) throw unknownKey(`${key}.${k}`, keys);
    if (value !== undefined) check(value, `${key}.${k}`);
  }
  return defined(given);
}

function plain(v: unknown, key: string): Record<string, unknown> {
  if (typeof v === 'object' && v !== null && !Array.isArray(v)) return v as Record<string, unknown>;
  throw bad(key, v, 'Give an object.');
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Without the keys that are there but undefined, which must not hide a default. */
const defined = <T extends object>(o: T | undefined): Defined<T> =>
  Object.fromEntries(Object.entries(o ?? {}).filter(([, v]) => v !== undefined)) as Defined<T>;

function bad(key: string, value: unknown, fix: string): ArgumentError {
  const shown = typeof value === 'string' ? `'${value}'` : typeof value === 'object' ? JSON.stringify(value) : value;
  return new ArgumentError({ code: 'BAD_OPTION', message: `${key}: ${String(shown)} cannot be used`, fix, where: key });
}

function unknownKey(key: string, keys: readonly string[]): ArgumentError {
  return new ArgumentError({
    code: 'UNKNOWN_OPTION',
    message: `${key}: there is no such option`,
    fix: `Options there are ${keys.join(', ')}.`,
    where: key,
  });
}
