// Measures works on several backends of one TF.js, in turns, so that a busy machine slows all of them alike.

import type * as core from '@tensorflow/tfjs-core';
import { works } from './works.ts';

export interface Row {
  readonly work: string;
  readonly unit: string;
  /** Per backend: the first time and the median of the rest, in ms; null where it was not run. */
  readonly times: Readonly<
    Record<string, { readonly first: number; readonly median: number } | { readonly error: string } | null>
  >;
  readonly bounds: Readonly<Record<string, number>>;
}

const warmUp = 500;

export const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

/** One sample: short works are repeated until it lasts. */
async function sample(run: () => Promise<unknown>, times: number): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < times; i++) await run();
  return (performance.now() - start) / times;
}

/** Runs a job until the engine has compiled what it runs often; the last time in ms. First times are shown beside. */
async function warmed(run: () => Promise<unknown>): Promise<number> {
  // Backends may still prepare kernels in the second and third run, which takes longer than everything after.
  for (let i = 0; i < 2; i++) await run();
  const start = performance.now();
  let last = 0;
  do last = await sample(run, 1);
  while (performance.now() - start < warmUp);
  return last;
}

export async function measure(
  tf: typeof core,
  backends: readonly string[],
  options: { readonly rounds: number; readonly only: RegExp },
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const work of works.filter((w) => options.only.test(w.name))) {
    const times: Record<string, Row['times'][string]> = {};
    const jobs = new Map<
      string,
      { job: ReturnType<typeof work.start>; first: number; list: number[]; repeat: number }
    >();
    for (const name of backends) {
      times[name] = null;
      if (name === 'cpu' && work.slowOnCpu) continue;
      try {
        await tf.setBackend(name);
        const job = work.start(tf);
        const first = await sample(job.run, 1);
        const second = await warmed(job.run);
        jobs.set(name, { job, first, list: [], repeat: Math.max(1, Math.min(2000, Math.round(20 / second))) });
      } catch (e) {
        times[name] = { error: String(e).split('\n')[0]!.slice(0, 100) };
      }
    }
    for (let round = 0; round < options.rounds; round++) {
      for (const [name, entry] of jobs) {
        await tf.setBackend(name);
        entry.list.push(await sample(entry.job.run, entry.repeat));
      }
    }
    for (const [name, { job, first, list }] of jobs) {
      await tf.setBackend(name);
      job.end();
      times[name] = { first, median: median(list) };
    }
    rows.push({ work: work.name, unit: work.unit, times, bounds: work.bounds });
  }
  return rows;
}

const shown = (ms: number, unit: string): string => {
  const v = unit === 'µs' ? ms * 1000 : ms;
  return v >= 100 ? v.toFixed(0) : v.toFixed(2);
};

/** The rows as a table, ours first, with the bounds. */
export function table(rows: readonly Row[], backends: readonly string[]): string {
  const [ours, ...peers] = backends as [string, ...string[]];
  const cell = (row: Row, name: string): string => {
    const t = row.times[name];
    return !t ? '–' : 'error' in t ? t.error : shown(t.median, row.unit);
  };
  const verdict = (row: Row): string =>
    peers
      .flatMap((peer) => {
        const [a, b] = [row.times[ours], row.times[peer]];
        const bound = row.bounds[peer];
        if (bound === undefined || !a || !b || 'error' in a || 'error' in b) return [];
        const ratio = a.median / b.median;
        return [`${ratio.toFixed(2)} × ${peer} (at most ${bound}): ${ratio <= bound ? 'reached' : 'missed'}`];
      })
      .join('; ');
  const first = (row: Row): string =>
    backends
      .map((n) => (row.times[n] && 'first' in row.times[n] ? `${n} ${row.times[n].first.toFixed(0)}` : ''))
      .filter(Boolean)
      .join(', ');
  const lines = [
    `| work | ${backends.join(' | ')} | bound | first run, ms |`,
    `|${' --- |'.repeat(backends.length + 3)}`,
    ...rows.map(
      (r) => `| ${r.work}, ${r.unit} | ${backends.map((n) => cell(r, n)).join(' | ')} | ${verdict(r)} | ${first(r)} |`,
    ),
  ];
  return lines.join('\n');
}
