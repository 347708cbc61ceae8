// The memory monitor of a runtime: how full each device is, who is told, and when memory is cleaned up by itself.
//
// It only reads figures and calls the clean-up steps it was given. Samples are taken by a timer, when allocations have
// used up half of the room to the next limit (`noticed`), and on request. While callbacks of a sample run, further
// samples are recorded and nothing more: no trigger recurses, whatever a callback does.

import { Callbacks, type Report } from '../../base/callbacks.ts';
import { Newest } from '../../base/newest.ts';
import type { DeviceId } from '../../devices/device.ts';
import { ArgumentError } from '../../errors.ts';
import { Cleaner, type CleanupReport } from './cleanup.ts';
import { wholeOf } from './figures.ts';
import { largestHolders } from './holders.ts';
import { LeakDetector, type LeakReport } from './leaks.ts';
import { type PressureLevel, pressureLevels } from './levels.ts';
import { type MemorySettings, memorySettings } from './options.ts';
import { type MemorySnapshot, takeSnapshot } from './snapshot.ts';
import { type Counters, describeStats, type MemoryStats, type TorchStats, torchStats } from './stats.ts';
import {
  type Holder,
  type MemoryView,
  MiB,
  type Noticed,
  type PlaceFigures,
  type Rung,
  systemClock,
  type TickClock,
} from './view.ts';

export interface PressureEvent {
  readonly device: DeviceId;
  readonly from: PressureLevel;
  readonly to: PressureLevel;
  readonly snapshot: MemorySnapshot;
}

export interface MonitorParts {
  readonly clock?: TickClock | undefined;
  /** Told of exceptions in callbacks and clean-up steps. */
  readonly onError?: Report | undefined;
}

/** What is kept about one device. */
interface Watch extends Counters {
  level: PressureLevel;
  readonly history: Newest<MemorySnapshot>;
  readonly leaks: LeakDetector | null;
  peakAllocated: number;
  peakReserved: number;
  utilizationSum: number;
  samples: number;
  base: { readonly allocations: number; readonly releases: number; readonly failures: number };
  cleanedAt: number;
  /** Utilisation after a clean-up that did not bring it below the limit, else null. */
  stuckAt: number | null;
  /** What was idle after the last clean-up: it could not be given back. */
  leftBytes: number;
}

const historyLength = 1000;
const leakReportsKept = 100;
/** Automatic clean-ups of a device are this far apart, unless the level is critical. */
const cleanupEveryMs = 1000;

export class MemoryMonitor {
  readonly settings: MemorySettings;
  readonly #view: MemoryView;
  readonly #clock: TickClock;
  readonly #onError: Report;
  readonly #cleaner: Cleaner;
  readonly #watches = new Map<DeviceId, Watch>();
  /** By place index: bytes in use at which an allocation is worth a sample. */
  readonly #due: number[] = [];
  readonly #onPressure: ReadonlyMap<PressureLevel | 'any', Callbacks<PressureEvent>>;
  readonly #onCleanup: Callbacks<CleanupReport>;
  readonly #onLeak: Callbacks<LeakReport>;
  readonly #cleanupCallbacks: Callbacks<DeviceId>;
  #stopTimer: (() => void) | null = null;
  #notifying = false;
  #cleanups = 0;
  #lastCleanupTime: number | null = null;
  #pressureEvents = noEvents();
  #leakReports: LeakReport[] = [];

  constructor(view: MemoryView, settings: MemorySettings = memorySettings(), parts: MonitorParts = {}) {
    this.settings = settings;
    this.#view = view;
    this.#clock = parts.clock ?? systemClock;
    this.#onError = parts.onError ?? (() => {});
    this.#cleaner = new Cleaner((id) => this.#figures(id), this.#clock, this.#onError);
    const list = <T>(name: string): Callbacks<T> => new Callbacks<T>(`memory.${name}`, this.#onError);
    this.#onPressure = new Map(([...pressureLevels, 'any'] as const).map((level) => [level, list('onPressure')]));
    this.#onCleanup = list('onCleanup');
    this.#onLeak = list('onLeak');
    this.#cleanupCallbacks = list('registerCleanupCallback');
    if (settings.sampleMs !== null) this.#stopTimer = this.#clock.every(settings.sampleMs, () => this.#tick());
  }

  /** @internal Stops sampling. Figures can still be asked for. */
  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
    this.#due.fill(Number.POSITIVE_INFINITY);
  }

  /**
   * How a device's memory stands now; the runtime's first device if none is named. Records nothing.
   * @example rt.memory.snapshot().deviceId.length > 0 // → true
   */
  snapshot(device?: DeviceId): MemorySnapshot {
    return this.#snapshotOf(this.#figures(device));
  }

  /** Of all devices, in the runtime's order. */
  snapshots(): MemorySnapshot[] {
    return this.#view.places().map((p) => this.#snapshotOf(p));
  }

  /**
   * Samples every device: keeps the snapshots, updates peaks, tells of level changes and leaks, cleans up if that is due.
   * Returns the snapshot of the named or first device as it was taken.
   */
  recordSnapshot(device?: DeviceId): MemorySnapshot {
    const places = this.#view.places();
    const at = device === undefined ? 0 : places.findIndex((p) => p.id === device);
    const taken = places.map((figures, index) => this.#record(figures, index));
    return taken[at] ?? this.snapshot(device);
  }

  /** Recorded snapshots, oldest first: the last `count`, of at most 1,000 per device. */
  getSnapshotHistory(count?: number, device?: DeviceId): MemorySnapshot[] {
    return this.#watch(this.#figures(device)).history.list(count);
  }

  /** @internal For the engine, after each allocation: costs a comparison unless a sample is due. */
  noticed(place: Noticed): void {
    if (place.inUse < this.#due[place.index]!) return;
    this.#sample(place.index);
  }

  /** Calls back when a device enters a level, or any level. Returns what ends it. */
  onPressure(level: PressureLevel | 'any', callback: (event: PressureEvent) => void): () => void {
    const list = this.#onPressure.get(level);
    if (list) return list.add(callback);
    throw new ArgumentError({
      code: 'BAD_LEVEL',
      message: `memory.onPressure: there is no level '${String(level)}'`,
      fix: `Levels are ${pressureLevels.join(', ')}, and 'any'.`,
      where: 'memory.onPressure',
    });
  }

  /** Calls back after each clean-up. */
  onCleanup(callback: (report: CleanupReport) => void): () => void {
    return this.#onCleanup.add(callback);
  }

  /** Calls back when live memory grows without end. */
  onLeak(callback: (report: LeakReport) => void): () => void {
    return this.#onLeak.add(callback);
  }

  /** Runs first in every clean-up: the place to drop caches of your own. */
  registerCleanupCallback(callback: (device: DeviceId) => void): () => void {
    return this.#cleanupCallbacks.add(callback);
  }

  /**
   * Gives back what is held only for reuse: your callbacks, caches, unreferenced tensors, idle blocks, in this order.
   * Within a clean-up that is running it does nothing, and says so: `freedMb` is 0 and there are no steps.
   */
  cleanupMemory(device?: DeviceId): CleanupReport {
    return this.#clean(this.#figures(device).id, 'request');
  }

  /** Whether so much can be had, with a margin of a tenth unless another is given. */
  canAllocate(sizeMb: number, margin = 0.1, device?: DeviceId): boolean {
    const { availableMb } = this.snapshot(device);
    return availableMb === null || availableMb >= sizeMb * (1 + margin);
  }

  isLowMemory(limitMb = 500, device?: DeviceId): boolean {
    const { availableMb } = this.snapshot(device);
    return availableMb !== null && availableMb < limitMb;
  }

  /**
   * The largest live tensors, largest first: where they are, how large, and the line that made each if that is recorded.
   * @example rt.memory.holders(3).length <= 3 // → true
   */
  holders(count = 5, device?: DeviceId): Holder[] {
    return largestHolders(this.#view.holders(), count, device);
  }

  /**
   * Peaks, counts and events since the start or the last `resetStats`.
   * @example rt.memory.stats().allocationFailures // → 0
   */
  stats(device?: DeviceId): MemoryStats {
    const figures = this.#figures(device);
    return describeStats(this.#snapshotOf(figures), figures, this.#watch(figures), {
      cleanups: this.#cleanups,
      lastCleanupTime: this.#lastCleanupTime,
      pressureEvents: { ...this.#pressureEvents },
      leakReports: [...this.#leakReports],
    });
  }

  /** The counters under the names that `torch.cuda.memory_stats` has for them, as far as they exist here. */
  memoryStats(device?: DeviceId): TorchStats {
    const figures = this.#figures(device);
    return torchStats(figures, this.#watch(figures));
  }

  /** Counts start anew; the level a device is at, and its history, stay. */
  resetStats(): void {
    this.#cleanups = 0;
    this.#lastCleanupTime = null;
    this.#pressureEvents = noEvents();
    this.#leakReports = [];
    this.#view.resetPeaks?.();
    for (const figures of this.#view.places()) {
      const watch = this.#watch(figures);
      watch.peakAllocated = figures.inUse;
      watch.peakReserved = figures.reserved;
      watch.utilizationSum = 0;
      watch.samples = 0;
      watch.base = { allocations: figures.allocations, releases: figures.releases, failures: figures.failures };
    }
  }

  /** The timer must never throw into the event loop. */
  #tick(): void {
    try {
      this.#view.places().forEach((figures, index) => {
        this.#record(figures, index);
      });
    } catch (error) {
      this.#onError(error, 'memory monitor');
    }
  }

  /** From an allocation, which an error here must not fail. */
  #sample(index: number): void {
    try {
      this.#view.places().forEach((figures, i) => {
        // Where devices share a budget, what one takes the others miss.
        if (i === index || figures.shared) this.#record(figures, i);
      });
    } catch (error) {
      this.#due[index] = Number.POSITIVE_INFINITY;
      this.#onError(error, 'memory monitor');
    }
  }

  #record(figures: PlaceFigures, index: number): MemorySnapshot {
    const watch = this.#watch(figures);
    const snapshot = this.#snapshotOf(figures);
    watch.history.push(snapshot);
    watch.samples++;
    watch.utilizationSum += snapshot.utilization;
    watch.peakAllocated = Math.max(watch.peakAllocated, figures.inUse);
    watch.peakReserved = Math.max(watch.peakReserved, figures.reserved);
    this.#due[index] = figures.inUse + this.#roomToNextLimit(figures, snapshot.utilization);
    if (this.#notifying) return snapshot;
    this.#notifying = true;
    try {
      this.#changeLevel(watch, snapshot);
      this.#checkLeaks(watch, figures, snapshot);
      if (this.#cleanupDue(watch, figures, snapshot)) this.#clean(figures.id, 'pressure');
    } finally {
      this.#notifying = false;
    }
    return snapshot;
  }

  /** Bytes until half of the room to the next limit is gone; at least 1/256 of the whole. */
  #roomToNextLimit(figures: PlaceFigures, utilization: number): number {
    const whole = wholeOf(figures);
    if (whole === null) return Number.POSITIVE_INFINITY;
    const { levels, cleanupAt } = this.settings;
    let next = 100;
    for (const limit of [levels.moderate, levels.high, levels.critical, cleanupAt ?? 100])
      if (limit > utilization && limit < next) next = limit;
    return Math.max(((next - utilization) / 200) * whole, whole / 256);
  }

  #changeLevel(watch: Watch, snapshot: MemorySnapshot): void {
    const from = watch.level;
    const to = snapshot.pressure;
    if (from === to) return;
    watch.level = to;
    this.#pressureEvents[to]++;
    const event: PressureEvent = { device: snapshot.deviceId, from, to, snapshot };
    this.#onPressure.get(to)!.run(event);
    this.#onPressure.get('any')!.run(event);
  }

  #checkLeaks(watch: Watch, figures: PlaceFigures, snapshot: MemorySnapshot): void {
    const room = snapshot.availableMb === null ? null : snapshot.availableMb * MiB;
    const report = watch.leaks?.sample(snapshot.timestamp, figures.inUse, () => this.#view.holders(), room);
    if (!report) return;
    this.#leakReports.push(report);
    if (this.#leakReports.length > leakReportsKept) this.#leakReports.shift();
    this.#onLeak.run(report);
  }

  /**
   * Once a second at most, or at once if memory is critical and what became idle would bring it below the limit. Where it
   * would not, a load that lives at its limit must not pay for one clean-up after the other: then there must also be
   * something to give, or more in use than the last time.
   */
  #cleanupDue(watch: Watch, figures: PlaceFigures, { utilization, pressure, timestamp }: MemorySnapshot): boolean {
    const { cleanupAt } = this.settings;
    if (cleanupAt === null || this.#cleaner.running) return false;
    if (utilization < cleanupAt) {
      watch.stuckAt = null;
      return false;
    }
    const rested = Math.abs(timestamp - watch.cleanedAt) >= cleanupEveryMs;
    const fresh = Math.max(0, figures.reclaimable - watch.leftBytes);
    const idle = (fresh / (wholeOf(figures) ?? Number.POSITIVE_INFINITY)) * 100;
    if (utilization - idle < cleanupAt) return rested || pressure === 'critical';
    return rested && (watch.stuckAt === null || idle > 0 || utilization >= watch.stuckAt + 1);
  }

  #clean(device: DeviceId, trigger: CleanupReport['trigger']): CleanupReport {
    return this.#cleaner.run(device, trigger, this.#rungs(), (report) => this.#cleaned(report));
  }

  /** The user's callbacks come first. */
  *#rungs(): Generator<Rung> {
    if (this.#cleanupCallbacks.size > 0) yield { name: 'callbacks', run: (id) => this.#cleanupCallbacks.run(id) };
    yield* this.#view.rungs;
  }

  #cleaned(report: CleanupReport): void {
    this.#cleanups++;
    this.#lastCleanupTime = report.timestamp;
    const figures = this.#figures(report.device);
    const watch = this.#watch(figures);
    watch.cleanedAt = report.timestamp;
    const stuck = report.afterUtil >= (this.settings.cleanupAt ?? 100);
    watch.stuckAt = stuck ? report.afterUtil : null;
    watch.leftBytes = figures.reclaimable;
    // Measured again: the level may have fallen.
    const snapshot = this.#snapshotOf(figures);
    const index = this.#view.places().findIndex((p) => p.id === report.device);
    this.#due[index] = figures.inUse + this.#roomToNextLimit(figures, snapshot.utilization);
    const outer = this.#notifying;
    this.#notifying = true;
    try {
      this.#changeLevel(watch, snapshot);
      this.#onCleanup.run(report);
    } finally {
      this.#notifying = outer;
    }
  }

  #snapshotOf(figures: PlaceFigures): MemorySnapshot {
    const watch = this.#watches.get(figures.id);
    const { levels } = this.settings;
    const { bytes } = this.#view.hostSpilled();
    return takeSnapshot(figures, this.#clock.now(), levels, watch?.level ?? null, bytes, watch?.leftBytes ?? 0);
  }

  #figures(device: DeviceId | undefined): PlaceFigures {
    const places = this.#view.places();
    const found = device === undefined ? places[0] : places.find((p) => p.id === device);
    if (found) return found;
    throw new ArgumentError({
      code: 'UNKNOWN_DEVICE',
      message: `memory: ${device === undefined ? 'no device is open' : `'${device}' is not open`}`,
      fix: `Open devices are ${places.map((p) => p.id).join(', ') || 'none'}.`,
      where: 'memory',
    });
  }

  #watch(figures: PlaceFigures): Watch {
    let watch = this.#watches.get(figures.id);
    if (!watch) {
      const { leaks } = this.settings;
      watch = {
        level: 'low',
        history: new Newest(historyLength),
        leaks: leaks && new LeakDetector(figures.id, leaks),
        peakAllocated: figures.inUse,
        peakReserved: figures.reserved,
        utilizationSum: 0,
        samples: 0,
        base: { allocations: 0, releases: 0, failures: 0 },
        cleanedAt: Number.NEGATIVE_INFINITY,
        stuckAt: null,
        leftBytes: 0,
      };
      this.#watches.set(figures.id, watch);
    }
    return watch;
  }
}

const noEvents = (): Record<PressureLevel, number> => ({ low: 0, moderate: 0, high: 0, critical: 0 });
