// Comparisons, baselines and the gate, on data whose truth is known.

import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/seeded.ts';
import { FormatError } from '../../src/index.ts';
import { noiseOf } from '../../src/profile/gate/statistics.ts';
import {
  baselineText,
  compareProfiles,
  comparisonText,
  gate,
  gateCases,
  gateStatus,
  gateText,
  holm,
  inTurns,
  judge,
  machineKey,
  mannWhitney,
  medianRatio,
  readBaseline,
  updateBaseline,
} from '../../src/profile/index.ts';
import { all } from '../support/extent.ts';
import { callsOf, device, profileOf } from './support.ts';

/** Normal noise by Box and Muller. */
function noisy(random: () => number, n: number, mean: number, share: number): number[] {
  return Array.from({ length: n }, () => {
    const z = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return mean * (1 + share * z);
  });
}

describe('the statistics', () => {
  it('raise at most 5 % false alarms over comparisons of equal things, normal and skewed', () => {
    const random = seededRandom(7);
    const comparisons = all ? 1000 : 160;
    let alarms = 0;
    for (let i = 0; i < comparisons; i++) {
      const skewed = (list: number[]): number[] => list.map((v) => (i % 2 === 0 ? v : v * (1 + 0.2 * random() ** 8)));
      const [a, b] = [skewed(noisy(random, 30, 10, 0.02)), skewed(noisy(random, 30, 10, 0.02))];
      const { slower, faster } = judge(a, b);
      if (slower || faster) alarms++;
    }
    expect(alarms).toBeLessThanOrEqual(0.05 * comparisons);
  });

  it('find 5 % more with 30 samples and 2 % noise in at least 90 of 100, as slower and not as faster', () => {
    const random = seededRandom(11);
    const comparisons = all ? 400 : 100;
    let found = 0;
    for (let i = 0; i < comparisons; i++) {
      const [a, b] = [noisy(random, 30, 10, 0.02), noisy(random, 30, 10.5, 0.02)];
      const { slower, faster } = judge(a, b);
      expect(faster).toBe(false);
      if (slower) found++;
    }
    expect(found).toBeGreaterThanOrEqual(0.9 * comparisons);
  });

  it('have intervals that hold the true ratio in about 95 of 100', () => {
    const random = seededRandom(3);
    let holds = 0;
    for (let i = 0; i < 300; i++) {
      const { low, high } = medianRatio(noisy(random, 40, 10, 0.05), noisy(random, 40, 12, 0.05), 2000, i + 1);
      if (low <= 1.2 && high >= 1.2) holds++;
    }
    expect(holds / 300).toBeGreaterThan(0.9);
    expect(holds / 300).toBeLessThan(0.995);
  });

  it('of samples that are no numbers is refused, not looked for without end', () => {
    for (const ask of [() => judge([-1], [Number.NaN]), () => mannWhitney([Number.NaN], [1])])
      expect(ask).toThrow(/without NaN/);
    expect(() => medianRatio([1], [2], -1)).toThrow(/whole number from 1/);
  });

  it('agree with known values', () => {
    // Without ties; the exact p is 0.0079, the normal approximation with its correction 0.0122.
    expect(mannWhitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])).toBeCloseTo(0.0122, 3);
    expect(mannWhitney([1, 2, 3], [1, 2, 3])).toBeCloseTo(1, 6);
    expect(mannWhitney([5, 5, 5], [5, 5, 5])).toBe(1);
    expect(holm([0.01, 0.04, 0.03, 0.005])).toEqual([true, false, false, true]);
    expect(holm([])).toEqual([]);
    // Each is compared with the level over those that are left, not over all.
    expect(holm([0.03, 0.01, 0.02])).toEqual([true, true, true]);
    expect(holm([0.06, 0.001])).toEqual([false, true]);
    expect(medianRatio([2, 2, 2], [3, 3, 3])).toEqual({ ratio: 1.5, low: 1.5, high: 1.5 });
    // Of an even number the median lies between the middle two: in 5 of 100 resamples half of the values are 3, or more.
    const mostlyOnes = [...Array(14).fill(1), ...Array(6).fill(3)] as number[];
    expect(medianRatio([1], mostlyOnes)).toEqual({ ratio: 1, low: 1, high: 2 });
    expect(noiseOf([10, 10, 10, 10, 12, 12, 12, 12])).toBeCloseTo(Math.log(1.2), 6);
  });

  it('call slower what exceeds three per cent, and twice the difference between identical runs', () => {
    const [before, after] = [Array<number>(30).fill(10), Array<number>(30).fill(10.5)];
    const verdict = (noise: number) => judge(before, after, noise);
    expect(verdict(0)).toMatchObject({ ratio: 1.05, threshold: 0.03, slower: true, faster: false });
    expect(verdict(0.02)).toMatchObject({ threshold: 0.04, slower: true });
    expect(verdict(0.03)).toMatchObject({ threshold: 0.06, slower: false });
    expect(judge(after, before, 0.02)).toMatchObject({ slower: false, faster: true });
  });

  it('are not fooled by many operations at once: Holm keeps the alarms of 100 equal ones rare', () => {
    const random = seededRandom(5);
    let alarms = 0;
    for (let i = 0; i < (all ? 20 : 2); i++) {
      const cases = Array.from({ length: 100 }, (_, k) => ({
        operation: `op ${k}`,
        before: noisy(random, 30, 10, 0.04),
        after: noisy(random, 30, 10, 0.04),
      }));
      if (gateCases(cases).outcome === 'regression') alarms++;
    }
    expect(alarms).toBeLessThanOrEqual(all ? 1 : 0);
  });
});

const times = (n: number, v: number): number[] => Array.from({ length: n }, (_, i) => v * (1 + 0.001 * (i % 3)));

describe('a comparison', () => {
  it('goes by the time of a call: 98 to 138 is a regression, 35 to 0.25 an improvement, one is new', () => {
    const before = profileOf({ entries: callsOf({ search: times(5, 98), sort: times(5, 35) }) });
    const after = profileOf({ entries: callsOf({ search: times(5, 138), sort: times(5, 0.25), load: times(5, 3) }) });
    const { rows, sameMachine } = compareProfiles(before, after);
    expect(rows.map((r) => [r.operation, r.class])).toEqual([
      ['search', 'regression'],
      ['sort', 'improvement'],
      ['load', 'new'],
    ]);
    expect(sameMachine).toBe(true);
    expect(comparisonText(compareProfiles(before, after))).toMatch(
      /search\s+98\.\d+\s+138\.\d+\s+1\.41\s+5 → 5\s+regression/,
    );
    expect(compareProfiles(after, before).rows.map((r) => r.class)).toContain('removed');
  });

  it('keeps every name on its line, and lets none move the cursor', () => {
    const entries = callsOf({ 'a\nb': times(5, 1), '\u001b[2Jgone': times(5, 1) });
    const text = comparisonText(compareProfiles(profileOf({ entries }), profileOf({ entries })));
    expect(text).not.toContain('\u001b');
    expect(text.trimEnd().split('\n')).toHaveLength(3);
  });

  it('calls twice the calls at equal time no change, and few calls unsure', () => {
    const before = profileOf({ entries: callsOf({ a: times(10, 5), few: [10, 10] }) });
    const after = profileOf({ entries: callsOf({ a: times(20, 5), few: [50, 50] }) });
    expect(Object.fromEntries(compareProfiles(before, after).rows.map((r) => [r.operation, r.class]))).toEqual({
      a: 'no_change',
      few: 'unsure',
    });
  });

  it('of different machines never says regression', () => {
    const before = profileOf({ entries: callsOf({ a: times(10, 5) }) });
    const after = profileOf({
      entries: callsOf({ a: times(10, 50) }),
      devices: [device({ id: 'cuda:0', name: 'NVIDIA T4' })],
    });
    const comparison = compareProfiles(before, after);
    expect(comparison.rows[0]!.class).toBe('unsure');
    expect(comparison.sameMachine).toBe(false);
    expect(comparisonText(comparison)).toMatch(/Different machines.*H200.*T4/);
  });
});

describe('the gate', () => {
  const random = seededRandom(1);
  const run = (ops: Record<string, [number, number]>, n = 60) =>
    profileOf({
      entries: callsOf(
        Object.fromEntries(Object.entries(ops).map(([k, [ms, noise]]) => [k, noisy(random, n, ms, noise)])),
      ),
    });
  const baseline = updateBaseline(run({ a: [10, 0.01], b: [5, 0.01] }), null);

  it('passes equal runs, finds what became slower, and names it', () => {
    const same = gate(run({ a: [10, 0.01], b: [5, 0.01] }), baseline);
    expect(same.outcome).toBe('passed');
    expect(gateStatus[same.outcome]).toBe(0);
    const slow = gate(run({ a: [11, 0.01], b: [5, 0.01] }), baseline);
    expect(slow.outcome).toBe('regression');
    expect(gateStatus[slow.outcome]).toBe(1);
    expect(slow.rows.map((r) => [r.operation, r.verdict])).toEqual([
      ['a', 'slower'],
      ['b', 'same'],
    ]);
    expect(gateText(slow)).toMatch(/Regression: a\./);
    expect(gate(run({ a: [8, 0.01], b: [5, 0.01] }), baseline).rows[0]!.verdict).toBe('faster');
  });

  it('cannot judge without a section for the machine, with few samples, or with much noise', () => {
    const other = { ...run({ a: [10, 0.01] }), gpuforge: '0.2.0' };
    const report = gate(other, baseline);
    expect(report.outcome).toBe('cannot-judge');
    expect(gateStatus[report.outcome]).toBe(3);
    expect(report.reason).toMatch(/no baseline for this machine/);
    const few = gate(run({ a: [10, 0.01], b: [5, 0.01] }, 10), baseline);
    expect(few.outcome).toBe('cannot-judge');
    expect(few.rows[0]!.reason).toMatch(/samples: 60 before, 10 now; 30 are needed on each side/);
    const drift = profileOf({ entries: callsOf({ a: [...times(30, 10), ...times(30, 15)], b: times(60, 5) }) });
    const noisyReport = gate(drift, baseline);
    expect(noisyReport.outcome).toBe('cannot-judge');
    expect(noisyReport.rows[0]!.reason).toMatch(/identical runs differ by/);
  });

  it('keeps a section for each machine, at most 200 samples, and reads back what it wrote', () => {
    const here = run({ a: [10, 0.01] }, 500);
    const both = updateBaseline({ ...here, gpuforge: '0.9.1' }, baseline);
    expect(Object.keys(both.machines).length).toBe(2);
    expect(Object.keys(both.machines)).toContain(machineKey(here));
    expect(both.machines[machineKey({ ...here, gpuforge: '0.9.7' })]!.operations.a!.samples.length).toBe(200);
    expect(readBaseline(baselineText(both))).toEqual(both);
    for (const bad of ['', '{}', '[]', baselineText(both).replace('"samples": [', '"samples": ["x",')]) {
      expect(() => readBaseline(bad)).toThrow(FormatError);
    }
  });

  it('measures in turns, each side as often', async () => {
    const order: string[] = [];
    const { a, b } = await inTurns(
      () => order.push('a'),
      async () => order.push('b'),
      4,
    );
    expect(order.join('')).toBe('abbaabba');
    expect([a.length, b.length]).toEqual([4, 4]);
  });
});
