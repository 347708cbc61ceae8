// A profile that nobody measured, to show what the page looks like. It is labelled as such wherever it is shown.

import { summarizeKernels, summarizing } from '../analyse/summary.ts';
import { finish, shareOut } from '../analyse/tree.ts';
import type { Entry, KernelCall, ProfiledDevice, ProfileFile } from '../file/types.ts';

const blank = {
  device: 'cuda:0',
  backend: 'cuda',
  cpuTimeMs: 0,
  memoryBeforeMb: 64,
  memoryAllocatedMb: 0,
  memoryPeakMb: 80,
  failed: false,
  thread: 'main',
  issuedIn: [],
  inputs: null,
  steps: null,
  metadata: null,
};

export function demoProfile(): ProfileFile {
  const entries: Entry[] = [];
  const kernels: KernelCall[] = [];
  let at = 0;
  const add = (
    operation: string,
    parentId: number | null,
    startMs: number,
    durationMs: number,
    gpu: number,
  ): number => {
    const id = entries.length + 1;
    const rest = { gpuTimeMs: gpu, transferTimeMs: 0, overheadMs: durationMs - gpu, gpuUtilization: gpu / durationMs };
    entries.push({ ...blank, ...rest, id, parentId, operation, startMs, durationMs, selfMs: 0 });
    return id;
  };
  for (let step = 0; step < 40; step++) {
    const took = 9 + 2 * Math.sin(step);
    const id = add('step', null, at, took, took * 0.6);
    ['forward', 'loss', 'update'].forEach((name, i) => {
      const [start, ms] = [at + (i * took) / 3, took / 3 - 0.2];
      const inner = add(name, id, start, ms, ms * 0.6);
      const call = {
        device: 'cuda:0',
        passMs: null,
        pass: null,
        replay: null,
        hostMs: 0.01,
        issuedIn: null,
        kernels: 1,
        line: null,
      };
      const work = { name: `${name}_f32_1048576`, bytes: 8e6, flops: 4e6 };
      kernels.push({
        ...call,
        ...work,
        id: kernels.length + 1,
        entry: inner,
        start: start + 0.05,
        ms: ms * 0.6,
        enqueued: start,
      });
    });
    at += took + 1;
  }
  const { self } = finish(shareOut(entries));
  const all = entries.map((e, i) => ({ ...e, selfMs: self[i]! }));
  const time = { busy: 0.52, idleHost: 0.41, idleTransfer: 0.02, idleUnknown: 0.05 };
  const gap = { longestGapMs: 2.1, longestGapStart: 0, longestGapLine: null };
  const device: ProfiledDevice = {
    id: 'cuda:0',
    name: 'Demo GPU',
    driver: null,
    kind: 'cuda',
    software: false,
    clockErrorUs: 2,
    quantumUs: null,
    budget: null,
    roof: null,
    allocations: 0,
    grown: 0,
    cleanups: 0,
    telemetry: null,
    time: { ...time, ...gap },
  };
  return {
    schema: 'gpuforge.profile/1',
    createdAt: new Date(0).toISOString(),
    gpuforge: 'demo',
    node: null,
    timeOrigin: 0,
    startMs: 0,
    wallMs: at,
    machine: { cpu: 'Demo processor', cores: 8, devices: [device] },
    options: { detailed: false, capacity: 100_000, slowdown: null },
    entries: all,
    kernels,
    transfers: [],
    waits: [],
    compiles: [],
    routes: [],
    lanes: [],
    memory: entries.slice(0, 60).map((e, i) => ({
      t: e.startMs,
      device: 'cuda:0',
      live: (64 + 16 * (i % 3)) * 2 ** 20,
      reserved: 96 * 2 ** 20,
      others: null,
    })),
    summary: finish(summarizing(all)),
    kernelSummary: summarizeKernels(kernels, [device]),
    dropped: { entries: 0, kernels: 0, transfers: 0 },
    orphans: 0,
    violations: 0,
    cutNames: 0,
  };
}
