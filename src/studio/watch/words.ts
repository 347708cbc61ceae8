// What happened, in words: one row per event that is worth a line of its own. Work that happens thousands of times a second is counted
// elsewhere (work.ts).

import { shortLine } from '../../base/format.ts';
import { type EventName, type Events, formatBytes } from '../../index.ts';
import type { EventLevel } from '../types.ts';

export interface Told {
  readonly level: EventLevel;
  readonly device: string | null;
  readonly text: string;
}

type Row<K extends EventName> = (event: Events[K]) => Told;

/** Events that are rare enough to be listened to always. */
export type NotableName =
  | 'lost'
  | 'reborn'
  | 'abandoned'
  | 'fallback'
  | 'return'
  | 'retry'
  | 'error'
  | 'pressure'
  | 'cleanup'
  | 'spill'
  | 'growth'
  | 'leak'
  | 'recompute';

const MiB = 2 ** 20;
const counted = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
const pressureLevels = { low: 'info', moderate: 'info', high: 'warn', critical: 'error' } as const;

export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!.slice(0, 500);

export const notable: { readonly [K in NotableName]: Row<K> } = {
  lost: ({ device, reason, kept, gone, reopens }) => ({
    level: 'error',
    device,
    text: `${device} was lost: ${reason.replace(`${device}: `, '')}. ${counted(kept, 'tensor')} had a copy elsewhere, ${gone.toLocaleString('en')} must be computed again. ${reopens ? 'The device is being opened again.' : 'The device will not be opened again.'}`,
  }),
  reborn: ({ device, ms, attempts }) => ({
    level: 'info',
    device,
    text: `${device} is back after ${Math.round(ms)} ms (${counted(attempts, 'attempt')}).`,
  }),
  abandoned: ({ device, reason }) => ({
    level: 'error',
    device,
    text: `${device} was given up: ${reason}.`,
  }),
  fallback: ({ from, to, reason }) => ({
    level: 'warn',
    device: from,
    text: `${to} does the work of ${from}: ${reason}.`,
  }),
  return: ({ device }) => ({ level: 'info', device, text: `${device} does its own work again.` }),
  retry: ({ what, device, error, attempt, reaction }) => ({
    level: 'warn',
    device,
    text: `${what} failed on ${device} (failure ${attempt}): ${error}. Next: ${reaction}.`,
  }),
  error: ({ error, where }) => ({ level: 'error', device: null, text: `${where} threw: ${messageOf(error)}` }),
  pressure: ({ device, from, to, snapshot }) => ({
    level: pressureLevels[to],
    device,
    text: `Memory pressure of ${device} went from ${from} to ${to} (${snapshot.utilization.toFixed(0)} % in use).`,
  }),
  cleanup: ({ device, freedMb, steps, trigger }) => ({
    level: 'info',
    device,
    text: `A clean-up of ${device} gave back ${freedMb > 0 ? formatBytes(freedMb * MiB) : 'nothing'} (${trigger === 'request' ? 'on request' : 'by itself, memory was short'}; ${counted(steps.length, 'step')}).`,
  }),
  spill: ({ device, bytes }) => ({
    level: 'info',
    device,
    text: `A tensor of ${formatBytes(bytes)} left ${device} for host memory, for lack of room. It comes back when it is needed.`,
  }),
  growth: ({ device, fromMb, toMb, mbPerMinute, sites }) => ({
    level: 'warn',
    device,
    text: `Live memory of ${device} keeps growing: from ${formatBytes(fromMb * MiB)} to ${formatBytes(toMb * MiB)}, ${formatBytes(mbPerMinute * MiB)} a minute${sites[0]?.site ? `, most of it made at ${shortLine(sites[0].site)}` : ''}.`,
  }),
  leak: ({ shape, dtype, line }) => ({
    level: 'warn',
    device: null,
    text: `A tensor (${dtype}, [${shape.join(', ')}]) was never disposed${line ? `; it was made at ${shortLine(line)}` : ''}.`,
  }),
  recompute: ({ steps }) => ({
    level: 'info',
    device: null,
    text: `An old state of a recurrence was read, so ${counted(steps, 'step')} had to be computed again.`,
  }),
};

export const notableNames = Object.keys(notable) as readonly NotableName[];
