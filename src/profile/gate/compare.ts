// Two profiles side by side: per operation the time of a call, by medians. More calls are no regression.

import { checked } from '../../base/signatures.ts';
import { clean, cut } from '../export/cell.ts';
import { fileKinds } from '../file/kinds.ts';
import type { ProfileFile } from '../file/types.ts';
import { median } from '../statistics.ts';
import { mannWhitney } from './statistics.ts';

export type ChangeClass = 'improvement' | 'regression' | 'no_change' | 'new' | 'removed' | 'unsure';

export interface ComparedRow {
  readonly operation: string;
  readonly class: ChangeClass;
  /** Median ms of a call, before and after; null where there is none. */
  readonly before: number | null;
  readonly after: number | null;
  readonly ratio: number | null;
  readonly calls: readonly [number, number];
  readonly totals: readonly [number, number];
  /** How likely such a difference is without a cause; null with too few calls. */
  readonly p: number | null;
}

export interface Comparison {
  readonly rows: readonly ComparedRow[];
  /** Measured on the same kind of machine: device names, drivers, processor. Otherwise nothing is called a regression. */
  readonly sameMachine: boolean;
  /** What differs, in words. */
  readonly differences: readonly string[];
}

/** Within this the time of a call has not changed. */
const band = 0.05;
/** Calls that a verdict needs on each side. */
const leastCalls = 5;

export const compareProfiles = checked(
  'compareProfiles',
  'before:profile after:profile',
  (before: ProfileFile, after: ProfileFile): Comparison => {
    const differences = machineDifferences(before, after);
    const [a, b] = [samplesOf(before), samplesOf(after)];
    const rows = [...new Set([...a.keys(), ...b.keys()])].map((operation) =>
      compareOne(operation, a.get(operation) ?? [], b.get(operation) ?? [], differences.length === 0),
    );
    return { rows: rows.sort(worstFirst), sameMachine: differences.length === 0, differences };
  },
  fileKinds,
);

/** Durations per operation, in the order of the calls. */
export function samplesOf(profile: ProfileFile): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const e of [...profile.entries].sort((x, y) => x.startMs - y.startMs)) {
    const list = found.get(e.operation);
    if (list) list.push(e.durationMs);
    else found.set(e.operation, [e.durationMs]);
  }
  return found;
}

function compareOne(operation: string, a: readonly number[], b: readonly number[], sameMachine: boolean): ComparedRow {
  const sum = (list: readonly number[]): number => list.reduce((x, y) => x + y, 0);
  const [before, after] = [a.length > 0 ? median(a) : null, b.length > 0 ? median(b) : null];
  const ratio = before !== null && after !== null && before > 0 ? after / before : null;
  const enough = a.length >= leastCalls && b.length >= leastCalls;
  const row = {
    operation,
    before,
    after,
    ratio,
    calls: [a.length, b.length] as const,
    totals: [sum(a), sum(b)] as const,
    p: enough ? mannWhitney(a, b) : null,
  };
  if (before === null) return { ...row, class: 'new' };
  if (after === null) return { ...row, class: 'removed' };
  return { ...row, class: classOf(ratio, row.p, sameMachine) };
}

/** With five calls or more on each side the difference must also be no accident. */
function classOf(ratio: number | null, p: number | null, sameMachine: boolean): ChangeClass {
  if (ratio === null || p === null) return 'unsure';
  if (Math.abs(ratio - 1) <= band || p > 0.05) return 'no_change';
  if (ratio < 1) return 'improvement';
  return sameMachine ? 'regression' : 'unsure';
}

const urgency: Readonly<Record<ChangeClass, number>> = {
  regression: 0,
  unsure: 1,
  improvement: 2,
  new: 3,
  removed: 4,
  no_change: 5,
};

const worstFirst = (x: ComparedRow, y: ComparedRow): number =>
  urgency[x.class] - urgency[y.class] || (y.ratio ?? 0) - (x.ratio ?? 0);

function machineDifferences(a: ProfileFile, b: ProfileFile): string[] {
  const found: string[] = [];
  if (a.machine.cpu !== b.machine.cpu) found.push(`processor: ${a.machine.cpu} and ${b.machine.cpu}`);
  const devices = (p: ProfileFile): string =>
    p.machine.devices
      .map((d) => `${d.name}${d.driver ? ` (driver ${d.driver})` : ''}`)
      .sort()
      .join(', ');
  if (devices(a) !== devices(b)) found.push(`devices: ${devices(a) || 'none'} and ${devices(b) || 'none'}`);
  if (a.options.detailed !== b.options.detailed) found.push('one of them was measured in detail');
  return found;
}

/** A table of a comparison. */
export const comparisonText = checked(
  'comparisonText',
  'comparison:{rows:object[]!,sameMachine:flag!,differences:text[]!}',
  ({ rows, sameMachine, differences }: Comparison): string => {
    const ms = (v: number | null): string => (v === null ? '-' : v.toFixed(3));
    const lines = [
      'Operation                  Before (ms)  After (ms)   Ratio  Calls          Class',
      ...rows.map((r) =>
        [
          cut(clean(r.operation), 24).padEnd(24),
          ms(r.before).padStart(14),
          ms(r.after).padStart(12),
          (r.ratio === null ? '-' : r.ratio.toFixed(2)).padStart(8),
          `  ${r.calls.join(' → ')}`.padEnd(17),
          r.class,
        ].join(''),
      ),
    ];
    if (!sameMachine) lines.push(`Different machines, so nothing is called a regression: ${differences.join('; ')}.`);
    return `${lines.join('\n')}\n`;
  },
  fileKinds,
);
