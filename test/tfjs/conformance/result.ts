// What a run of the suite gives, and how it is shown.

import { settings } from './settings.ts';

type Counts = Readonly<Record<string, number>>;

export interface Result {
  readonly passed: number;
  readonly failed: number;
  readonly pending: number;
  /** Kernels with an implementation of ours. */
  readonly native: number;
  readonly seconds: number;
  readonly programs: number;
  /** Kernels that were launched, by device. */
  readonly launches: Counts;
  readonly failures: readonly string[];
  readonly slow: readonly (readonly [number, string])[];
  /** How often each kernel ran natively, and on TF.js's CPU backend. */
  readonly ran: Counts;
  readonly routed: Counts;
}

function added(a: Counts, b: Counts): Counts {
  const sum: Record<string, number> = { ...a };
  for (const [k, n] of Object.entries(b)) sum[k] = (sum[k] ?? 0) + n;
  return sum;
}

/** Two parts of one run. */
export const joined = (a: Result, b: Result): Result => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  pending: a.pending + b.pending,
  native: a.native,
  seconds: Math.max(a.seconds, b.seconds),
  programs: a.programs + b.programs,
  launches: added(a.launches, b.launches),
  failures: [...a.failures, ...b.failures],
  slow: [...a.slow, ...b.slow].sort((x, y) => y[0] - x[0]).slice(0, 8),
  ran: added(a.ran, b.ran),
  routed: added(a.routed, b.routed),
});

export function show(result: Result): void {
  const out = (line: string): void => void process.stdout.write(`${line}\n`);
  if (settings.json) {
    out(JSON.stringify(result));
    return;
  }
  for (const f of result.failures.slice(0, settings.show)) out(`FAIL ${f}`);
  for (const [ms, name] of result.slow) out(`slow ${ms.toFixed(0)} ms ${name}`);
  out(
    `routed: ${Object.entries(result.routed)
      .map(([k, n]) => `${k} ${n}`)
      .join(', ')}`,
  );
  const { seconds, programs, launches } = result;
  out(`launches: ${JSON.stringify(launches)}, programs: ${programs}, ${seconds.toFixed(1)} s`);
  out(row(result));
}

/** The run as a row of the table in docs/tfjs.md. */
export function row({ passed, failed, pending, native, routed, launches }: Result): string {
  const device = Object.entries(launches).sort((a, b) => b[1] - a[1])[0]?.[0] ?? 'none';
  const reads = settings.sync ? 'synchronous' : 'asynchronous';
  const count = (n: number): string => n.toLocaleString('en-US');
  return `| ${device} | ${reads} | ${count(passed)} | ${failed} | ${pending} | ${native} | ${Object.keys(routed).length} |`;
}
