// What the server tells the page: `gpuforge.studio/1`. Plain data that survives JSON; keys are only ever added. What is not known is
// null, never 0. Times are milliseconds since 1970 unless a name says otherwise.

import type { JobStatus } from '../batch/index.ts';
import type { FieldState, LoopReport, Model, SettingView } from '../field/index.ts';
import type { CleanupReport, Holder, LeakReport, RuntimeSnapshot } from '../index.ts';
import type { Suggestion } from '../profile/index.ts';

export const studioSchema = 'gpuforge.studio/1';

/** How something stands: `unknown` is neither good nor bad. */
export type Standing = 'good' | 'watch' | 'bad' | 'unknown';

/** One question of the overview, answered in words. */
export interface Answer {
  readonly standing: Standing;
  readonly answer: string;
  readonly detail: string;
}

export interface StudioHealth {
  readonly standing: Standing;
  /** All of it in one line. */
  readonly line: string;
  readonly device: Answer;
  readonly memory: Answer;
  readonly failures: Answer;
}

export type EventLevel = 'error' | 'warn' | 'info' | 'work';

/** Something that happened, or several equal things within a fraction of a second. */
export interface EventEntry {
  readonly seq: number;
  readonly time: number;
  readonly kind: string;
  readonly level: EventLevel;
  readonly runtime: string;
  readonly device: string | null;
  readonly text: string;
  readonly count: number;
}

/** What became of one alert. */
export interface Alert {
  readonly name: string;
  readonly level: 'error' | 'warn';
  readonly text: string;
  /** When it fired, and when it cleared; null while it stands. */
  readonly firedAt: number;
  readonly clearedAt: number | null;
}

export interface KernelRow {
  readonly name: string;
  readonly device: string;
  readonly count: number;
  readonly hostMs: number;
  /** By the device's own clock, of `measured` launches; null while profiling is off. */
  readonly deviceMs: number | null;
  readonly measured: number;
  /** Of all launches, by the estimate. */
  readonly bytes: number;
  readonly flops: number;
  readonly gbPerSecond: number | null;
  readonly gflopPerSecond: number | null;
  /** Share of what the calibration measured this device to reach at best, 0 to 1. */
  readonly roofline: number | null;
}

export interface TransferRow {
  readonly direction: 'upload' | 'download' | 'move';
  readonly device: string;
  readonly count: number;
  readonly bytes: number;
  readonly ms: number;
  readonly pinnedBytes: number;
}

/** A launch on a device's timeline; times in ms before the snapshot. */
export interface SpanRow {
  readonly name: string;
  readonly device: string;
  readonly start: number;
  readonly end: number;
}

/** The router's expectation beside what was measured. */
export interface Measured {
  readonly time: number;
  readonly op: string;
  readonly device: string;
  readonly predictedMs: number;
  readonly ms: number;
}

/** How busy a device is, and who says so. */
export interface Busy {
  readonly device: string;
  /** 0 to 1. */
  readonly share: number | null;
  /** `device`: its own figure. `spans`: the times of our kernels. `launches`: the host's time in launches, on the host's processor. */
  readonly source: 'device' | 'spans' | 'launches' | null;
  readonly launchesPerSecond: number | null;
}

export interface RuntimeView {
  readonly name: string;
  readonly closedAt: number | null;
  readonly snapshot: RuntimeSnapshot;
  readonly busy: readonly Busy[];
  /** Launches that a device has not finished; null while profiling is off. */
  readonly queue: number | null;
  readonly memory: {
    /** Where the levels begin, in per cent. */
    readonly levels: { readonly moderate: number; readonly high: number; readonly critical: number };
    readonly cleanupAt: number | null;
    readonly holders: readonly Holder[];
    /** Newest first. */
    readonly leaks: readonly LeakReport[];
    readonly cleanups: readonly CleanupReport[];
    readonly spills: number;
    readonly spilledBytes: number;
  };
  readonly work: {
    /** Since when work is watched; null if nobody has looked yet. */
    readonly since: number | null;
    readonly profiling: boolean;
    readonly kernels: readonly KernelRow[];
    readonly transfers: readonly TransferRow[];
    readonly compiles: { readonly count: number; readonly ms: number; readonly cached: number };
    readonly spans: readonly SpanRow[];
  };
  readonly routing: {
    readonly measured: readonly Measured[];
    /** The decisions that were furthest off. */
    readonly worst: readonly Measured[];
    readonly calibrated: readonly { readonly device: string; readonly tookMs: number }[];
    readonly operations: readonly string[];
  };
  /** Since the studio was started. */
  readonly counts: {
    readonly errors: number;
    readonly retries: number;
    readonly losses: number;
    readonly recoveries: number;
    readonly fallbacks: number;
    readonly leaks: number;
  };
}

/** What GPUCompute tells beyond its runtime. */
export interface ComputeView {
  readonly device: string | null;
  readonly pool: {
    readonly hits: number;
    readonly misses: number;
    readonly bytesHeld: number;
    readonly bytesLent: number;
  };
  readonly batch: { readonly chunks: number; readonly items: number };
  /** Since the studio was started, by kind. */
  readonly anomalyTotals: Readonly<Record<string, number>>;
  /** Newest first. */
  readonly anomalies: readonly { readonly time: number; readonly kind: string; readonly text: string }[];
}

/** One batch processor. */
export interface BatchView {
  readonly name: string;
  /** Since it was made. */
  readonly batches: number;
  readonly items: number;
  readonly meanSize: number | null;
  /** The largest batch that was allowed last. */
  readonly limit: number | null;
  /** Over the last ten seconds; null if no batch has ended since a page was opened. */
  readonly itemsPerSecond: number | null;
  readonly operations: readonly {
    readonly operation: string;
    readonly calls: number;
    readonly items: number;
    readonly totalMs: number;
    readonly failures: number;
    readonly device: string | null;
  }[];
  /** Newest first. */
  readonly recent: readonly {
    readonly time: number;
    readonly kind: 'done' | 'failed';
    readonly operation: string;
    readonly items: number;
    readonly ms: number;
    readonly device: string | null;
  }[];
  /** What an item took in batches of each size, since a page was opened. */
  readonly sizes: readonly {
    readonly operation: string;
    readonly items: number;
    readonly batches: number;
    readonly msPerItem: number;
  }[];
}

/** A queue of jobs. */
export interface QueueView {
  readonly name: string;
  /** When it was asked last; null if it has not answered yet. */
  readonly asked: number | null;
  /** Those that run first, then the newest. */
  readonly jobs: readonly JobStatus[];
  /** Chunks that were given up, of the newest jobs that have some. */
  readonly failures: readonly {
    readonly job: string;
    readonly op: string;
    readonly index: number;
    readonly error: string;
    readonly attempts: number;
  }[];
  /** Why it did not answer the last time. */
  readonly problem: string | null;
}

/** In milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** One field. What it did is known since a page was opened. */
export interface FieldView {
  readonly name: string;
  readonly device: string;
  readonly model: Model;
  readonly disposed: boolean;
  readonly cells: readonly [number, number, number];
  readonly channels: number;
  /** Of its tensors; 0 once it was disposed of. */
  readonly bytes: number;
  readonly sensorDim: number;
  readonly motorDim: number;
  /** Since it was made. */
  readonly cycle: number;
  readonly cyclesPerSecond: number | null;
  /** From the call to the motors, of the last cycles. */
  readonly cycleMs: Latency | null;
  readonly sensors: readonly number[] | null;
  readonly motors: readonly number[] | null;
  readonly state: FieldState | null;
  /** Those that have an effect in its model, as they are now. */
  readonly settings: readonly SettingView[];
  /** Its loop, if one runs or ran: of the last ticks, latencies in 32 bins from 0 to two periods. */
  readonly loop: {
    readonly hz: number;
    readonly ticks: number;
    readonly missed: number;
    readonly latency: Latency;
    readonly histogram: LoopReport['histogram'];
  } | null;
}

/** One channel on a slice of a field: f32 values row by row, as base64. */
export interface FieldSlice {
  readonly cycle: number;
  readonly height: number;
  readonly width: number;
  readonly values: string;
}

/** One point of the history, small enough to keep hundreds. */
export interface Sample {
  readonly time: number;
  readonly runtimes: readonly {
    readonly name: string;
    readonly spilled: number;
    readonly devices: readonly DeviceSample[];
  }[];
  readonly fields?: readonly FieldSample[];
}

export interface FieldSample {
  readonly name: string;
  readonly cyclesPerSecond: number | null;
  readonly latencyMs: number | null;
  readonly confidence: number | null;
  readonly skill: number | null;
}

export interface DeviceSample {
  readonly id: string;
  readonly live: number;
  readonly reserved: number;
  readonly others: number | null;
  readonly total: number | null;
  readonly used: number | null;
  readonly busy: number | null;
  readonly temperature: number | null;
  readonly power: number | null;
  readonly clock: number | null;
  readonly launches: number | null;
}

export interface StudioSnapshot {
  readonly schema: typeof studioSchema;
  readonly time: number;
  readonly process: {
    readonly pid: number;
    readonly name: string;
    readonly startedAt: number;
    readonly gpuforge: string;
    readonly node: string;
  };
  /** Whether the page may switch profiling, and change settings of fields. */
  readonly control: boolean;
  readonly clients: number;
  readonly health: StudioHealth;
  readonly alerts: { readonly active: readonly Alert[]; readonly past: readonly Alert[] };
  /** Failures and launches of the last minute; the share is null if nothing ran. */
  readonly lastMinute: { readonly errors: number; readonly launches: number; readonly errorShare: number | null };
  readonly lastHour: { readonly anomalies: number; readonly recoveries: number; readonly errors: number };
  readonly runtimes: readonly RuntimeView[];
  readonly compute: ComputeView | null;
  readonly batches: readonly BatchView[];
  readonly queues: readonly QueueView[];
  readonly fields: readonly FieldView[];
  readonly sample: Sample;
  /** The newest event. */
  readonly seq: number;
}

/** The kernel to improve first. */
export interface FirstKernel {
  readonly name: string;
  readonly device: string;
  readonly count: number;
  readonly totalMs: number;
  /** Of the measured time of all kernels, 0 to 1. */
  readonly share: number;
  /** How near it comes to what the device can do, 0 to 1; null if that is not known. */
  readonly roofline: number | null;
  readonly bound: 'memory' | 'compute' | 'launch' | null;
}

/** A profile in the list. */
export interface ProfileRow {
  readonly id: string;
  readonly name: string;
  readonly from: 'file' | 'upload' | 'profiler';
  /** Why it cannot be shown. */
  readonly problem: string | null;
  readonly createdAt: string | null;
  readonly wallMs: number | null;
  readonly devices: readonly string[];
  readonly operations: number;
  readonly calls: number;
  readonly kernels: number;
  readonly first: FirstKernel | null;
  readonly suggestions: readonly Suggestion[];
}
