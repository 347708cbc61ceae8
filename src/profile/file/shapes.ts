// The schema gpuforge.profile/1 as tables: the keys of every row in the order in which they are written, and what each must be.

import {
  amount,
  flag,
  listOf,
  number,
  oneOf,
  orNull,
  plainObject,
  positive,
  type Shape,
  text,
  whole,
} from './check.ts';
import type { Entry, KernelCall } from './types.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Values that are left out and filled in again, beside null, false and empty lists. */
export const usual: Readonly<Record<string, Row>> = {
  entries: { thread: 'main' } satisfies Partial<Entry>,
  kernels: { kernels: 1 } satisfies Partial<KernelCall>,
};

/** The lists of a file; everything else is written as a whole. */
export const lists = ['entries', 'kernels', 'transfers', 'waits', 'compiles', 'routes', 'lanes', 'memory'] as const;

export const maybe = orNull(amount);

/** The schema: per list what each row holds. */
export const rowShapes: Readonly<Record<(typeof lists)[number], Shape>> = {
  entries: {
    id: positive,
    parentId: orNull(positive),
    operation: text,
    startMs: number,
    durationMs: amount,
    selfMs: amount,
    device: orNull(text),
    backend: orNull(text),
    gpuTimeMs: maybe,
    cpuTimeMs: maybe,
    transferTimeMs: maybe,
    overheadMs: maybe,
    memoryBeforeMb: maybe,
    memoryAllocatedMb: orNull(number),
    memoryPeakMb: maybe,
    gpuUtilization: maybe,
    failed: flag,
    thread: text,
    issuedIn: listOf(positive),
    inputs: orNull(text),
    steps: orNull(listOf(number)),
    metadata: orNull(plainObject),
  },
  kernels: {
    id: positive,
    entry: orNull(positive),
    name: text,
    device: text,
    start: number,
    ms: maybe,
    passMs: maybe,
    pass: orNull(positive),
    bytes: maybe,
    flops: maybe,
    replay: orNull(positive),
    enqueued: number,
    hostMs: amount,
    issuedIn: orNull(positive),
    kernels: whole,
    line: orNull(text),
  },
  transfers: {
    id: positive,
    entry: orNull(positive),
    kind: oneOf('upload', 'download', 'move'),
    from: text,
    to: text,
    bytes: amount,
    start: number,
    ms: amount,
    pinned: flag,
  },
  waits: {
    entry: orNull(positive),
    device: text,
    start: number,
    ms: amount,
    line: text,
    why: oneOf('read', 'flush', 'memory'),
  },
  compiles: { entry: orNull(positive), device: text, kernels: listOf(text), start: number, ms: amount, cached: flag },
  routes: { entry: orNull(positive), op: text, device: text, start: number, predictions: listOf(plainObject) },
  lanes: { device: text, lane: whole, name: text, start: number, ms: amount },
  memory: { t: number, device: text, live: amount, reserved: amount, others: maybe },
};

export const headShape: Shape = {
  createdAt: text,
  gpuforge: text,
  node: orNull(text),
  timeOrigin: number,
  startMs: number,
  wallMs: amount,
  machine: plainObject,
  options: plainObject,
  summary: plainObject,
  kernelSummary: plainObject,
  dropped: plainObject,
  orphans: whole,
  violations: whole,
  cutNames: whole,
};

export const deviceShape: Shape = {
  id: text,
  name: text,
  driver: orNull(text),
  kind: text,
  software: flag,
  clockErrorUs: maybe,
  quantumUs: maybe,
  budget: maybe,
  roof: orNull(plainObject),
  allocations: whole,
  grown: whole,
  cleanups: whole,
  telemetry: orNull(plainObject),
  time: orNull(plainObject),
};

export const summaryShape: Shape = {
  callCount: positive,
  total: amount,
  self: amount,
  avg: amount,
  std: amount,
  min: amount,
  max: amount,
  median: amount,
  p95: amount,
  p99: amount,
  gpuTotal: maybe,
  cpuTotal: maybe,
  transferTotal: maybe,
  overheadTotal: maybe,
  avgMemoryMb: orNull(number),
  peakMemoryMb: maybe,
  avgGpuUtilization: maybe,
  failures: whole,
  device: orNull(text),
};

export const kernelShape: Shape = {
  name: text,
  device: text,
  count: positive,
  measured: whole,
  total: maybe,
  mean: maybe,
  median: maybe,
  p95: maybe,
  p99: maybe,
  gbs: maybe,
  gflops: maybe,
  roofline: maybe,
  bound: orNull(oneOf('memory', 'compute', 'launch')),
  shorterThanLaunch: orNull(whole),
  belowClock: whole,
};
