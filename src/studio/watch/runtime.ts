// One runtime under watch. What is rare and matters is listened to from the start and costs nothing until it happens; work is watched
// only while somebody looks (work.ts). Only reads: nothing here changes what the program does.

import { Newest } from '../../base/newest.ts';
import { amountOf } from '../../governor/routing/index.ts';
import type { CleanupReport, EventName, Holder, LeakReport, Runtime, RuntimeSnapshot } from '../../index.ts';
import type { Busy, DeviceSample, Measured, RuntimeView } from '../types.ts';
import type { EventRing } from './ring.ts';
import { notable, notableNames, type Told } from './words.ts';
import { WorkWatch } from './work.ts';

/** Walking all tensors for the largest ones takes time in proportion to their number. */
const holdersEveryMs = 5000;
/** Equal ones are shown together. */
const shownHolders = 50;
const shownReports = 20;
const shownWorst = 10;

export interface Failure {
  readonly time: number;
  readonly code: string;
  readonly device: string;
}

export interface Recovered {
  readonly time: number;
  readonly kind: string;
  readonly device: string;
}

/** Figures of the sample before, for rates. */
interface Before {
  readonly at: number;
  readonly launches: ReadonlyMap<string, number>;
  readonly launchMs: ReadonlyMap<string, number>;
  readonly spanMs: ReadonlyMap<string, number>;
}

export class RuntimeWatch {
  readonly name: string;
  readonly runtime: Runtime;
  readonly work: WorkWatch;
  /** The newest of each kind, for rates and alerts; totals are in `totals`. */
  readonly failures = new Newest<Failure>(1000);
  readonly recoveries = new Newest<Recovered>(1000);
  readonly totals = { errors: new Map<string, number>(), recoveries: new Map<string, number>() };
  closedAt: number | null = null;
  readonly #ring: EventRing;
  readonly #stops: (() => void)[];
  readonly #cleanups = new Newest<CleanupReport>(shownReports);
  readonly #leaks = new Newest<LeakReport>(shownReports);
  readonly #counts = { errors: 0, retries: 0, losses: 0, recoveries: 0, fallbacks: 0, leaks: 0 };
  readonly #spills = { count: 0, bytes: 0 };
  #holders: readonly Holder[] = [];
  #holdersAt = Number.NEGATIVE_INFINITY;
  #before: Before | null = null;
  #busy: readonly Busy[] = [];

  constructor(name: string, runtime: Runtime, ring: EventRing) {
    this.name = name;
    this.runtime = runtime;
    this.#ring = ring;
    this.work = new WorkWatch(runtime);
    this.#stops = [
      ...notableNames.map((kind) => runtime.on(kind, (event) => this.#tell(kind, (notable[kind] as Row)(event)))),
      runtime.on('lost', ({ device }) => this.#failed('DEVICE_LOST', device, 'losses')),
      runtime.on('retry', ({ code, device }) => this.#failed(code, device, 'retries')),
      runtime.on('error', ({ error }) => this.#failed(codeOf(error), 'host', 'errors')),
      runtime.on('reborn', ({ device }) => this.#recovered('reborn', device)),
      runtime.on('return', ({ device }) => this.#recovered('return', device)),
      runtime.on('fallback', ({ from }) => {
        this.#counts.fallbacks++;
        this.#recovered('fallback', from);
      }),
      runtime.on('cleanup', (report) => this.#cleanups.push(report)),
      runtime.on('growth', (report) => this.#leaks.push(report)),
      runtime.on('leak', () => this.#counts.leaks++),
      runtime.on('spill', ({ bytes }) => {
        this.#spills.count++;
        this.#spills.bytes += bytes;
      }),
    ];
  }

  /** The latest report of growth, ms since 1970. */
  get leakAt(): number | null {
    return this.#leaks.last(1)[0]?.timestamp ?? null;
  }

  close(): void {
    this.work.stop();
    for (const stop of this.#stops) stop();
  }

  look(): RuntimeSnapshot {
    const snapshot = this.runtime.snapshot();
    this.work.look(snapshot);
    if (snapshot.closed && this.closedAt === null) {
      this.closedAt = Date.now();
      this.work.stop();
      this.#ring.add({
        kind: 'closed',
        level: 'info',
        runtime: this.name,
        device: null,
        text: `${this.name} was closed.`,
      });
    }
    return snapshot;
  }

  /** Rates since the last call; the first has none. */
  measure(snapshot: RuntimeSnapshot): void {
    const { launchMs, spanMs, profiling, on } = this.work;
    const before = this.#before;
    const at = snapshot.clock;
    const ms = before ? at - before.at : 0;
    if (before && ms < 50) return;
    const share = (now: ReadonlyMap<string, number>, then: ReadonlyMap<string, number>, id: string): number =>
      Math.min(1, ((now.get(id) ?? 0) - (then.get(id) ?? 0)) / ms);
    this.#busy = snapshot.devices
      .filter((d) => d.health !== null)
      .map(({ id, telemetry, software, launches, clockErrorUs }): Busy => {
        const base = {
          device: id,
          launchesPerSecond: before ? (1000 * (launches - (before.launches.get(id) ?? 0))) / ms : null,
        };
        if (telemetry?.utilization != null) return { ...base, share: telemetry.utilization, source: 'device' };
        if (before && profiling && clockErrorUs !== null)
          return { ...base, share: share(spanMs, before.spanMs, id), source: 'spans' };
        if (before && on && software)
          return { ...base, share: share(launchMs, before.launchMs, id), source: 'launches' };
        return { ...base, share: null, source: null };
      });
    const launches = new Map(snapshot.devices.map((d) => [d.id, d.launches]));
    this.#before = { at, launches, launchMs: new Map(launchMs), spanMs: new Map(spanMs) };
  }

  /** Nobody looks any more: what comes later has no rate. */
  rest(): void {
    this.work.stop();
    this.#before = null;
    this.#busy = [];
  }

  sample({ devices, memory }: RuntimeSnapshot): { name: string; spilled: number; devices: DeviceSample[] } {
    const of = memory.places.map((p): DeviceSample => {
      const telemetry = devices.find((d) => d.id === p.device)?.telemetry ?? null;
      const busy = this.#busy.find((b) => b.device === p.device);
      return {
        id: p.device,
        live: p.live,
        reserved: p.reserved,
        others: p.others,
        total: p.total,
        used: p.utilization,
        busy: busy?.share ?? null,
        temperature: telemetry?.temperature ?? null,
        power: telemetry?.power ?? null,
        clock: telemetry?.clocks.sm ?? telemetry?.clocks.graphics ?? null,
        launches: busy?.launchesPerSecond ?? null,
      };
    });
    return { name: this.name, spilled: memory.spilled, devices: of };
  }

  view(snapshot: RuntimeSnapshot): RuntimeView {
    const { levels, cleanupAt } = this.runtime.memory.settings;
    const { routing } = this.runtime;
    const measured = this.work.measured();
    return {
      name: this.name,
      closedAt: this.closedAt,
      snapshot,
      busy: this.#busy,
      queue: this.work.queue,
      memory: {
        levels,
        cleanupAt,
        holders: this.#largest(snapshot.closed),
        leaks: this.#leaks.last(shownReports),
        cleanups: this.#cleanups.last(shownReports),
        spills: this.#spills.count,
        spilledBytes: this.#spills.bytes,
      },
      work: {
        since: this.work.since,
        profiling: this.work.profiling,
        kernels: this.work.kernels((id) => this.#roof(id)),
        transfers: this.work.transfers(),
        compiles: { ...this.work.compiles },
        spans: this.work.spans(),
      },
      routing: {
        measured,
        worst: [...measured].sort((a, b) => farOff(b) - farOff(a)).slice(0, shownWorst),
        calibrated: snapshot.devices.flatMap(({ id }) => {
          const profile = routing.profile(id);
          return profile ? [{ device: id, tookMs: profile.tookMs }] : [];
        }),
        operations: [...new Set(snapshot.routing.decisions.map((d) => d.op))],
      },
      counts: { ...this.#counts },
    };
  }

  #largest(closed: boolean): readonly Holder[] {
    if (closed) return [];
    const now = Date.now();
    if (now - this.#holdersAt >= holdersEveryMs) {
      this.#holders = this.runtime.memory.holders(shownHolders);
      this.#holdersAt = now;
    }
    return this.#holders;
  }

  /** The best rates that calibration saw, per ms. */
  #roof(device: string): { readonly bytes: number; readonly flops: number } | null {
    const profile = this.runtime.routing.profile(device);
    if (!profile) return null;
    const roof = { bytes: 0, flops: 0 };
    for (const [cls, { x, y }] of Object.entries(profile.classes)) {
      const counts = amountOf[cls as keyof typeof amountOf];
      const rate = x.length > 0 ? (1000 * x[x.length - 1]!) / y[y.length - 1]! : 0;
      roof[counts] = Math.max(roof[counts], rate);
    }
    return roof.bytes > 0 && roof.flops > 0 ? roof : null;
  }

  #tell(kind: EventName, { level, device, text }: Told): void {
    const draft = { kind, level, runtime: this.name, device, text };
    // Spills and leaks come in crowds.
    if (kind === 'spill' || kind === 'leak' || kind === 'retry') this.#ring.merge(draft);
    else this.#ring.add(draft);
  }

  #failed(code: string, device: string, count: 'errors' | 'retries' | 'losses'): void {
    this.#counts[count]++;
    this.failures.push({ time: Date.now(), code, device });
    add(this.totals.errors, `${code}\n${device}`);
  }

  #recovered(kind: string, device: string): void {
    if (kind !== 'fallback') this.#counts.recoveries++;
    this.recoveries.push({ time: Date.now(), kind, device });
    add(this.totals.recoveries, `${kind}\n${device}`);
  }
}

type Row = (event: unknown) => Told;

const add = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);

/** How far prediction and measurement are apart, either way. */
const farOff = ({ predictedMs, ms }: Measured): number => Math.abs(Math.log(ms / predictedMs));

const codeOf = (error: unknown): string => {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'Error';
};
