// Figures per operation and per kernel.

import type { Entry, KernelCall, KernelSummary, OperationSummary, ProfiledDevice } from '../file/types.ts';
import { distribution } from '../statistics.ts';
import { reached } from './roofline.ts';

/** Groups in order of first appearance. */
function groups<T>(list: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const item of list) {
    const k = key(item);
    const known = found.get(k);
    if (known) known.push(item);
    else found.set(k, [item]);
  }
  return found;
}

const known = (list: readonly (number | null)[]): number[] => list.filter((v) => v !== null);

/** The sum; null as soon as one of them was not measured. */
function sum(list: readonly (number | null)[]): number | null {
  let total = 0;
  for (const v of list) {
    if (v === null) return null;
    total += v;
  }
  return total;
}

const mean = (list: readonly number[]): number | null =>
  list.length === 0 ? null : list.reduce((a, b) => a + b, 0) / list.length;

/** What most of them are. */
function commonest(list: readonly (string | null)[]): string | null {
  const counts = new Map<string | null, number>();
  for (const v of list) counts.set(v, (counts.get(v) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}

export function* summarizing(entries: readonly Entry[]): Generator<void, Record<string, OperationSummary>> {
  const found = Object.create(null) as Record<string, OperationSummary>;
  for (const [operation, list] of groups(entries, (e) => e.operation)) {
    found[operation] = operationSummary(list);
    if (list.length > 1000) yield;
  }
  return found;
}

function operationSummary(list: readonly Entry[]): OperationSummary {
  const { count, total, mean: avg, std, min, max, median, p95, p99 } = distribution(list.map((e) => e.durationMs));
  const peaks = known(list.map((e) => e.memoryPeakMb));
  return {
    callCount: count,
    total,
    self: list.reduce((s, e) => s + e.selfMs, 0),
    avg,
    min,
    max,
    std,
    median,
    p95,
    p99,
    gpuTotal: sum(list.map((e) => e.gpuTimeMs)),
    cpuTotal: sum(list.map((e) => e.cpuTimeMs)),
    transferTotal: sum(list.map((e) => e.transferTimeMs)),
    overheadTotal: sum(list.map((e) => e.overheadMs)),
    avgMemoryMb: mean(known(list.map((e) => e.memoryAllocatedMb))),
    peakMemoryMb: peaks.length === 0 ? null : peaks.reduce((a, b) => Math.max(a, b)),
    avgGpuUtilization: mean(known(list.map((e) => e.gpuUtilization))),
    failures: list.filter((e) => e.failed).length,
    device: commonest(list.map((e) => e.device)),
  };
}

/** Shorter than so many steps of the clock, a time says little. */
const leastQuanta = 5;

export function summarizeKernels(
  kernels: readonly KernelCall[],
  devices: readonly ProfiledDevice[],
): Record<string, KernelSummary> {
  const found = Object.create(null) as Record<string, KernelSummary>;
  const byId = new Map(devices.map((d) => [d.id, d]));
  for (const [key, list] of groups(kernels, (k) => `${k.name} on ${k.device}`)) {
    found[key] = kernelSummary(list, byId.get(list[0]!.device));
  }
  return found;
}

function kernelSummary(list: readonly KernelCall[], device: ProfiledDevice | undefined): KernelSummary {
  const { name, device: id, bytes, flops } = list[0]!;
  const times = known(list.map((k) => k.ms));
  const count = list.length;
  const launchMs = device?.roof ? device.roof.launchUs / 1000 : null;
  if (times.length === 0) {
    const unknown = { total: null, mean: null, median: null, p95: null, p99: null, gbs: null, gflops: null };
    const rest = { roofline: null, bound: null, shorterThanLaunch: null, belowClock: 0 };
    return { name, device: id, count, measured: 0, ...unknown, ...rest };
  }
  const d = distribution(times);
  const quantumMs = (device?.quantumUs ?? 0) / 1000;
  const { share, bound } = reached(device?.roof ?? null, d.median, bytes, flops);
  const rate = (amount: number | null): number | null =>
    amount === null || d.median <= 0 ? null : amount / d.median / 1e6;
  return {
    name,
    device: id,
    count,
    measured: d.count,
    total: d.total,
    mean: d.mean,
    median: d.median,
    p95: d.p95,
    p99: d.p99,
    gbs: rate(bytes),
    gflops: rate(flops),
    roofline: share,
    bound,
    shorterThanLaunch: launchMs === null ? null : times.filter((t) => t < launchMs).length,
    belowClock: quantumMs === 0 ? 0 : times.filter((t) => t < leastQuanta * quantumMs).length,
  };
}
