// The eleven rules: each speaks when its cause was planted, is silent without it, and silent when a figure it needs is not there.

import { describe, expect, it } from 'vitest';
import type { Entry, KernelCall, ProfileFile, Route, RuleName, Wait } from '../../src/profile/index.ts';
import { suggest } from '../../src/profile/index.ts';
import { rules } from '../../src/profile/suggest/rules.ts';
import { device, entry, kernel, profileOf } from './support.ts';

interface Case {
  /** The cause is there. */
  readonly planted: ProfileFile;
  /** The same without it. */
  readonly without: readonly ProfileFile[];
  /** The cause may be there, but a figure that the rule needs was not measured. */
  readonly unknown: ProfileFile;
  readonly evidence: RegExp;
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const calls = (n: number, make: (i: number) => Partial<Entry> = () => ({})): Entry[] =>
  range(n).map((i) => entry({ id: i + 1, operation: 'op', startMs: 10 * i, durationMs: 0.5, ...make(i) }));
const kernelsOf = (entries: readonly Entry[], make: (e: Entry) => Partial<KernelCall> = () => ({})): KernelCall[] =>
  entries.map((e, i) => kernel({ id: i + 1, entry: e.id, start: e.startMs, enqueued: e.startMs, ...make(e) }));
const waitsOf = (entries: readonly Entry[], ms: number, each = 1, line = 'app.ts:5'): Wait[] =>
  entries.flatMap((e) =>
    range(each).map(() => ({ entry: e.id, device: 'cuda:0', start: e.startMs, ms, line, why: 'read' as const })),
  );
const prediction = (id: string, us: number, samples = 5) => ({ device: id, us, work: us, samples });
const routesOf = (entries: readonly Entry[], chosen: string, ...predictions: Route['predictions'][number][]): Route[] =>
  entries.map((e) => ({ entry: e.id, op: 'map', device: chosen, start: e.startMs, predictions }));

const small = (n: number, own: Partial<Entry> = {}, hostMs = 0.2, waitMs = 0.25): ProfileFile => {
  const entries = calls(n, () => ({ device: 'cuda:0', gpuTimeMs: 0.05, ...own }));
  return profileOf({ entries, kernels: kernelsOf(entries, () => ({ hostMs })), waits: waitsOf(entries, waitMs) });
};

const large = (gpuUs: number, own: Partial<Entry> = {}, bytes = 4e6): ProfileFile => {
  const entries = calls(3, () => ({ device: 'cpu', durationMs: 20, ...own }));
  return profileOf({
    entries,
    devices: [device({ id: 'cuda:0' }), device({ id: 'cpu' })],
    kernels: kernelsOf(entries, () => ({ device: 'cpu', bytes })),
    routes: routesOf(entries, 'cpu', prediction('cpu', 20_000), prediction('cuda:0', gpuUs)),
  });
};

const many = (n: number, ms: number, name: (e: Entry) => string, wallMs = 100): ProfileFile => {
  const entries = calls(n, () => ({ durationMs: ms }));
  return { ...profileOf({ entries, kernels: kernelsOf(entries, (e) => ({ name: name(e) })) }), wallMs };
};

const heavy = (live: number, budget: number | null): ProfileFile =>
  profileOf({
    entries: calls(1, () => ({ memoryPeakMb: live / 2 ** 20 })),
    devices: [device({ id: 'cuda:0', budget })],
    memory: [{ t: 0, device: 'cuda:0', live, reserved: live, others: null }],
  });

const starving = (busy: number, idleHost: number): ProfileFile =>
  profileOf({
    entries: calls(1),
    devices: [
      device({
        id: 'cuda:0',
        time: {
          busy,
          idleHost,
          idleTransfer: 0,
          idleUnknown: 1 - busy - idleHost,
          longestGapMs: 12,
          longestGapStart: 1,
          longestGapLine: 'app.ts:9',
        },
      }),
    ],
  });

const copying = (ms: number, pinned: boolean, measured = true): ProfileFile =>
  profileOf({
    entries: calls(1, () => ({ durationMs: 100 })),
    kernels: [kernel({ id: 1, start: 90, ms: measured ? 5 : null })],
    transfers: [{ id: 1, entry: 1, kind: 'upload', from: 'host', to: 'cuda:0', bytes: 4e8, start: 1, ms, pinned }],
  });

const compiling = (n: number, ms: number, wallMs: number, cached = false): ProfileFile => ({
  ...profileOf({
    entries: calls(1, () => ({ durationMs: wallMs })),
    compiles: range(n).map((i) => ({
      entry: 1,
      device: 'cuda:0',
      kernels: [`add_${i}`],
      start: 5001 + i,
      ms,
      cached,
    })),
  }),
});

const churning = (allocations: number, grown: number, cleanups = 0, wallMs = 5000): ProfileFile => ({
  ...profileOf({ entries: calls(1), devices: [device({ id: 'cuda:0', allocations, grown, cleanups })] }),
  wallMs,
});

const routed = (n: number, took: number, other: number, samples = 5): ProfileFile => {
  const entries = calls(n);
  return profileOf({
    entries,
    routes: routesOf(entries, 'cuda:0', prediction('cuda:0', took, samples), prediction('cpu', other, samples)),
  });
};

const syncing = (n: number, each: number, line = 'app.ts:5'): ProfileFile => {
  const entries = calls(n);
  return profileOf({ entries, waits: waitsOf(entries, 0.1, each, line) });
};

const repeating = (n: number, inputs: (i: number) => string | null, ms = 0.5): ProfileFile =>
  profileOf({ entries: calls(n, (i) => ({ inputs: inputs(i), durationMs: ms })) });

const cases: Readonly<Record<RuleName, Case>> = {
  'gpu-too-small': {
    planted: small(20),
    without: [small(19), small(20, { durationMs: 1.5 }), small(20, {}, 0.01, 0.06), small(20, { device: 'cpu' })],
    unknown: small(20, { gpuTimeMs: null }),
    evidence: /20 calls on cuda:0, median 500 µs; launching and waiting take 80 %/,
  },
  'cpu-too-large': {
    planted: large(2000),
    without: [large(15_000), large(2000, { durationMs: 5 }), large(2000, {}, 1000), large(2000, { device: 'cuda:0' })],
    unknown: { ...large(2000), routes: [] },
    evidence: /median 20\.00 ms on the CPU with 3\.81 MiB; predicted 20\.00 ms on the CPU and 2\.00 ms on a GPU/,
  },
  'many-small': {
    planted: many(10, 2, () => 'add'),
    without: [
      many(9, 2, () => 'add'),
      many(10, 150, () => 'add', 2000),
      many(10, 2, (e) => `add_${e.id}`),
      many(10, 0.1, () => 'add'),
    ],
    unknown: { ...many(10, 2, () => 'add'), kernels: [] },
    evidence: /10 calls of the same kernels, 20\.00 ms in all \(20 % of the time\)/,
  },
  'memory-heavy': {
    planted: heavy(6e8, 1e9),
    without: [heavy(4e8, 1e9), heavy(9e7, 1e8)],
    unknown: heavy(6e8, null),
    evidence: /peak 572 MiB of a budget of 954 MiB; highest in op \(572 MiB\)/,
  },
  repeated: {
    planted: repeating(100, () => '#1,'),
    without: [repeating(99, () => '#1,'), repeating(200, (i) => `#${i},`), repeating(100, () => '#1,', 2)],
    unknown: repeating(100, () => null),
    evidence: /100 calls with the very same arguments, median 500 µs/,
  },
  starved: {
    planted: starving(0.2, 0.7),
    without: [starving(0.6, 0.4), starving(0.4, 0.2)],
    unknown: profileOf({ entries: calls(1), devices: [device({ id: 'cuda:0', time: null })] }),
    evidence: /busy 20 %; idle: waiting for the host 70 %.*longest gap is 12\.00 ms after a wait in app\.ts:9/,
  },
  'transfer-bound': {
    planted: copying(50, false),
    without: [copying(50, true), copying(20, false)],
    unknown: copying(50, false, false),
    evidence: /381 MiB in 50\.00 ms, 50 % of the time, 100 % of it unpinned, at 8\.0 GB\/s/,
  },
  'compile-bound': {
    planted: compiling(20, 10, 1000),
    without: [compiling(5, 10, 1000), compiling(20, 10, 1000, true)],
    unknown: compiling(0, 10, 0),
    evidence: /20 programs were compiled in 200\.00 ms, 20 % of the time: add_0, add_1, add_2/,
  },
  'allocation-churn': {
    planted: churning(1000, 100),
    without: [churning(1000, 10), churning(999, 500)],
    unknown: profileOf({ entries: calls(1), devices: [] }),
    evidence: /90 % of 1000 allocations found memory ready/,
  },
  'wrong-route': {
    planted: routed(10, 2000, 1000),
    without: [routed(9, 2000, 1000), routed(10, 1200, 1000), routed(10, 1000, 2000)],
    unknown: routed(10, 2000, 1000, 0),
    evidence: /10 runs went to cuda:0 \(median 2\.00 ms\); cpu was measured at 1\.00 ms \(5 samples or more\)/,
  },
  'hidden-sync': {
    planted: syncing(10, 3),
    without: [syncing(9, 3), syncing(10, 2)],
    unknown: syncing(10, 3, ''),
    evidence: /30 waits in 10 scopes, 3\.00 ms in all/,
  },
};

const fired = (profile: ProfileFile): string[] => suggest(profile).map((s) => s.rule);

describe('the rules', () => {
  it('are the eleven of the table', () => {
    expect(Object.keys(rules)).toEqual(Object.keys(cases));
    expect(Object.keys(rules).length).toBe(11);
  });

  it.each(Object.entries(cases))(
    '%s: speaks with its evidence when the cause is there',
    (rule, { planted, evidence }) => {
      const found = suggest(planted).find((s) => s.rule === rule)!;
      expect(found, `of ${fired(planted).join(', ') || 'nothing'}`).toBeDefined();
      expect(found.evidence).toMatch(evidence);
      expect(found.advice.length).toBeGreaterThan(20);
      expect(found.about.length).toBeGreaterThan(0);
      // No promised factor.
      expect(found.advice).not.toMatch(/\d+(\.\d+)?\s*(×|x|times)/);
    },
  );

  it.each(Object.entries(cases))('%s: is silent without the cause', (rule, { without }) => {
    for (const [i, profile] of without.entries()) expect(fired(profile), `case ${i}`).not.toContain(rule);
  });

  it.each(Object.entries(cases))('%s: is silent when a figure that it needs is not known', (rule, { unknown }) => {
    expect(fired(unknown)).not.toContain(rule);
  });

  it('also speak of clean-ups and of programs that never stop coming', () => {
    expect(fired(churning(10, 0, 3, 20_000))).toContain('allocation-churn');
    expect(fired(churning(10, 0, 1, 20_000))).not.toContain('allocation-churn');
    expect(fired(compiling(60, 0.1, 7000))).toContain('compile-bound');
  });
});
