// The work of one runtime while somebody looks: kernels, transfers, compilations, what the router measured. The listeners only add
// numbers to tables; words are made when the tables are asked for.

import { Newest } from '../../base/newest.ts';
import { type Events, formatBytes, type Runtime, type RuntimeSnapshot } from '../../index.ts';
import type { KernelRow, Measured, SpanRow, TransferRow } from '../types.ts';
import type { EventRing } from './ring.ts';

interface Kernel {
  readonly name: string;
  readonly device: string;
  count: number;
  hostMs: number;
  deviceMs: number;
  measured: number;
  /** Of measured launches. */
  measuredBytes: number;
  measuredFlops: number;
  bytes: number;
  flops: number;
  /** Since the last look. */
  fresh: number;
}

/** A launch that has not ended. */
interface Pending {
  readonly kernel: Kernel;
  readonly bytes: number;
  readonly flops: number;
}

interface Transfer {
  readonly direction: TransferRow['direction'];
  readonly device: string;
  count: number;
  bytes: number;
  ms: number;
  pinnedBytes: number;
  fresh: number;
  freshBytes: number;
}

/** Events that only count: how often per device since the last look. Waits are left out: finding their lines would slow the program down. */
const counted = ['compile', 'route', 'alloc', 'free'] as const;
type Counted = (typeof counted)[number];
const countedTexts: Readonly<Record<Counted, (device: string) => string>> = {
  compile: (d) => `programs prepared for ${d}`,
  route: (d) => `the router chose ${d}`,
  alloc: (d) => `memory of ${d} taken`,
  free: (d) => `memory of ${d} given back`,
};

const mostKernels = 2000;
const mostPending = 20_000;
const shownKernels = 60;
const shownMeasured = 400;
const timelineMs = 2000;
/** µs to s; upper ends of the buckets of durations. */
export const durationBuckets = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10] as const;

export interface Durations {
  readonly op: string;
  readonly device: string;
  readonly counts: number[];
  count: number;
  sum: number;
}

/** Best rates of a device, per ms; null where it was not calibrated. */
export type RoofOf = (device: string) => { readonly bytes: number; readonly flops: number } | null;

export class WorkWatch {
  /** Null until somebody looked. */
  since: number | null = null;
  readonly compiles = { count: 0, ms: 0, cached: 0 };
  /** Host time in launches since the start, by device: how busy the host's processor is with them. */
  readonly launchMs = new Map<string, number>();
  readonly spanMs = new Map<string, number>();
  readonly durations = new Map<string, Durations>();
  readonly #runtime: Runtime;
  readonly #kernels = new Map<string, Map<string, Kernel>>();
  readonly #transfers = new Map<string, Transfer>();
  readonly #measured = new Newest<Measured>(shownMeasured);
  readonly #spans = new Newest<SpanRow>(2000);
  readonly #pending = new Map<number, Pending>();
  readonly #fresh = new Map<Counted, Map<string, number>>();
  #changed: Kernel[] = [];
  #rows = 0;
  #stops: (() => void)[] = [];
  /** Devices that tell when they are busy: because we asked for it, or a profiler did. Not all of them have a clock. */
  #timed: ReadonlySet<string> = new Set();
  #asked = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  get on(): boolean {
    return this.#stops.length > 0;
  }

  get profiling(): boolean {
    return this.#timed.size > 0;
  }

  /** Launches that their devices have not finished; null while nothing measures that. */
  get queue(): number | null {
    return this.profiling ? this.#pending.size : null;
  }

  start(): void {
    if (this.on) return;
    this.since ??= Date.now();
    const rt = this.#runtime;
    this.#stops = [
      rt.on('launch', (e) => this.#launch(e)),
      rt.on('replay', (e) => this.#replay(e)),
      rt.on('upload', (e) => this.#transfer('upload', e)),
      rt.on('download', (e) => this.#transfer('download', e)),
      rt.on('move', (e) => this.#transfer('move', e)),
      rt.on('measured', (e) => this.#learned(e)),
      rt.on('span', (e) => this.#span(e)),
      rt.on('lost', (e) => this.#forget((device) => device === e.device)),
      rt.on('compile', ({ ms, cached, kernels }) => {
        this.compiles.count += kernels.length;
        this.compiles.ms += ms;
        if (cached) this.compiles.cached += kernels.length;
      }),
      ...counted.map((kind) => rt.on(kind, (e: { readonly device: string }) => this.#count(kind, e.device))),
    ];
  }

  stop(): void {
    for (const end of this.#stops) end();
    this.#stops = [];
    this.#pending.clear();
  }

  /** Whether devices are to tell when they were busy. */
  async profile(on: boolean): Promise<void> {
    // What a profiler of the program switched on is left alone.
    if (on ? this.profiling : !this.#asked) return;
    await this.#runtime.spans(on);
    this.#asked = on;
    this.look(this.#runtime.snapshot());
  }

  /** Which devices tell spans at the moment, whoever asked for them. Of the others nobody will hear that a launch has ended. */
  look({ devices }: Pick<RuntimeSnapshot, 'devices'>): void {
    // The clocks of devices are known only while spans are told.
    this.#timed = new Set(devices.filter((d) => d.clockErrorUs !== null).map((d) => d.id));
    this.#forget((device) => !this.#timed.has(device));
  }

  /** Takes the launches of devices off the queue. */
  #forget(of: (device: string) => boolean): void {
    for (const [id, { kernel }] of this.#pending) if (of(kernel.device)) this.#pending.delete(id);
  }

  /** What happened since the last look, as entries with counts. */
  drain(ring: EventRing, runtime: string): void {
    const note = (kind: string, device: string, text: string, count: number): void =>
      void ring.add({ kind, level: 'work', runtime, device, text }, count);
    for (const k of this.#changed) {
      note('launch', k.device, k.name, k.fresh);
      k.fresh = 0;
    }
    this.#changed = [];
    for (const t of this.#transfers.values()) {
      if (t.fresh === 0) continue;
      note(t.direction, t.device, `${formatBytes(t.freshBytes)} in all`, t.fresh);
      t.fresh = 0;
      t.freshBytes = 0;
    }
    for (const [kind, devices] of this.#fresh) {
      for (const [device, count] of devices) note(kind, device, countedTexts[kind](device), count);
      devices.clear();
    }
  }

  kernels(roofOf: RoofOf): KernelRow[] {
    const rows = [...this.#kernels.values()].flatMap((m) => [...m.values()]);
    rows.sort((a, b) => b.deviceMs - a.deviceMs || b.hostMs - a.hostMs);
    return rows.slice(0, shownKernels).map((k) => kernelRow(k, roofOf(k.device)));
  }

  transfers(): TransferRow[] {
    return [...this.#transfers.values()].map(({ fresh: _, freshBytes: __, ...row }) => row);
  }

  measured(): Measured[] {
    return this.#measured.list();
  }

  /** The last seconds of the devices' timelines, in ms before now. */
  spans(): SpanRow[] {
    if (!this.profiling) return [];
    const now = performance.now();
    return this.#spans
      .list()
      .filter((s) => s.end > now - timelineMs)
      .map((s) => ({ ...s, start: s.start - now, end: s.end - now }));
  }

  #launch({ id, name, device, hostMs, estimate }: Events['launch']): void {
    const kernel = this.#kernel(device, name);
    const bytes = estimate.bytesRead + estimate.bytesWritten;
    kernel.count++;
    kernel.hostMs += hostMs;
    kernel.bytes += bytes;
    kernel.flops += estimate.flops;
    if (kernel.fresh++ === 0) this.#changed.push(kernel);
    this.launchMs.set(device, (this.launchMs.get(device) ?? 0) + hostMs);
    this.#awaited(id, { kernel, bytes, flops: estimate.flops });
  }

  #replay({ id, device, hostMs, kernels, recorded }: Events['replay']): void {
    // Its launches are told one by one otherwise.
    if (!recorded) return;
    const name =
      kernels.length > 1 ? `${kernels[0]} and ${kernels.length - 1} more, recorded` : (kernels[0] ?? 'nothing');
    const kernel = this.#kernel(device, name);
    kernel.count++;
    kernel.hostMs += hostMs;
    if (kernel.fresh++ === 0) this.#changed.push(kernel);
    this.launchMs.set(device, (this.launchMs.get(device) ?? 0) + hostMs);
    this.#awaited(id, { kernel, bytes: 0, flops: 0 });
  }

  /** A launch whose end is told by a span. */
  #awaited(id: number, launch: Pending): void {
    if (this.#timed.has(launch.kernel.device) && this.#pending.size < mostPending) this.#pending.set(id, launch);
  }

  #span({ device, start, end, ids }: Events['span']): void {
    const found = ids.map((id) => this.#pending.get(id)).filter((p) => p !== undefined);
    for (const id of ids) this.#pending.delete(id);
    this.spanMs.set(device, (this.spanMs.get(device) ?? 0) + end - start);
    const names = new Set(found.map((p) => p.kernel));
    const [kernel] = names;
    if (!kernel) return;
    this.#spans.push({ name: names.size > 1 ? `${ids.length} launches` : kernel.name, device, start, end });
    // Several different kernels that were measured together say nothing of each.
    if (names.size > 1) return;
    kernel.deviceMs += end - start;
    kernel.measured += found.length;
    for (const { bytes, flops } of found) {
      kernel.measuredBytes += bytes;
      kernel.measuredFlops += flops;
    }
  }

  #transfer(direction: TransferRow['direction'], { device, bytes, ms, pinned }: Events['upload']): void {
    const key = `${direction} ${device}`;
    let row = this.#transfers.get(key);
    if (!row) {
      row = { direction, device, count: 0, bytes: 0, ms: 0, pinnedBytes: 0, fresh: 0, freshBytes: 0 };
      this.#transfers.set(key, row);
    }
    row.count++;
    row.bytes += bytes;
    row.ms += ms;
    if (pinned) row.pinnedBytes += bytes;
    row.fresh++;
    row.freshBytes += bytes;
  }

  #learned({ op, device, predictedMs, ms }: Events['measured']): void {
    this.#measured.push({ time: Date.now(), op, device, predictedMs, ms });
    const key = `${op}\n${device}`;
    let row = this.durations.get(key);
    if (!row) {
      row = { op, device, counts: durationBuckets.map(() => 0), count: 0, sum: 0 };
      this.durations.set(key, row);
    }
    const seconds = ms / 1000;
    row.count++;
    row.sum += seconds;
    for (let i = 0; i < durationBuckets.length; i++) if (seconds <= durationBuckets[i]!) row.counts[i]!++;
  }

  #count(kind: Counted, device: string): void {
    let devices = this.#fresh.get(kind);
    if (!devices) {
      devices = new Map();
      this.#fresh.set(kind, devices);
    }
    devices.set(device, (devices.get(device) ?? 0) + 1);
  }

  #kernel(device: string, name: string): Kernel {
    let names = this.#kernels.get(device);
    if (!names) {
      names = new Map();
      this.#kernels.set(device, names);
    }
    const known = names.get(name);
    if (known) return known;
    // A program that makes new kernels for ever must not fill the memory with their names.
    if (this.#rows >= mostKernels && name !== others) return this.#kernel(device, others);
    const kernel: Kernel = {
      name,
      device,
      count: 0,
      hostMs: 0,
      deviceMs: 0,
      measured: 0,
      measuredBytes: 0,
      measuredFlops: 0,
      bytes: 0,
      flops: 0,
      fresh: 0,
    };
    names.set(name, kernel);
    this.#rows++;
    return kernel;
  }
}

const others = 'all other kernels';

function kernelRow(k: Kernel, roof: ReturnType<RoofOf>): KernelRow {
  const known = k.measured > 0 && k.deviceMs > 0;
  const bytesPerMs = known && k.measuredBytes > 0 ? k.measuredBytes / k.deviceMs : null;
  const flopsPerMs = known && k.measuredFlops > 0 ? k.measuredFlops / k.deviceMs : null;
  const shares = roof ? [(bytesPerMs ?? 0) / roof.bytes, (flopsPerMs ?? 0) / roof.flops] : [];
  return {
    name: k.name,
    device: k.device,
    count: k.count,
    hostMs: k.hostMs,
    deviceMs: known ? k.deviceMs : null,
    measured: k.measured,
    bytes: k.bytes,
    flops: k.flops,
    gbPerSecond: bytesPerMs === null ? null : bytesPerMs / 1e6,
    gflopPerSecond: flopsPerMs === null ? null : flopsPerMs / 1e6,
    roofline: shares.length > 0 && (bytesPerMs ?? flopsPerMs) !== null ? Math.max(...shares) : null,
  };
}
