// From records to a profile: every figure that is shown anywhere is computed here, once.
//
// A generator, so that writing a large profile lets the event loop turn, and `getEntries()` can still answer at once.

import { builtinModule } from '../../base/platform.ts';
import { version } from '../../base/version.ts';
import type { Runtime } from '../../index.ts';
import { type EntryTimes, entryTimes, nothing } from '../analyse/entry-times.ts';
import { deviceTime } from '../analyse/idle.ts';
import { roofOf } from '../analyse/roofline.ts';
import { summarizeKernels, summarizing } from '../analyse/summary.ts';
import { shareOut } from '../analyse/tree.ts';
import { kernel as col, type DeviceLog } from '../record/log.ts';
import type { ProfileSpan } from '../record/span.ts';
import type { OpenSpans } from '../record/spans.ts';
import {
  type Entry,
  type KernelCall,
  type ProfiledDevice,
  type ProfileFile,
  profileSchema,
  type Transfer,
} from './types.ts';

export interface Recorded {
  readonly spans: OpenSpans;
  readonly log: DeviceLog;
  readonly runtimes: readonly Runtime[];
  /** Whether devices were listened to. */
  readonly attached: boolean;
  readonly detailed: boolean;
  readonly capacity: number;
  readonly slowdown: number | null;
  readonly cutNames: number;
}

/** At most µs. */
export const round = (ms: number): number => Math.round(ms * 1000) / 1000;
const roundOrNull = (v: number | null): number | null => (v === null ? null : round(v));
const mb = (bytes: number): number => round(bytes / 2 ** 20);

export function* buildProfile(recorded: Recorded): Generator<void, ProfileFile> {
  const { spans, log, runtimes } = recorded;
  const kernels = yield* kernelCalls(log);
  const transfers = log.transfers.list().map(rounded);
  const waits = log.waits.list().map(rounded);
  const compiles = log.compiles.list().map(rounded);
  const routes = log.routes.list().map((r) => ({ ...r, entry: r.entry || null, start: round(r.start) }));
  yield;
  const ended = spans.ended.list();
  const scopes: Scope[] = [];
  for (const s of ended) {
    scopes.push(scopeOf(s));
    if (scopes.length % 4096 === 0) yield;
  }
  const { self } = yield* shareOut(scopes);
  const times = recorded.attached ? yield* entryTimes(scopes, kernels, transfers) : null;
  const thread = threadName();
  const entries: Entry[] = [];
  for (let i = 0; i < ended.length; i++) {
    entries.push(makeEntry(ended[i]!, scopes[i]!, self[i]!, times?.get(scopes[i]!.id) ?? nothing, thread));
    if (i % 4096 === 4095) yield;
  }
  const { from, to } = windowOf(entries, kernels, transfers);
  const devices = devicesOf(runtimes, log).map((d) => ({
    ...d,
    time: roundedTime(
      deviceTime(
        kernels.filter((k) => k.device === d.id),
        transfers.filter((t) => t.from === d.id || t.to === d.id),
        waits,
        from,
        to,
      ),
    ),
  }));
  yield;
  const summary = yield* summarizing(entries);
  yield;
  const kernelSummary = summarizeKernels(kernels, devices);
  return {
    schema: profileSchema,
    createdAt: new Date().toISOString(),
    gpuforge: version,
    node: typeof process === 'undefined' ? null : (process.versions?.node ?? null),
    timeOrigin: round(performance.timeOrigin),
    startMs: from,
    wallMs: round(to - from),
    machine: { ...hostMachine(), devices },
    options: { detailed: recorded.detailed, capacity: recorded.capacity, slowdown: roundOrNull(recorded.slowdown) },
    entries,
    kernels,
    transfers,
    waits,
    compiles,
    routes,
    lanes: log.lanes.list().map((l) => ({ ...l, start: round(l.start), ms: round(l.ms) })),
    memory: log.memory.list().map((p) => ({ ...p, t: round(p.t) })),
    summary: roundedDeep(summary),
    kernelSummary: roundedDeep(kernelSummary),
    dropped: { entries: spans.ended.dropped, kernels: log.kernels.dropped, transfers: log.transfers.dropped },
    orphans: spans.orphans,
    violations: log.violations,
    cutNames: recorded.cutNames,
  };
}

const rounded = <T extends { readonly entry: number; readonly start: number; readonly ms: number }>(
  r: T,
): Omit<T, 'entry'> & { entry: number | null } => ({
  ...r,
  entry: r.entry || null,
  start: round(r.start),
  ms: round(r.ms),
});

const orNull = (v: number): number | null => (Number.isNaN(v) ? null : v);

function* kernelCalls(log: DeviceLog): Generator<void, KernelCall[]> {
  const { kernels: rows, names } = log;
  const list: KernelCall[] = [];
  for (let row = rows.first; row < rows.total; row++) {
    const get = (column: number): number => rows.get(column, row);
    const start = get(col.start);
    list.push({
      id: row + 1,
      entry: get(col.entry) || null,
      name: names.text(get(col.name)),
      device: names.text(get(col.device)),
      start: round(Number.isNaN(start) ? get(col.enqueued) : start),
      ms: roundOrNull(orNull(get(col.ms))),
      passMs: roundOrNull(orNull(get(col.passMs))),
      pass: get(col.pass) || null,
      bytes: orNull(get(col.bytes)),
      flops: orNull(get(col.flops)),
      replay: get(col.replay) || null,
      enqueued: round(get(col.enqueued)),
      hostMs: round(get(col.hostMs)),
      issuedIn: get(col.issuedIn) || null,
      kernels: get(col.kernels),
      line: get(col.line) > 0 ? names.text(get(col.line) - 1) : null,
    });
    if (list.length % 4096 === 0) yield;
  }
  return list;
}

interface Scope {
  readonly id: number;
  readonly parentId: number | null;
  readonly operation: string;
  readonly startMs: number;
  readonly durationMs: number;
  readonly steps: readonly number[] | null;
}

const scopeOf = (s: ProfileSpan): Scope => ({
  id: s.id,
  parentId: s.parent?.id ?? null,
  operation: s.operation,
  startMs: round(s.start),
  durationMs: round(round(s.endTime) - round(s.start)),
  steps: s.steps ? s.steps.map(round) : null,
});

function makeEntry(s: ProfileSpan, scope: Scope, self: number, t: EntryTimes, thread: string): Entry {
  const { memory } = s;
  // Every key by itself: objects made by spreading are slow to read, and there may be a hundred thousand.
  return {
    id: scope.id,
    parentId: scope.parentId,
    operation: scope.operation,
    startMs: scope.startMs,
    durationMs: scope.durationMs,
    selfMs: round(self),
    device: t.devices.length > 0 ? t.devices.join('+') : s.device,
    backend: t.devices.length > 0 ? [...new Set(t.devices.map(kindOf))].join('+') : null,
    gpuTimeMs: roundOrNull(t.gpuMs),
    cpuTimeMs: roundOrNull(t.cpuMs),
    transferTimeMs: roundOrNull(t.transferMs),
    overheadMs: roundOrNull(t.overheadMs),
    memoryBeforeMb: memory ? mb(s.before) : null,
    memoryAllocatedMb: memory ? mb(s.after - s.before) : null,
    memoryPeakMb: memory ? mb(memory.peak) : null,
    gpuUtilization: roundOrNull(t.utilization),
    failed: s.failed,
    thread,
    issuedIn: t.issuedIn,
    inputs: s.inputs,
    steps: scope.steps,
    metadata: s.meta,
  };
}

/** From the first thing that was seen to the end of the last. */
function windowOf(
  entries: readonly Entry[],
  kernels: readonly KernelCall[],
  transfers: readonly Transfer[],
): { from: number; to: number } {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const see = (start: number, ms: number): void => {
    from = Math.min(from, start);
    to = Math.max(to, start + ms);
  };
  for (const e of entries) see(e.startMs, e.durationMs);
  for (const k of kernels) {
    see(k.start, k.ms ?? k.passMs ?? 0);
    see(k.enqueued, 0);
  }
  for (const t of transfers) see(t.start, t.ms);
  return from <= to ? { from: round(from), to: round(to) } : { from: 0, to: 0 };
}

const kindOf = (device: string): string => device.split(':')[0]!;

function devicesOf(runtimes: readonly Runtime[], log: DeviceLog): Omit<ProfiledDevice, 'time'>[] {
  const found = new Map<string, Omit<ProfiledDevice, 'time'>>();
  for (const rt of runtimes) {
    const { devices, memory } = rt.snapshot();
    for (const d of devices) {
      const used = log.devices.get(d.id);
      if (found.has(d.id) || (!d.open && !used)) continue;
      const { driver } = d.details;
      found.set(d.id, {
        id: d.id,
        name: d.name,
        driver: driver === undefined ? null : String(driver),
        kind: kindOf(d.id),
        software: d.software,
        clockErrorUs: roundOrNull(used?.errorUs ?? d.clockErrorUs),
        quantumUs: used?.quantumUs ?? null,
        budget: memory.places.find((p) => p.device === d.id)?.budget ?? null,
        roof: roundedDeep(roofOf(rt.routing.profile(d.id))),
        allocations: used?.allocations ?? 0,
        grown: used?.grown ?? 0,
        cleanups: used?.cleanups ?? 0,
        telemetry: d.telemetry && {
          temperature: d.telemetry.temperature,
          power: d.telemetry.power,
          clocks: d.telemetry.clocks,
        },
      });
    }
  }
  return [...found.values()];
}

const roundedTime = <T>(time: T): T => roundedDeep(time);

/** Every number in it with at most six digits behind the point. */
function roundedDeep<T>(value: T): T {
  if (typeof value === 'number') return (Math.round(value * 1e6) / 1e6) as T;
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.create(Object.getPrototypeOf(value)) as Record<string, unknown>;
  for (const [k, v] of Object.entries(value)) copy[k] = roundedDeep(v);
  return copy as T;
}

function hostMachine(): { cpu: string; cores: number } {
  const os = builtinModule('os') as typeof import('node:os') | undefined;
  if (os) return { cpu: os.cpus()[0]?.model.trim() || 'unknown', cores: os.availableParallelism() };
  const cores = (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator?.hardwareConcurrency;
  return { cpu: 'unknown', cores: cores ?? 1 };
}

function threadName(): string {
  const threads = builtinModule('worker_threads') as typeof import('node:worker_threads') | undefined;
  return !threads || threads.isMainThread ? 'main' : `worker ${threads.threadId}`;
}
