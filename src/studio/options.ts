// The options of serveStudio, checked.

import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { shown } from '../base/arguments.ts';
import type { GPUCompute } from '../compute/index.ts';
import type { Field } from '../field/index.ts';
import { ArgumentError, type Runtime } from '../index.ts';
import type { Profiler } from '../profile/index.ts';
import type { AlertRule } from './alerts.ts';
import type { BatchSource } from './watch/batches.ts';
import type { QueueSource } from './watch/queues.ts';

/** A runtime with the name it has on the page. */
export interface NamedRuntime {
  readonly runtime: Runtime;
  readonly studioName: string;
}

/** A field with the name it has on the page. */
export interface NamedField {
  readonly field: Field;
  readonly studioName: string;
}

export interface StudioOptions {
  /** The runtimes to watch. More can be added with `studio.watch`. */
  readonly runtimes?: readonly (Runtime | NamedRuntime)[] | undefined;
  /** A GPUCompute: its runtime, its pool and its anomalies are watched too. */
  readonly compute?: GPUCompute | undefined;
  /** Batch processors, by any name: `{ images: processor }`. */
  readonly batches?: Readonly<Record<string, BatchSource>> | undefined;
  /** Transports of jobs, by any name: `{ queue: transport }`. */
  readonly queues?: Readonly<Record<string, QueueSource>> | undefined;
  /** Fields: their cycles, motors, latencies and slices. */
  readonly fields?: readonly (Field | NamedField)[] | undefined;
  /** Profilers of the program: their profiles are in the list of the page. */
  readonly profilers?: readonly Profiler[] | undefined;
  /** Files of profiles to show. */
  readonly profiles?: readonly string[] | undefined;
  /** Default 0: any that is free. */
  readonly port?: number | undefined;
  /** Default: 127.0.0.1 and ::1. Any other address needs a `tokenFile`. */
  readonly host?: string | undefined;
  /** A file with a secret of at least 32 characters: what programs send as `Authorization: Bearer`. */
  readonly tokenFile?: string | undefined;
  /** Open the page in a browser. Default false. */
  readonly open?: boolean | undefined;
  /** Samples kept, one a second. Default 600: ten minutes. */
  readonly history?: number | undefined;
  /** Let the page switch profiling on and off, and change settings of fields. Default false: it only looks. */
  readonly allowControl?: boolean | undefined;
  /** Rules of alerts. Default: `defaultAlerts`. */
  readonly alerts?: readonly AlertRule[] | undefined;
  /** A file that every alert is appended to as a line of JSON; rotated at 10 MB, three kept. */
  readonly alertFile?: string | undefined;
}

export interface StudioSettings {
  readonly port: number;
  readonly hosts: readonly string[];
  /** Names the server may be asked by. */
  readonly names: readonly string[];
  readonly token: string | undefined;
  readonly history: number;
}

const loopback = ['127.0.0.1', '::1'] as const;
const leastHistory = 10;
/** Of about a kilobyte each: under 8 MB. */
const mostHistory = 7200;
const leastToken = 32;

const known = [
  'runtimes',
  'compute',
  'batches',
  'queues',
  'fields',
  'profilers',
  'profiles',
  'port',
  'host',
  'tokenFile',
  'open',
  'history',
  'allowControl',
  'alerts',
  'alertFile',
] as const satisfies readonly (keyof StudioOptions)[];

export function studioSettings(options: StudioOptions): StudioSettings {
  for (const key of Object.keys(options))
    if (!known.includes(key as (typeof known)[number]))
      throw bad(`there is no option '${key}'`, `Options are ${known.join(', ')}.`, 'UNKNOWN_OPTION');
  const { port = 0, history = 600, host, tokenFile, runtimes = [], alerts = [] } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw bad(`port is ${shown(port)}`, 'Use a whole number from 0 (any free port) to 65535.');
  if (!Number.isInteger(history) || history < leastHistory || history > mostHistory)
    throw bad(`history is ${shown(history)}`, `Use a whole number of seconds from ${leastHistory} to ${mostHistory}.`);
  if (!Array.isArray(runtimes)) throw bad(`runtimes is ${shown(runtimes)}`, 'Give a list: runtimes: [rt].');
  for (const r of runtimes) checkRuntime(r);
  for (const [name, source] of Object.entries(options.batches ?? {}))
    if (typeof source?.stats !== 'function' || typeof source.onBatch !== 'function')
      throw bad(`batches.${name} is ${shown(source)}`, 'Give a BatchProcessor.');
  for (const [name, source] of Object.entries(options.queues ?? {}))
    if (typeof source?.jobs !== 'function' || typeof source.job !== 'function')
      throw bad(
        `queues.${name} is ${shown(source)}`,
        'Give a transport: localTransport(), or await openTransport(url).',
      );
  const { fields = [] } = options;
  if (!Array.isArray(fields)) throw bad(`fields is ${shown(fields)}`, 'Give a list: fields: [field].');
  for (const given of fields) checkField(given);
  for (const rule of alerts)
    if (typeof rule?.when !== 'function' || typeof rule.name !== 'string' || !(rule.forMs >= 0) || !(rule.clearMs >= 0))
      throw bad(`an alert is ${shown(rule?.name)}`, 'Give { name, when: (snapshot) => boolean, forMs, clearMs }.');
  const token = tokenFile === undefined ? undefined : readToken(tokenFile);
  const local = host === undefined || host === 'localhost' || (loopback as readonly string[]).includes(host);
  if (!local && token === undefined)
    throw bad(
      `host ${shown(host)} can be reached from other machines`,
      'Give a tokenFile with a secret too, or leave the host out and use an SSH tunnel.',
      'STUDIO_NEEDS_TOKEN',
    );
  return {
    port,
    hosts: host === undefined || host === 'localhost' ? loopback : [host],
    names: [...loopback, 'localhost', ...(local ? [] : namesOf(host!))],
    token,
    history,
  };
}

export function checkRuntime(given: unknown): NamedRuntime | Runtime {
  const runtime = (given as NamedRuntime | null)?.runtime ?? given;
  const { snapshot, on } = (runtime ?? {}) as Partial<Runtime>;
  if (typeof snapshot === 'function' && typeof on === 'function') return given as Runtime;
  throw bad(`a runtime is ${shown(given)}`, 'Give what createRuntime() returned, or { runtime, studioName }.');
}

function checkField(given: Field | NamedField): void {
  const field: Partial<Field> = (given && 'field' in given ? given.field : given) ?? {};
  if (typeof field.on !== 'function' || typeof field.slice !== 'function')
    throw bad(`a field is ${shown(given)}`, 'Give what createField() returned, or { field, studioName }.');
}

/** All addresses, if it listens at all of them. */
function namesOf(host: string): readonly string[] {
  if (host !== '0.0.0.0' && host !== '::') return [host];
  const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((a) => a.address));
  return [...own, hostname()];
}

function readToken(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw bad(
      `the token file ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      'Make it with: openssl rand -hex 32 > FILE && chmod 600 FILE.',
      'STUDIO_NO_TOKEN',
    );
  }
  if (text.length >= leastToken && !/\s/.test(text)) return text;
  throw bad(
    `the token in ${file} has ${text.length} characters`,
    `It needs ${leastToken} or more without spaces: openssl rand -hex 32.`,
    'STUDIO_SHORT_TOKEN',
  );
}

const bad = (message: string, fix: string, code = 'BAD_OPTION'): ArgumentError =>
  new ArgumentError({ code, message: `serveStudio: ${message}`, fix, where: 'serveStudio' });
