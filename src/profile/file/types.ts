// What a profile holds: the schema `gpuforge.profile/1`.
//
// Times are ms of `performance.now()` with at most three digits behind the point; `timeOrigin` makes them times of day. A figure that was not
// measured is null. In the file, keys whose value is null, false or an empty list are left out.

import type { CompileRecord, LaneRecord, RouteRecord, TransferRecord, WaitRecord } from '../record/log.ts';
import type { MemoryPoint } from '../record/memory-curve.ts';

/** The form of baselines. */
export const baselineSchema = 'gpuforge.baseline/1';

export const profileSchema = 'gpuforge.profile/1';

/** One scope of the program. */
export interface Entry {
  readonly id: number;
  readonly parentId: number | null;
  readonly operation: string;
  readonly startMs: number;
  readonly durationMs: number;
  /** Its share of the time, without scopes inside it. Scopes that run at the same time share the time between them. */
  readonly selfMs: number;
  /** Devices that worked for it, joined by '+'; else the one that its caller named. */
  readonly device: string | null;
  /** Kinds of the devices that worked for it: cuda, webgpu, cpu. */
  readonly backend: string | null;
  /** Time in which GPUs worked for it, by their own clocks, scopes inside it included. */
  readonly gpuTimeMs: number | null;
  /** The same for kernels on the CPU device. */
  readonly cpuTimeMs: number | null;
  /** Time of copies for it in which no device worked for it. */
  readonly transferTimeMs: number | null;
  /** The rest of its duration: the program's own code, launching, waiting. */
  readonly overheadMs: number | null;
  /** Live memory of all devices when it began, the difference to its end, and the most in between. */
  readonly memoryBeforeMb: number | null;
  readonly memoryAllocatedMb: number | null;
  readonly memoryPeakMb: number | null;
  /** Share of its duration in which GPUs worked for it, 0 to 1. */
  readonly gpuUtilization: number | null;
  readonly failed: boolean;
  readonly thread: string;
  /** Scopes that built lazy work which this one made run. */
  readonly issuedIn: readonly number[];
  /** Equal for calls with the same arguments; null if the arguments are not known. */
  readonly inputs: string | null;
  /** Of a generator: start and end of each step. */
  readonly steps: readonly number[] | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

/** One kernel, or one recorded replay of a compiled function. */
export interface KernelCall {
  readonly id: number;
  /** The innermost scope when it was enqueued. */
  readonly entry: number | null;
  readonly name: string;
  readonly device: string;
  /** On the device, where that was measured; else when it was enqueued. */
  readonly start: number;
  readonly ms: number | null;
  /** Where several kernels were measured together: the time of all, and the id of the first. */
  readonly passMs: number | null;
  readonly pass: number | null;
  readonly bytes: number | null;
  readonly flops: number | null;
  readonly replay: number | null;
  /** The call of the host: when it began and how long it took. */
  readonly enqueued: number;
  readonly hostMs: number;
  /** The scope that built it, if another one made it run. */
  readonly issuedIn: number | null;
  /** Kernels in it. */
  readonly kernels: number;
  /** The line of the program that made it run; null unless the profile is detailed, and where nobody looked. */
  readonly line: string | null;
}

type WithEntry<T> = Omit<T, 'entry'> & { readonly entry: number | null };
export type Transfer = WithEntry<TransferRecord>;
export type Wait = WithEntry<WaitRecord>;
export type Compile = WithEntry<CompileRecord>;
export type Route = WithEntry<RouteRecord>;
export type Lane = LaneRecord;

/** What calibration found a device to reach. */
export interface Roof {
  readonly memoryGBs: number | null;
  readonly gflops: number | null;
  readonly launchUs: number;
  readonly waitUs: number;
  readonly uploadGBs: number | null;
  readonly downloadGBs: number | null;
}

export interface ProfiledDevice {
  readonly id: string;
  readonly name: string;
  readonly driver: string | null;
  readonly kind: string;
  readonly software: boolean;
  readonly clockErrorUs: number | null;
  /** Steps of its clock; null if they are too small to matter. */
  readonly quantumUs: number | null;
  readonly budget: number | null;
  readonly roof: Roof | null;
  /** Allocations, and those for which memory had to be taken from the system. */
  readonly allocations: number;
  readonly grown: number;
  readonly cleanups: number;
  /** Temperature in °C, power in W and clocks in MHz when the profile was made; null where the device does not tell. */
  readonly telemetry: {
    readonly temperature: number | null;
    readonly power: number | null;
    readonly clocks: Readonly<Record<string, number>>;
  } | null;
  /** Where its time went; null if it has no clock or did nothing. */
  readonly time: DeviceTime | null;
}

/** Shares of the profile's time, 0 to 1. Together they are 1. */
export interface DeviceTime {
  readonly busy: number;
  readonly idleHost: number;
  readonly idleTransfer: number;
  readonly idleUnknown: number;
  /** The longest stretch without work because none was enqueued. */
  readonly longestGapMs: number;
  readonly longestGapStart: number | null;
  /** A line that waited in it. */
  readonly longestGapLine: string | null;
}

export interface Spread {
  readonly min: number;
  readonly max: number;
  readonly median: number;
  readonly p95: number;
  readonly p99: number;
}

export interface OperationSummary extends Spread {
  readonly callCount: number;
  readonly total: number;
  readonly self: number;
  readonly avg: number;
  /** Population standard deviation; 0 below two calls. */
  readonly std: number;
  readonly gpuTotal: number | null;
  readonly cpuTotal: number | null;
  readonly transferTotal: number | null;
  readonly overheadTotal: number | null;
  readonly avgMemoryMb: number | null;
  readonly peakMemoryMb: number | null;
  readonly avgGpuUtilization: number | null;
  readonly failures: number;
  readonly device: string | null;
}

export type Bound = 'memory' | 'compute' | 'launch';

/** A kernel by name and device. Times of calls that the device measured one by one; null if there are none. */
export interface KernelSummary {
  readonly name: string;
  readonly device: string;
  readonly count: number;
  readonly measured: number;
  readonly total: number | null;
  readonly mean: number | null;
  readonly median: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly gbs: number | null;
  readonly gflops: number | null;
  /** What the device could reach at best for this work, divided by what it took: 1 is the roof. */
  readonly roofline: number | null;
  readonly bound: Bound | null;
  /** Calls that are shorter than their launch costs; null if that is not known. */
  readonly shorterThanLaunch: number | null;
  /** Calls that are shorter than five steps of the device's clock. */
  readonly belowClock: number;
}

export interface ProfileFile {
  readonly schema: typeof profileSchema;
  readonly createdAt: string;
  readonly gpuforge: string;
  readonly node: string | null;
  /** ms since 1970 of the time 0. */
  readonly timeOrigin: number;
  /** What was observed: from the first to the last moment. */
  readonly startMs: number;
  readonly wallMs: number;
  readonly machine: { readonly cpu: string; readonly cores: number; readonly devices: readonly ProfiledDevice[] };
  readonly options: {
    readonly detailed: boolean;
    readonly capacity: number;
    /** How much longer replays took because their kernels were measured one by one. */
    readonly slowdown: number | null;
  };
  readonly entries: readonly Entry[];
  readonly kernels: readonly KernelCall[];
  readonly transfers: readonly Transfer[];
  readonly waits: readonly Wait[];
  readonly compiles: readonly Compile[];
  readonly routes: readonly Route[];
  /** Threads of the CPU device at work; only with `detailed`. */
  readonly lanes: readonly Lane[];
  readonly memory: readonly MemoryPoint[];
  readonly summary: Readonly<Record<string, OperationSummary>>;
  readonly kernelSummary: Readonly<Record<string, KernelSummary>>;
  readonly dropped: { readonly entries: number; readonly kernels: number; readonly transfers: number };
  readonly orphans: number;
  readonly violations: number;
  /** Names that were longer than 200 characters. */
  readonly cutNames: number;
}
