// rt.snapshot(): a runtime at one moment, as plain data that survives JSON.
//
// The shape has a version: keys are only added to it, and a change of meaning is a new version. What is not known is null,
// never 0; what has no limit is null, never Infinity.

import type { DeviceId } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { PressureLevel } from '../governor/memory/levels.ts';
import type { HealthEvent } from '../governor/recovery/health.ts';
import type { Router } from '../governor/routing/router.ts';
import type { RouteStats } from '../governor/routing/stats.ts';
import type { DeviceReport } from './devices.ts';
import type { Emitter } from './events.ts';
import type { Governor } from './governor.ts';
import type { Stats } from './ledger.ts';
import type { Spans } from './spans.ts';

export const snapshotSchema = 'gpuforge.runtime/1';

export interface DeviceSnapshot {
  readonly id: DeviceId;
  readonly name: string;
  readonly open: boolean;
  /** Why it is not open, and what would help. */
  readonly reason: string | null;
  readonly fix: string | null;
  /** Computes on the host's own processor. */
  readonly software: boolean;
  /** Driver, architecture, threads: whatever the device tells of itself. */
  readonly details: Readonly<Record<string, string | number | boolean>>;
  /** How it does: see `rt.recovery`. Null for a device that was never open. */
  readonly health: HealthSnapshot | null;
  /** Measured by the device; a figure that is not measured is null. */
  readonly telemetry: TelemetrySnapshot | null;
  /** How well its clock is known, in µs; null while `rt.spans` is off. */
  readonly clockErrorUs: number | null;
  /** Kernels enqueued there, and times the host waited for it. */
  readonly launches: number;
  readonly waits: number;
}

export interface HealthSnapshot {
  readonly state: string;
  /** Another device does its work at the moment. */
  readonly fallenBack: boolean;
  readonly failures: number;
  readonly successes: number;
  readonly recentFailures: number;
  readonly recentResets: number;
  readonly lastError: string | null;
}

export interface TelemetrySnapshot {
  readonly utilization: number | null;
  readonly memoryUsed: number | null;
  readonly memoryTotal: number | null;
  readonly temperature: number | null;
  readonly power: number | null;
  readonly clocks: Readonly<Record<string, number>>;
  /** Processes that hold memory of the device, in bytes; null where the driver does not tell. */
  readonly processes: readonly { readonly pid: number; readonly memory: number }[] | null;
}

/** The pool of plain buffers (`rt.memory.pool`). */
export interface PoolSnapshot {
  readonly hits: number;
  readonly misses: number;
  /** Of all requests so far: what was asked for, and what was handed out. */
  readonly requestedBytes: number;
  readonly roundedBytes: number;
  readonly heldBytes: number;
}

/** In bytes. */
export interface PlaceMemorySnapshot {
  readonly device: DeviceId;
  readonly live: number;
  readonly peak: number;
  readonly reserved: number;
  /** What the runtime may use there. */
  readonly budget: number | null;
  readonly total: number | null;
  readonly available: number | null;
  readonly others: number | null;
  /** 0 to 1; null where nothing is known to divide by. */
  readonly utilization: number | null;
  readonly pressure: PressureLevel;
  readonly allocations: number;
  readonly releases: number;
  readonly failures: number;
  /** Null if nobody has asked for a pool there. */
  readonly pool: PoolSnapshot | null;
}

export interface RuntimeSnapshot {
  readonly schema: typeof snapshotSchema;
  /** Milliseconds since 1970, and of `performance.now()`: the clock of the events. */
  readonly time: number;
  readonly clock: number;
  readonly closed: boolean;
  readonly devices: readonly DeviceSnapshot[];
  readonly memory: {
    readonly places: readonly PlaceMemorySnapshot[];
    /** Bytes of tensors in host memory: spilled, or kept for the case that a device is lost. */
    readonly spilled: number;
    readonly cleanups: number;
    readonly leakReports: number;
    readonly pressureEvents: Readonly<Record<PressureLevel, number>>;
  };
  readonly routing: {
    readonly mode: string;
    /** The device that all work is pinned to, if any. */
    readonly device: DeviceId | null;
    readonly forbidden: readonly string[];
    readonly exploration: { readonly routedUs: number; readonly lostUs: number };
    /** Per operation type and device. */
    readonly decisions: readonly RouteStats[];
  };
  readonly recovery: { readonly history: readonly HealthEvent[] };
  readonly counters: {
    readonly tensors: number;
    readonly bytes: number;
    readonly peakBytes: number;
    readonly launches: number;
    readonly waits: number;
    readonly waitMs: number;
    /** Listeners that threw. */
    readonly listenerFailures: number;
    /** Launches whose spans never came. */
    readonly spansDropped: number;
    /** Spans that began before the call that enqueued them, by more than the clocks are known to. */
    readonly spansEarly: number;
  };
  readonly programs: {
    /** Made, and runs that found theirs ready. */
    readonly made: number;
    readonly hits: number;
    /** In the cache now. */
    readonly cached: number;
  };
  readonly waits: Stats['waitsByLine'];
  readonly leaks: Stats['leaks'];
}

/** What a snapshot is taken of. */
export interface SnapshotParts {
  readonly governor: Governor;
  readonly router: Router;
  readonly reports: readonly DeviceReport[];
  readonly stats: Stats;
  readonly events: Emitter;
  readonly cachedPrograms: number;
  readonly spans: Spans;
  readonly closed: boolean;
}

export function takeRuntimeSnapshot(parts: SnapshotParts): RuntimeSnapshot {
  const { governor, router, stats, events, closed } = parts;
  const { places, monitor, health } = governor;
  const { cleanups, leakReports, pressureEvents } = monitor.stats();
  const { mode, device, forbid } = router.routing;
  return {
    schema: snapshotSchema,
    time: Date.now(),
    clock: performance.now(),
    closed,
    devices: parts.reports.map((r) => deviceSnapshot(r, parts)),
    memory: {
      places: places.map((p) => placeSnapshot(p, governor, closed)),
      spilled: stats.spilledBytes,
      cleanups,
      leakReports: leakReports.length,
      pressureEvents,
    },
    routing: {
      mode,
      device,
      forbidden: [...forbid],
      exploration: router.exploration(),
      decisions: router.stats().map((s) => ({ ...s, error: finite(s.error) ?? 0 })),
    },
    recovery: { history: health.history().map((e) => ({ ...e })) },
    counters: {
      tensors: stats.tensors,
      bytes: stats.bytes,
      peakBytes: stats.peakBytes,
      launches: stats.launches,
      waits: stats.waits,
      waitMs: stats.waitMs,
      listenerFailures: events.failures,
      spansDropped: parts.spans.dropped,
      spansEarly: parts.spans.early,
    },
    programs: { made: stats.programs, hits: stats.programHits, cached: parts.cachedPrograms },
    waits: stats.waitsByLine,
    leaks: stats.leaks,
  };
}

function deviceSnapshot(
  r: DeviceReport,
  { governor: { places, health }, spans, closed }: SnapshotParts,
): DeviceSnapshot {
  const place = places.find((p) => p.id === r.id);
  return {
    id: r.id,
    name: r.name,
    open: r.open && !closed,
    reason: closed && r.open ? 'the runtime is closed' : (r.reason ?? null),
    fix: r.fix ?? null,
    software: place !== undefined && (place.caps.immortal === true || place.caps.details.software === true),
    details: { ...r.details },
    health: place ? healthSnapshot(place, health) : null,
    telemetry: place?.alive && !closed ? telemetrySnapshot(place) : null,
    clockErrorUs: spans.error(r.id),
    launches: place?.launches ?? 0,
    waits: place?.waits ?? 0,
  };
}

function healthSnapshot(place: Place, health: Governor['health']): HealthSnapshot {
  const { state, fallenBack, failures, successes, recentFailures, recentResets, lastError } = health.of(place.id);
  return {
    state: place.alive ? state : 'lost',
    fallenBack,
    failures,
    successes,
    recentFailures,
    recentResets,
    lastError,
  };
}

function telemetrySnapshot({ device }: Place): TelemetrySnapshot | null {
  const t = device.telemetry?.();
  if (!t) return null;
  return {
    utilization: t.utilization ?? null,
    memoryUsed: t.memoryUsed ?? null,
    memoryTotal: t.memoryTotal ?? null,
    temperature: t.temperature ?? null,
    power: t.power ?? null,
    clocks: { ...t.clocks },
    processes: t.processes ? t.processes.map((p) => ({ ...p })) : null,
  };
}

const MiB = 2 ** 20;

function placeSnapshot(place: Place, { monitor }: Governor, closed: boolean): PlaceMemorySnapshot {
  const { id, inUse, peak, budget, allocations, releases, failures } = place;
  const known = place.alive && !closed ? monitor.snapshot(id) : null;
  const bytes = (mb: number | null | undefined): number | null => (mb == null ? null : mb * MiB);
  return {
    device: id,
    live: inUse,
    peak,
    reserved: bytes(known?.reservedMb) ?? inUse,
    budget: finite(budget),
    total: bytes(known?.totalMb),
    available: bytes(known?.availableMb),
    others: bytes(known?.otherProcessesMb),
    utilization: known && known.totalMb !== null ? known.utilization / 100 : null,
    pressure: known?.pressure ?? 'low',
    allocations,
    releases,
    failures,
    pool: monitor.poolCounts(id),
  };
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
