// What the studio knows: runtimes under watch, the newest events, the last minutes, alerts. It looks only while somebody looks at it:
// a page, a scraper of the metrics, a listener of alerts. Nothing here can fail the program, and nothing keeps its process alive.

import { Newest } from '../../base/newest.ts';
import { version } from '../../base/version.ts';
import type { GPUCompute } from '../../compute/index.ts';
import type { Runtime } from '../../index.ts';
import { type AlertRule, Alerts } from '../alerts.ts';
import {
  type Alert,
  type ComputeView,
  type EventEntry,
  type Sample,
  type StudioSnapshot,
  studioSchema,
} from '../types.ts';
import type { BatchWatch } from './batches.ts';
import type { FieldWatch } from './fields.ts';
import { healthOf } from './health.ts';
import { History, sampleEveryMs } from './history.ts';
import type { QueueWatch } from './queues.ts';
import { EventRing } from './ring.ts';
import { RuntimeWatch } from './runtime.ts';

export interface HubOptions {
  readonly name: string;
  readonly history: number;
  readonly alerts: readonly AlertRule[];
  readonly control: boolean;
  readonly compute?: GPUCompute | null | undefined;
  readonly batches?: readonly BatchWatch[] | undefined;
  readonly queues?: readonly QueueWatch[] | undefined;
  readonly fields?: readonly FieldWatch[] | undefined;
}

/** Somebody who looks. */
export interface Viewer {
  /** ms between two snapshots. */
  readonly everyMs: number;
  snapshot?(json: string): void;
  events?(json: string, seq: number): void;
}

/** Events are passed on this often: at most five messages a second, whatever happens. */
const flushMs = 200;
const mostPerMessage = 500;
/** Looking goes on for a while after the last viewer has gone: a page that is loaded again finds no gap. */
const lingerMs = 10_000;
const minute = 60_000;
const hour = 60 * minute;

export class Hub {
  readonly ring = new EventRing();
  readonly #options: HubOptions;
  readonly #watches: RuntimeWatch[] = [];
  readonly #batches: readonly BatchWatch[];
  readonly #queues: readonly QueueWatch[];
  readonly #fields: readonly FieldWatch[];
  readonly #history: History;
  readonly #alerts: Alerts;
  readonly #viewers = new Map<Viewer, { due: number }>();
  readonly #onAlert = new Set<(alert: Alert) => void>();
  readonly #anomalies = new Newest<ComputeView['anomalies'][number]>(100);
  readonly #anomalyTotals: Record<string, number> = {};
  readonly #stops: (() => void)[] = [];
  readonly #startedAt = Date.now();
  readonly #launches = new Newest<{ readonly time: number; readonly count: number }>(240);
  #timer: ReturnType<typeof setInterval> | null = null;
  #lastLook = Number.NEGATIVE_INFINITY;
  #lastSample = Number.NEGATIVE_INFINITY;
  #flushed = 0;
  #newest: StudioSnapshot | null = null;
  #closed = false;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#batches = options.batches ?? [];
    this.#queues = options.queues ?? [];
    this.#fields = options.fields ?? [];
    this.#history = new History(options.history);
    this.#alerts = new Alerts(options.alerts);
    for (const field of this.#fields)
      this.#stops.push(
        field.onSettings((text) =>
          this.ring.add({ kind: 'settings', level: 'info', runtime: options.name, device: null, text }),
        ),
      );
    const { compute } = options;
    if (compute)
      this.#stops.push(
        compute.on('anomaly', ({ kind, message }) => {
          this.#anomalies.push({ time: Date.now(), kind, text: message });
          this.#anomalyTotals[kind] = (this.#anomalyTotals[kind] ?? 0) + 1;
          this.ring.add({ kind: 'anomaly', level: 'warn', runtime: 'compute', device: null, text: message });
        }),
      );
  }

  get control(): boolean {
    return this.#options.control;
  }

  get watches(): readonly RuntimeWatch[] {
    return this.#watches;
  }

  get fields(): readonly FieldWatch[] {
    return this.#fields;
  }

  get history(): History {
    return this.#history;
  }

  /** How many pages look. */
  get clients(): number {
    return this.#viewers.size;
  }

  /** Whether anything is being collected at the moment. */
  get looking(): boolean {
    return this.#timer !== null;
  }

  add(runtime: Runtime, name: string): void {
    if (this.#closed || this.#watches.some((w) => w.runtime === runtime)) return;
    const taken = new Set(this.#watches.map((w) => w.name));
    let free = name;
    for (let i = 2; taken.has(free); i++) free = `${name} ${i}`;
    const watch = new RuntimeWatch(free, runtime, this.ring);
    this.#watches.push(watch);
    if (this.looking) watch.work.start();
  }

  /** Begins to look, for this viewer; returns what ends it. */
  view(viewer: Viewer): () => void {
    this.#viewers.set(viewer, { due: 0 });
    this.#wake();
    return () => {
      this.#viewers.delete(viewer);
      this.#lastLook = Date.now();
    };
  }

  /** Somebody asked once: look for a while. */
  glance(): this {
    this.#lastLook = Date.now();
    this.#wake();
    return this;
  }

  /** Hears alerts, and is a reason to look for them. */
  onAlert(listener: (alert: Alert) => void): () => void {
    const off = this.quietly(listener);
    const end = this.view({ everyMs: sampleEveryMs });
    return () => {
      off();
      end();
    };
  }

  /** Hears alerts that are found because somebody else looks. */
  quietly(listener: (alert: Alert) => void): () => void {
    this.#onAlert.add(listener);
    return () => void this.#onAlert.delete(listener);
  }

  async profile(on: boolean): Promise<void> {
    for (const w of this.#watches) if (w.closedAt === null) await w.work.profile(on);
  }

  snapshot(): StudioSnapshot {
    const now = Date.now();
    // Several who ask in the same moment are told the same.
    if (this.#newest && now - this.#newest.time < 100) return this.#newest;
    const looks = this.#watches.map((watch) => ({ watch, snapshot: watch.look() }));
    for (const { watch, snapshot } of looks) watch.measure(snapshot);
    const fields = this.#fields.map((f) => f.view(now));
    const sample: Sample = {
      time: now,
      runtimes: looks.map(({ watch, snapshot }) => watch.sample(snapshot)),
      ...(fields.length > 0 ? { fields: this.#fields.map((f, i) => f.sample(fields[i]!)) } : {}),
    };
    const runtimes = looks.map(({ watch, snapshot }) => watch.view(snapshot));
    const errors = (ms: number): number => this.#newer((w) => w.failures.list(), now - ms);
    const launches = this.#launchesWithin(
      looks.reduce((sum, l) => sum + l.snapshot.counters.launches, 0),
      now,
    );
    const errorsNow = errors(minute);
    const base = {
      schema: studioSchema,
      time: now,
      process: {
        pid: process.pid,
        name: this.#options.name,
        startedAt: this.#startedAt,
        gpuforge: version,
        node: process.versions.node,
      },
      control: this.#options.control,
      clients: this.#viewers.size,
      lastMinute: { errors: errorsNow, launches, errorShare: launches > 0 ? errorsNow / launches : null },
      lastHour: {
        anomalies: this.#anomalies.list().filter((a) => a.time > now - hour).length,
        recoveries: this.#newer((w) => w.recoveries.list().filter((r) => r.kind !== 'fallback'), now - hour),
        errors: errors(hour),
      },
      runtimes,
      compute: this.#compute(),
      batches: this.#batches.map((b) => b.view(now)),
      queues: this.#queues.map((q) => q.view(now)),
      fields,
      sample,
      seq: this.ring.seq,
    } as const;
    for (const alert of this.#alerts.look(base)) this.#tell(alert);
    const alerts = { active: this.#alerts.active, past: this.#alerts.past };
    this.#newest = { ...base, health: healthOf(runtimes), alerts };
    return this.#newest;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#rest();
    for (const stop of this.#stops) stop();
    for (const watch of this.#watches) watch.close();
    this.#viewers.clear();
    this.#onAlert.clear();
  }

  #newer(of: (w: RuntimeWatch) => readonly { readonly time: number }[], since: number): number {
    return this.#watches.reduce((sum, w) => sum + of(w).filter((e) => e.time > since).length, 0);
  }

  /** Launches of the last minute, as far as it was looked at. */
  #launchesWithin(total: number, now: number): number {
    const [last] = this.#launches.last(1);
    if (!last || now - last.time >= 500) this.#launches.push({ time: now, count: total });
    const first = this.#launches.list().find((l) => l.time >= now - minute);
    return total - (first?.count ?? total);
  }

  #compute(): ComputeView | null {
    const { compute } = this.#options;
    if (!compute || compute.disposed) return null;
    const { hits, misses, bytesHeld, bytesLent } = compute.pool.stats();
    const { totalBatchOps, totalItemsProcessed } = compute.batchCounts();
    return {
      device: compute.runtime ? (compute.devices.current?.id ?? null) : null,
      pool: { hits, misses, bytesHeld, bytesLent },
      batch: { chunks: totalBatchOps, items: totalItemsProcessed },
      anomalyTotals: { ...this.#anomalyTotals },
      anomalies: this.#anomalies.last(20),
    };
  }

  #tell(alert: Alert): void {
    const cleared = alert.clearedAt !== null;
    this.ring.add({
      kind: 'alert',
      level: cleared ? 'info' : alert.level,
      runtime: this.#options.name,
      device: null,
      text: `${cleared ? 'Cleared' : 'Alert'} ${alert.name}: ${alert.text}`,
    });
    for (const listener of this.#onAlert) {
      try {
        listener(alert);
      } catch {
        // A listener of the studio is no reason to stop watching.
      }
    }
  }

  #wake(): void {
    if (this.#timer || this.#closed) return;
    this.#history.fill(
      this.#watches.filter((w) => w.closedAt === null),
      Date.now(),
    );
    for (const watch of this.#watches) if (watch.closedAt === null) watch.work.start();
    for (const source of [...this.#batches, ...this.#fields]) source.start();
    this.#timer = setInterval(() => this.#tick(), flushMs);
    this.#timer.unref();
    this.#tick();
  }

  #rest(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    for (const watch of this.#watches) watch.rest();
    for (const source of [...this.#batches, ...this.#fields]) source.stop();
  }

  #tick(): void {
    try {
      const now = Date.now();
      if (this.#viewers.size === 0 && now - this.#lastLook > lingerMs) {
        this.#rest();
        return;
      }
      this.#sampleIfDue(now);
      this.#pass();
    } catch (error) {
      // Told once in the list of events; the program never hears of it.
      this.ring.merge({
        kind: 'studio',
        level: 'error',
        runtime: this.#options.name,
        device: null,
        text: `The studio itself failed: ${error instanceof Error ? error.message : String(error)}`,
      });
    }
  }

  #sampleIfDue(now: number): void {
    const due = [...this.#viewers].filter(([, state]) => now >= state.due);
    const sampling = now - this.#lastSample >= sampleEveryMs - flushMs / 2;
    if (due.length === 0 && !sampling) return;
    const snapshot = this.snapshot();
    if (sampling) {
      this.#lastSample = now;
      this.#history.push(snapshot.sample);
    }
    let json: string | null = null;
    for (const [viewer, state] of due) {
      state.due = now + viewer.everyMs - flushMs / 2;
      if (viewer.snapshot) viewer.snapshot((json ??= JSON.stringify(snapshot)));
    }
  }

  /** New events to all who want them. */
  #pass(): void {
    for (const watch of this.#watches) watch.work.drain(this.ring, watch.name);
    this.ring.settle();
    const { entries, skipped } = this.ring.after(this.#flushed, mostPerMessage);
    this.#flushed = this.ring.seq;
    if (entries.length === 0) return;
    let json: string | null = null;
    for (const viewer of this.#viewers.keys()) viewer.events?.((json ??= eventsJson(entries, skipped)), this.#flushed);
  }
}

export const eventsJson = (entries: readonly EventEntry[], skipped: number): string =>
  JSON.stringify({ entries, skipped });
