// The regression gate: a profile against the baseline of its machine.

import { checked } from '../../base/signatures.ts';
import { clean, cut } from '../export/cell.ts';
import { fileKinds } from '../file/kinds.ts';
import type { ProfileFile } from '../file/types.ts';
import { type Baseline, machineKey } from './baseline.ts';
import { samplesOf } from './compare.ts';
import { holm, noiseOf } from './statistics.ts';
import { type Judged, judge, leastSamples, mostNoise } from './verdict.ts';

export type GateOutcome = 'passed' | 'regression' | 'cannot-judge';

export interface GateRow {
  readonly operation: string;
  readonly verdict: 'same' | 'slower' | 'faster' | 'not judged';
  /** Why it was not judged. */
  readonly reason: string | null;
  readonly judged: Judged | null;
}

export interface GateReport {
  readonly outcome: GateOutcome;
  /** Why nothing was judged; null if something was. */
  readonly reason: string | null;
  readonly machine: string;
  readonly rows: readonly GateRow[];
}

/** Exit statuses of `gpuforge profile gate`. */
export const gateStatus: Readonly<Record<GateOutcome, number>> = { passed: 0, regression: 1, 'cannot-judge': 3 };

/** Two lots of samples with what is known of the noise; shared by profiles and the results of benches. */
export interface GateCase {
  readonly operation: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Of identical runs, where it was measured. */
  readonly noise?: number | null | undefined;
}

/** Judges many operations at once; with Holm's correction, so that many do not make an alarm likely. */
export const gateCases = checked(
  'gateCases',
  'cases:{operation:text!,before:numbers!,after:numbers!,noise:number|null}[]',
  (cases: readonly GateCase[]): { outcome: GateOutcome; rows: readonly GateRow[] } => {
    const looked = cases.map((c) => ({ ...c, ...lookAt(c) }));
    const clear = holm(looked.map(({ judged }) => judged?.p ?? 1));
    const rows = looked.map(({ operation, judged, reason }, i): GateRow => {
      if (!judged) return { operation, verdict: 'not judged', reason, judged: null };
      const verdict = judged.slower && clear[i] ? 'slower' : judged.faster && clear[i] ? 'faster' : 'same';
      return { operation, verdict, reason: null, judged };
    });
    const judgedAny = rows.some((r) => r.judged !== null);
    const noisy = looked.some((l) => l.refused);
    const outcome = rows.some((r) => r.verdict === 'slower')
      ? 'regression'
      : judgedAny && !noisy
        ? 'passed'
        : 'cannot-judge';
    return { outcome, rows };
  },
  fileKinds,
);

interface Looked {
  readonly judged: Judged | null;
  readonly reason: string | null;
  /** There were samples enough, and they say nothing. */
  readonly refused: boolean;
}

function lookAt({ before, after, noise: given }: GateCase): Looked {
  const fewest = Math.min(before.length, after.length);
  if (fewest < leastSamples) {
    const reason = `samples: ${before.length} before, ${after.length} now; ${leastSamples} are needed on each side`;
    return { judged: null, reason, refused: false };
  }
  const noise = Math.max(given ?? 0, noiseOf(before), noiseOf(after));
  if (noise > mostNoise) {
    const reason = `identical runs differ by ${(100 * noise).toFixed(0)} %; at most ${100 * mostNoise} % can be judged`;
    return { judged: null, reason, refused: true };
  }
  return { judged: judge(before, after, noise), reason: null, refused: false };
}

export const gate = checked(
  'gate',
  'profile:profile baseline:baseline',
  (profile: ProfileFile, baseline: Baseline): GateReport => {
    const machine = machineKey(profile);
    const section = baseline.machines[machine];
    if (!section)
      return { outcome: 'cannot-judge', reason: `no baseline for this machine (${machine})`, machine, rows: [] };
    const now = samplesOf(profile);
    const cases = Object.entries(section.operations).map(([operation, { samples, noise }]) => ({
      operation,
      before: samples,
      after: now.get(operation) ?? [],
      noise,
    }));
    const { outcome, rows } = gateCases(cases);
    const judgedAny = rows.some((r) => r.judged !== null);
    const reason = judgedAny ? null : 'no operation has enough samples, with little enough noise, on both sides';
    return { outcome, reason, machine, rows };
  },
  fileKinds,
);

export const gateText = checked(
  'gateText',
  "report:{outcome:'passed'|'regression'|'cannot-judge'!,reason:text|null,machine:text!,rows:object[]!}",
  ({ outcome, reason, rows }: GateReport): string => {
    const lines = rows.map(({ operation, verdict, reason: why, judged }) => {
      const name = cut(clean(operation), 28).padEnd(28);
      if (!judged) return `${name} not judged: ${why}`;
      const { ratio, low, high, p, threshold } = judged;
      const interval = `${ratio.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
      return `${name} ${verdict.padEnd(7)} ratio ${interval}, p ${p.toPrecision(2)}, must exceed ${(100 * threshold).toFixed(1)} %`;
    });
    const says: Readonly<Record<GateOutcome, string>> = {
      passed: 'No regression.',
      regression: `Regression: ${rows
        .filter((r) => r.verdict === 'slower')
        .map((r) => clean(r.operation))
        .join(', ')}.`,
      'cannot-judge': `Cannot judge: ${reason ?? 'the samples are too noisy'}.`,
    };
    return `${[...lines, says[outcome]].join('\n')}\n`;
  },
  fileKinds,
);

/** Measures two things in turns, A B B A, so that slow changes of the machine hit both alike. ms of each call. */
export const inTurns = checked(
  'inTurns',
  'async a:function b:function samples:number?',
  async (
    a: () => unknown,
    b: () => unknown,
    samples = leastSamples,
  ): Promise<{ readonly a: number[]; readonly b: number[] }> => {
    const times = { a: [] as number[], b: [] as number[] };
    const run = async (side: 'a' | 'b'): Promise<void> => {
      const start = performance.now();
      await (side === 'a' ? a() : b());
      times[side].push(performance.now() - start);
    };
    while (times.a.length < samples) for (const side of ['a', 'b', 'b', 'a'] as const) await run(side);
    return times;
  },
  fileKinds,
);
