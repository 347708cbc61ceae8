// The monitor's counts, as plain data.

import { wholeOf } from './figures.ts';
import type { LeakReport } from './leaks.ts';
import type { PressureLevel } from './levels.ts';
import type { MemorySnapshot } from './snapshot.ts';
import { MiB, type PlaceFigures } from './view.ts';

export interface MemoryStats {
  readonly current: MemorySnapshot;
  readonly peakAllocatedMb: number;
  readonly peakReservedMb: number;
  readonly totalAllocations: number;
  readonly totalDeallocations: number;
  readonly allocationFailures: number;
  readonly cleanups: number;
  /** Milliseconds since 1970, or null. */
  readonly lastCleanupTime: number | null;
  /** Mean over the samples, in per cent. */
  readonly avgUtilization: number;
  /** How often a level was entered, over all devices. */
  readonly pressureEvents: Readonly<Record<PressureLevel, number>>;
  readonly leakReports: readonly LeakReport[];
}

/** Counters under PyTorch's names (`torch.cuda.memory_stats`); those that have no meaning here are left out. */
export interface TorchStats {
  readonly 'allocation.all.current': number;
  readonly 'allocation.all.allocated': number;
  readonly 'allocation.all.freed': number;
  readonly 'allocated_bytes.all.current': number;
  readonly 'allocated_bytes.all.peak': number;
  readonly 'reserved_bytes.all.current': number;
  readonly 'reserved_bytes.all.peak': number;
  readonly 'inactive_bytes.all.current': number;
  readonly num_ooms: number;
  /** Not PyTorch's: the size that these are measured against, or null. */
  readonly total_bytes: number | null;
}

/** Counters of a device since the last reset. */
export interface Counters {
  readonly peakAllocated: number;
  readonly peakReserved: number;
  readonly utilizationSum: number;
  readonly samples: number;
  readonly base: { readonly allocations: number; readonly releases: number; readonly failures: number };
}

export type RuntimeCounts = Pick<MemoryStats, 'cleanups' | 'lastCleanupTime' | 'pressureEvents' | 'leakReports'>;

export function describeStats(
  current: MemorySnapshot,
  figures: PlaceFigures,
  counters: Counters,
  counts: RuntimeCounts,
): MemoryStats {
  const { base, samples } = counters;
  return {
    current,
    peakAllocatedMb: Math.max(counters.peakAllocated, figures.peak) / MiB,
    peakReservedMb: Math.max(counters.peakReserved, figures.reserved) / MiB,
    totalAllocations: figures.allocations - base.allocations,
    totalDeallocations: figures.releases - base.releases,
    allocationFailures: figures.failures - base.failures,
    avgUtilization: samples > 0 ? counters.utilizationSum / samples : current.utilization,
    ...counts,
  };
}

export function torchStats(figures: PlaceFigures, counters: Counters): TorchStats {
  const { base } = counters;
  return {
    'allocation.all.current': figures.allocations - figures.releases,
    'allocation.all.allocated': figures.allocations - base.allocations,
    'allocation.all.freed': figures.releases - base.releases,
    'allocated_bytes.all.current': figures.inUse,
    'allocated_bytes.all.peak': Math.max(counters.peakAllocated, figures.peak),
    'reserved_bytes.all.current': figures.reserved,
    'reserved_bytes.all.peak': Math.max(counters.peakReserved, figures.reserved),
    'inactive_bytes.all.current': figures.reclaimable,
    num_ooms: figures.failures - base.failures,
    total_bytes: wholeOf(figures),
  };
}
