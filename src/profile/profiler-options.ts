// What a profiler is told: options, names, and what is wrong with them.

import { ArgumentError, type Runtime } from '../index.ts';
import { flag, type Rule } from './options.ts';
import type { ScopeFigures } from './record/tracked.ts';

export interface ProfilerOptions {
  /** Default true. */
  readonly enabled?: boolean | undefined;
  /** Runtimes whose devices are listened to. */
  readonly runtimes?: readonly Runtime[] | undefined;
  /** Measure kernels one by one, also inside compiled functions, and threads of the CPU device. It changes what is measured. Default false. */
  readonly detailed?: boolean | undefined;
  /** Entries that are kept. Default 100,000. */
  readonly capacity?: number | undefined;
  /** What scopes are said to run on where no device worked for them. */
  readonly deviceId?: string | undefined;
}

export interface TrackedFigures extends ScopeFigures {
  /** Until the devices were done, by the clock of the host. */
  readonly hostMs: number;
}

export interface ScopeInfo {
  /** What it is meant to run on; a device that really worked for it is shown instead. */
  readonly device?: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

export const isRuntimes = (v: unknown): boolean => Array.isArray(v) && v.every((r) => typeof r?.on === 'function');

export const optionRules: Readonly<Record<keyof ProfilerOptions, Rule>> = {
  enabled: flag,
  detailed: flag,
  runtimes: [isRuntimes, 'a list of runtimes'],
  capacity: [(v) => Number.isSafeInteger(v) && (v as number) > 0, 'a whole number above 0'],
  deviceId: [(v) => typeof v === 'string', 'the id of a device'],
};

export const scopeRules: Readonly<Record<keyof ScopeInfo, Rule>> = {
  device: [(v) => typeof v === 'string', 'the id of a device'],
  meta: [(v) => typeof v === 'object' && v !== null, 'an object'],
};

export const mostNameLength = 200;
export const noInfo: ScopeInfo = {};

export function checkName(operation: unknown): void {
  if (typeof operation === 'string' && operation !== '') return;
  throw new ArgumentError({
    code: 'BAD_NAME',
    message: `profile: the name of the operation is ${operation === '' ? 'empty' : String(operation)}`,
    fix: 'Say in a word or two what is measured.',
    where: 'profile',
  });
}

export function checkCount(count: unknown, where: string): void {
  if (Number.isSafeInteger(count) && (count as number) >= 0) return;
  throw new ArgumentError({
    message: `${where}: ${String(count)} is no number of operations`,
    fix: 'Use a whole number from 0 up.',
    where,
  });
}

export const notEnabled = (): ArgumentError =>
  new ArgumentError({ message: 'track: the profiler is off', fix: 'Call enable() first.', where: 'track' });

export const notARuntime = (value: unknown): ArgumentError =>
  new ArgumentError({
    message: `attach: ${String(value)} is no runtime`,
    fix: 'Give what createRuntime() returned.',
    where: 'attach',
  });
