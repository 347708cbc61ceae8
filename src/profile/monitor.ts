// What is told about work on a runtime: memory from the runtime's books, times from the timeline, utilisation from the device.
// Holds no figure of its own but the point up to which it has told; a figure that nobody measured is null.
//
// Times "since the previous call" are counted per reader: whoever asks by hand, the timer of `start`, and each `Reading`
// that a caller opened have a point of their own, so none takes times away from another.

import { takesNone } from '../base/signatures.ts';
import { type Device, DisposedError, type LeakReport, type Runtime } from '../index.ts';
import { AnomalyDetector } from './anomaly.ts';
import type { Clock } from './clock.ts';
import type { PerformanceLogger } from './logger.ts';
import type { MemoryUsage, MetricsInput, PerformanceMetrics } from './metrics.ts';
import type { Profiler } from './profiler.ts';
import type { TrackedFigures } from './profiler-options.ts';
import { attached } from './sources.ts';
import { sizeClass } from './statistics.ts';
import type { Timeline, Totals } from './timeline.ts';

/** One call of `trackOperation`. */
export interface OperationRecord {
  readonly name: string;
  readonly outcome: 'ok' | 'failed';
  readonly error?: unknown;
  /** Until the device was done. */
  readonly hostMs: number;
  /** Between two marks on the device's timeline; null where the device has no clock. */
  readonly deviceMs: number | null;
  readonly transferMs: number;
  readonly bytes: number;
  readonly device: string | null;
  /** Whether other tracked operations ran at the same time, so that times may be theirs too. */
  readonly concurrent: boolean;
}

export interface MonitorOptions {
  /** Tell anomalies through the event of that name. Default true. */
  readonly anomalies?: boolean | undefined;
  /** Records of operations that are kept. Default 1000. */
  readonly operations?: number | undefined;
}

/** A device of a runtime. */
export interface Monitored {
  readonly runtime: Runtime;
  readonly id: string;
  readonly kind: 'gpu' | 'cpu';
  /** Null while it is not there. */
  readonly device: Device | null;
}

/** What a monitor watches. */
export interface MonitorSource {
  readonly clock: Clock;
  /** @internal */
  readonly timeline: Timeline;
  /** The device in use; null if there is none. */
  readonly current: Monitored | null;
  /** Calls back when live memory grows without end. */
  onGrowth(listener: (report: LeakReport) => void): () => void;
  anomaly(found: { kind: string; message: string; value: number; baseline: number }): void;
  error(where: string, error: unknown): void;
}

/** Totals since the last call of `next`. */
export interface Reading {
  next(): { readonly computeTime: number; readonly transferTime: number; readonly interval: number };
}

const busyWindowMs = 1000;

export class Monitor {
  /** @internal */
  readonly timeline: Timeline;
  readonly logger: PerformanceLogger;
  readonly #source: MonitorSource;
  readonly #clock: Clock;
  readonly #anomalies: AnomalyDetector | null;
  readonly #metrics = new Set<(metrics: MetricsInput) => void>();
  readonly #operations: OperationRecord[] = [];
  readonly #keptOperations: number;
  readonly #stops: readonly (() => void)[];
  readonly #asked: Reading;
  readonly #sampled: Reading;
  #tracked = 0;
  #utilization: 'device' | 'timestamps' | null = null;
  #sampling: (() => void) | null = null;
  #disposed = false;

  protected constructor(source: MonitorSource, logger: PerformanceLogger, options: MonitorOptions) {
    this.#source = source;
    this.#clock = source.clock;
    this.timeline = source.timeline;
    this.logger = logger;
    this.#keptOperations = options.operations ?? 1000;
    this.#asked = this.reading();
    this.#sampled = this.reading();
    const anomalies =
      (options.anomalies ?? true)
        ? new AnomalyDetector(({ kind, message, value, baseline }) =>
            source.anomaly({ kind, message, value, baseline }),
          )
        : null;
    this.#anomalies = anomalies;
    this.#stops = anomalies
      ? [
          this.timeline.watch(({ name, device, bytes, ms, failed }) => {
            anomalies.outcome(failed);
            if (!failed) anomalies.latency(`${name} 2^${sizeClass(bytes)} B on ${device}`, ms);
          }),
          source.onGrowth((report) => anomalies.memory(report)),
        ]
      : [];
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Where the last reading of the utilisation came from. */
  get utilizationSource(): 'device' | 'timestamps' | null {
    return this.#utilization;
  }

  /** The newest records of `trackOperation`, oldest first. */
  get operations(): readonly OperationRecord[] {
    return this.#operations;
  }

  /** Tensors and bytes, from the runtime's own books. */
  getMemoryUsage(): MemoryUsage {
    this.#checkOpen('getMemoryUsage');
    const { current } = this.#source;
    if (!current) return { numTensors: 0, numBytes: 0, unreliable: false, reasons: [] };
    const { tensors, bytes } = current.runtime.stats();
    const reasons: string[] = [];
    if (current.kind === 'cpu')
      reasons.push('tensors up to about 4 KiB live on the JavaScript heap and are not counted');
    if (current.device?.caps.syncRead === false)
      reasons.push('the platform does not tell how much memory the GPU has in use');
    return { numTensors: tensors, numBytes: bytes, unreliable: reasons.length > 0, reasons };
  }

  /**
   * Runs a function, waits for the device, and returns the time in ms; with `{ result: true }` together with the function's
   * result. What fails is recorded too, and thrown on.
   */
  trackOperation<T>(name: string, fn: () => T | Promise<T>, options?: undefined): Promise<number>;
  trackOperation<T>(
    name: string,
    fn: () => T | Promise<T>,
    options: { readonly result: true },
  ): Promise<{ readonly result: T; readonly duration: number }>;
  async trackOperation<T>(
    name: string,
    fn: () => T | Promise<T>,
    options: { readonly result?: boolean } = {},
  ): Promise<number | { result: T; duration: number }> {
    this.#checkOpen('trackOperation');
    const { current } = this.#source;
    const profiler = current && attached.get(current.runtime);
    if (profiler) return this.#profiled(profiler, current.id, name, fn, options);
    let concurrent = this.#tracked++ > 0;
    const spans = { transferMs: 0, bytes: 0 };
    const off = this.timeline.onSpan((s) => {
      if (s.kind === 'compute') return;
      spans.transferMs += s.ms;
      spans.bytes += s.bytes;
    });
    const used = this.#source.current?.device ?? null;
    const before = used?.mark();
    const start = this.#clock.now();
    const finish = (outcome: 'ok' | 'failed', deviceMs: number | null, error?: unknown): number => {
      off();
      concurrent ||= --this.#tracked > 0;
      const hostMs = this.#clock.now() - start;
      const device = used?.id ?? this.#source.current?.id ?? null;
      const failure = error === undefined ? {} : { error };
      this.#operations.push({ name, outcome, hostMs, deviceMs, ...spans, device, concurrent, ...failure });
      if (this.#operations.length > this.#keptOperations) this.#operations.shift();
      return hostMs;
    };
    try {
      const result = await fn();
      let deviceMs: number | null = null;
      // A device selected, lost or reset on the way has no common timeline with the one before.
      if (used && used === this.#source.current?.device) {
        const after = used.mark();
        await after.whenDone();
        deviceMs = after.since(before!);
      }
      const duration = finish('ok', deviceMs);
      return options.result ? { result, duration } : duration;
    } catch (error) {
      finish('failed', null, error);
      throw error;
    }
  }

  /** The same by a profiler that listens to the runtime: then the figures are its, and there is one source of them. */
  async #profiled<T>(
    profiler: Profiler,
    device: string,
    name: string,
    fn: () => T | Promise<T>,
    options: { readonly result?: boolean },
  ): Promise<number | { result: T; duration: number }> {
    let concurrent = this.#tracked++ > 0;
    let duration = 0;
    const record = (outcome: Pick<OperationRecord, 'outcome' | 'error'>, f: TrackedFigures): void => {
      concurrent ||= --this.#tracked > 0;
      duration = f.hostMs;
      const { hostMs, deviceMs, transferMs, bytes } = f;
      this.#operations.push({ name, ...outcome, hostMs, deviceMs, transferMs, bytes, device, concurrent });
      if (this.#operations.length > this.#keptOperations) this.#operations.shift();
    };
    let figures: TrackedFigures | null = null;
    try {
      const result = await profiler.track(name, fn, (f) => (figures = f));
      record({ outcome: 'ok' }, figures!);
      return options.result ? { result, duration } : duration;
    } catch (error) {
      record({ outcome: 'failed', error }, { ...figures!, deviceMs: null });
      throw error;
    }
  }

  /**
   * Percent, 0 to 100: the device's own figure, else the share of the last second in which it was busy with our work by its
   * own timestamps, else null. `utilizationSource` tells which.
   */
  async getGPUUtilization(): Promise<number | null> {
    this.#checkOpen('getGPUUtilization');
    this.#utilization = null;
    const { current } = this.#source;
    if (current?.kind !== 'gpu') return null;
    const { utilization } = current.device?.telemetry?.() ?? {};
    if (utilization !== undefined) {
      this.#utilization = 'device';
      return 100 * utilization;
    }
    const busy = this.timeline.busy(current.id, busyWindowMs);
    if (busy === null) return null;
    this.#utilization = 'timestamps';
    return 100 * busy;
  }

  /** Totals of times from now on, for one reader. */
  reading(): Reading {
    const look = (): { totals: Totals; at: number } => ({ totals: this.timeline.totals(), at: this.#clock.now() });
    let told = look();
    return {
      next: takesNone('next', () => {
        const before = told;
        told = look();
        return {
          computeTime: told.totals.computeMs - before.totals.computeMs,
          transferTime: told.totals.transferMs - before.totals.transferMs,
          interval: told.at - before.at,
        };
      }),
    };
  }

  /** The record of now: memory and utilisation as they are, times since the previous call, or since those of a reading. */
  async getDetailedMetrics(since: Reading = this.#asked): Promise<PerformanceMetrics> {
    const gpuUtilization = await this.getGPUUtilization();
    const { computeTime, transferTime, interval } = since.next();
    const utilizationSource = this.#utilization;
    const memoryUsage = this.getMemoryUsage();
    return { memoryUsage, computeTime, transferTime, gpuUtilization, utilizationSource, interval };
  }

  /** Sends a record, detailed or a flat map of numbers, to the logger and to whoever listens. */
  logMetrics(metrics: MetricsInput): void {
    this.#checkOpen('logMetrics');
    this.logger.logMetrics(metrics);
    for (const listener of this.#metrics) {
      try {
        listener(metrics);
      } catch (error) {
        this.#source.error('listener of metrics', error);
      }
    }
  }

  onMetrics(listener: (metrics: MetricsInput) => void): () => void {
    this.#metrics.add(listener);
    return () => this.#metrics.delete(listener);
  }

  /** Tells the watch over anomalies about a request to a pool. */
  noteRequest(hit: boolean): void {
    this.#anomalies?.request(hit);
  }

  /** Logs a record every so often without keeping the process alive; what it returns, or `dispose`, ends it. */
  start(everyMs = 1000): () => void {
    this.#checkOpen('start');
    this.#sampling?.();
    const end = this.#clock.every(everyMs, () => {
      this.sample().catch((error) => this.#source.error('monitor', error));
    });
    this.#sampling = () => {
      end();
      this.#sampling = null;
    };
    return this.#sampling;
  }

  /** One record, logged; its times are those since the record before. */
  async sample(): Promise<PerformanceMetrics> {
    const metrics = await this.getDetailedMetrics(this.#sampled);
    this.logMetrics(metrics);
    return metrics;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#sampling?.();
    for (const stop of this.#stops) stop();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #checkOpen(operation: string): void {
    if (!this.#disposed) return;
    throw new DisposedError({
      message: `${operation}: the monitor was disposed`,
      where: operation,
      fix: 'Make a new one.',
    });
  }
}
