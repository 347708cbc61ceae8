// Profiles made by hand, for tests of what is done with them.

import { summarizeKernels, summarizing } from '../../src/profile/analyse/summary.ts';
import { finish, shareOut } from '../../src/profile/analyse/tree.ts';
import type { Entry, KernelCall, ProfiledDevice, ProfileFile } from '../../src/profile/index.ts';

export const entry = (e: Partial<Entry> & Pick<Entry, 'id'>): Entry => ({
  parentId: null,
  operation: 'work',
  startMs: 0,
  durationMs: 1,
  selfMs: 0,
  device: null,
  backend: null,
  gpuTimeMs: null,
  cpuTimeMs: null,
  transferTimeMs: null,
  overheadMs: null,
  memoryBeforeMb: null,
  memoryAllocatedMb: null,
  memoryPeakMb: null,
  gpuUtilization: null,
  failed: false,
  thread: 'main',
  issuedIn: [],
  inputs: null,
  steps: null,
  metadata: null,
  ...e,
});

export const kernel = (k: Partial<KernelCall> & Pick<KernelCall, 'id'>): KernelCall => ({
  entry: null,
  name: 'add_f32',
  device: 'cuda:0',
  start: 0,
  ms: 0.1,
  passMs: null,
  pass: null,
  bytes: 1000,
  flops: 100,
  replay: null,
  enqueued: 0,
  hostMs: 0.005,
  issuedIn: null,
  kernels: 1,
  line: null,
  ...k,
});

export const device = (d: Partial<ProfiledDevice> & Pick<ProfiledDevice, 'id'>): ProfiledDevice => ({
  name: d.id === 'cpu' ? 'CPU, 4 threads' : 'NVIDIA H200',
  driver: d.id === 'cpu' ? null : '570.1',
  kind: d.id.split(':')[0]!,
  software: d.id === 'cpu',
  clockErrorUs: 1,
  quantumUs: null,
  budget: null,
  roof: null,
  allocations: 0,
  grown: 0,
  cleanups: 0,
  telemetry: null,
  time: null,
  ...d,
});

type Parts = Partial<Omit<ProfileFile, 'machine'>> & {
  readonly devices?: readonly ProfiledDevice[];
  readonly cpu?: string;
};

/** A whole profile around some of its parts; self times and summaries follow from the entries. */
export function profileOf({ devices = [device({ id: 'cuda:0' })], cpu = 'A processor', ...parts }: Parts): ProfileFile {
  const bare = parts.entries ?? [];
  const { self } = finish(shareOut(bare));
  const entries = bare.map((e, i) => ({ ...e, selfMs: Math.round(self[i]! * 1000) / 1000 }));
  const end = Math.max(0, ...entries.map((e) => e.startMs + e.durationMs));
  return {
    schema: 'gpuforge.profile/1',
    createdAt: '2026-01-02T03:04:05.000Z',
    gpuforge: '0.1.0',
    node: '20.20.2',
    timeOrigin: 1_700_000_000_000,
    startMs: 0,
    wallMs: end,
    machine: { cpu, cores: 4, devices },
    options: { detailed: false, capacity: 100_000, slowdown: null },
    kernels: [],
    transfers: [],
    waits: [],
    compiles: [],
    routes: [],
    lanes: [],
    memory: [],
    summary: finish(summarizing(entries)),
    kernelSummary: summarizeKernels(parts.kernels ?? [], devices),
    dropped: { entries: 0, kernels: 0, transfers: 0 },
    orphans: 0,
    violations: 0,
    cutNames: 0,
    ...parts,
    entries,
  };
}

/** Calls of operations one after the other, with these durations. */
export function callsOf(operations: Readonly<Record<string, readonly number[]>>): Entry[] {
  let [id, at] = [0, 0];
  return Object.entries(operations).flatMap(([operation, durations]) =>
    durations.map((durationMs) => {
      const e = entry({ id: ++id, operation, startMs: at, durationMs });
      at += durationMs;
      return e;
    }),
  );
}
