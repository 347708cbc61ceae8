// Events as lines of JSON, for log collectors: `{"t":"2026-11-15T12:00:00.000Z","level":"warn","kind":"fallback","device":"cuda:0",…}`.
//
// One logger for the runtime and for GPUCompute. It listens only to the events of its level, so what it does not write costs nothing.

import { plainKinds } from '../base/kinds.ts';
import { checked } from '../base/signatures.ts';
import { ArgumentError, type EventLogger, type EventName } from '../index.ts';

/** From what went wrong to everything; each level has those before it. */
export const logLevels = [
  'error',
  'warn',
  'info',
  'debug1',
  'debug2',
  'debug3',
  'debug4',
  'debug5',
  'debug6',
  'debug7',
] as const;
export type LogLevel = (typeof logLevels)[number];

/** Debugging is a ladder: devices and routes, kernels, programs, transfers, measurements, memory, waits. */
const levelOf: Readonly<Record<EventName, LogLevel>> = {
  error: 'error',
  lost: 'error',
  abandoned: 'error',
  fallback: 'warn',
  retry: 'warn',
  growth: 'warn',
  leak: 'warn',
  reborn: 'info',
  return: 'info',
  pressure: 'info',
  cleanup: 'info',
  spill: 'info',
  recompute: 'info',
  route: 'debug1',
  launch: 'debug2',
  replay: 'debug2',
  span: 'debug2',
  compile: 'debug3',
  upload: 'debug4',
  download: 'debug4',
  move: 'debug4',
  measured: 'debug5',
  alloc: 'debug6',
  free: 'debug6',
  wait: 'debug7',
};

/** Events of GPUCompute that the runtime does not have. */
const computeLevels: Readonly<Record<string, LogLevel>> = {
  anomaly: 'warn',
  degradation: 'warn',
  device: 'info',
  reset: 'info',
  healed: 'info',
  chunk: 'debug2',
};

export interface LineTarget {
  write(line: string): unknown;
}

const lineKinds = {
  ...plainKinds,
  target: {
    is: (v: unknown) => typeof (v as LineTarget | null | undefined)?.write === 'function',
    words: 'a stream: something with write(line), such as process.stderr',
  },
};

export interface JsonLinesOptions {
  /** Default `info`. */
  readonly level?: LogLevel | undefined;
}

/** A logger that fits `createRuntime({ logger })` and `DeviceManager.create({ logger })`. */
export interface JsonLinesLogger extends EventLogger {
  (kind: string, event: object): void;
}

/**
 * Writes events to a stream, one line of JSON each.
 * @example
 * ```ts
 * import { jsonLines } from 'gpuforge/studio';
 * const lines: string[] = [];
 * const log = jsonLines({ write: (line: string) => lines.push(line) }, { level: 'warn' });
 * log('fallback', { from: 'cuda:0', to: 'cpu', reason: 'lost' });
 * JSON.parse(lines[0]!).level; // → 'warn'
 * ```
 */
export const jsonLines = checked(
  'jsonLines',
  'stream:target options:{level:text}?',
  (stream: LineTarget, options: JsonLinesOptions = {}): JsonLinesLogger => {
    const { level = 'info' } = options;
    const most = logLevels.indexOf(level);
    if (most < 0) {
      throw new ArgumentError({
        code: 'BAD_OPTION',
        message: `jsonLines: there is no level '${String(level)}'`,
        fix: `Levels are ${logLevels.join(', ')}.`,
        where: 'jsonLines',
      });
    }
    const wanted = (l: LogLevel): boolean => logLevels.indexOf(l) <= most;
    const kinds = (Object.keys(levelOf) as EventName[]).filter((k) => wanted(levelOf[k]));
    const log = (kind: string, event: object): void => {
      const of = (levelOf as Readonly<Record<string, LogLevel>>)[kind] ?? computeLevels[kind] ?? 'info';
      if (wanted(of)) stream.write(`${lineOf(of, kind, event)}\n`);
    };
    return Object.assign(log, { kinds });
  },
  lineKinds,
);

export function lineOf(level: string, kind: string, event: object): string {
  return JSON.stringify({ t: new Date().toISOString(), level, kind, ...event }, plain);
}

/** What JSON cannot hold, as text. */
function plain(_key: string, value: unknown): unknown {
  if (value instanceof Error)
    return { name: value.name, message: value.message, ...('code' in value ? { code: value.code } : {}) };
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}
