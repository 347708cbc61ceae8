// What the facade tells about itself: memory from the runtime's books, times from the timeline, utilisation from the device.
// Holds no figure of its own but the point up to which it has told; a figure that nobody measured is null.

import { AnomalyDetector } from './anomaly.ts';
import type { Clock } from './clock.ts';
import { DeviceManager } from './device-manager.ts';
import { DisposedError } from './errors.ts';
import { type MetricsInput, PerformanceLogger } from './logger.ts';
import { Shared } from './shared.ts';
import { sizeClass } from './statistics.ts';
import { Timeline, type Totals } from './timeline.ts';
import type { MemoryUsage, PerformanceMetrics } from './types.ts';

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

export interface MonitorDeps extends MonitorOptions {
  readonly devices?: DeviceManager | undefined;
  readonly logger?: PerformanceLogger | undefined;
}

const busyWindowMs = 1000;

const shared = new Shared<PerformanceMonitor, MonitorOptions>('PerformanceMonitor', (options) =>
  PerformanceMonitor.create({
    ...options,
    devices: DeviceManager.getInstance(),
    logger: PerformanceLogger.getInstance(),
  }),
);

export class PerformanceMonitor {
  readonly timeline: Timeline;
  readonly logger: PerformanceLogger;
  readonly #devices: DeviceManager;
  readonly #clock: Clock;
  readonly #anomalies: AnomalyDetector | null;
  readonly #metrics = new Set<(metrics: MetricsInput) => void>();
  readonly #operations: OperationRecord[] = [];
  readonly #keptOperations: number;
  readonly #stop: () => void;
  #told: { readonly totals: Totals; readonly at: number };
  #tracked = 0;
  #source: 'device' | 'timestamps' | null = null;
  #sampling: (() => void) | null = null;
  #disposed = false;

  static getInstance(options?: MonitorOptions): PerformanceMonitor {
    return shared.get(options);
  }

  static create(deps: MonitorDeps = {}): PerformanceMonitor {
    return new PerformanceMonitor(deps);
  }

  private constructor(deps: MonitorDeps) {
    this.#devices = deps.devices ?? DeviceManager.getInstance();
    this.#clock = this.#devices.clock;
    this.timeline = new Timeline(this.#clock);
    this.logger = deps.logger ?? PerformanceLogger.create({ clock: this.#clock });
    this.#keptOperations = deps.operations ?? 1000;
    this.#told = { totals: this.timeline.totals(), at: this.#clock.now() };
    const { signals } = this.#devices;
    const anomalies =
      (deps.anomalies ?? true)
        ? new AnomalyDetector(({ kind, message, value, baseline }) =>
            signals.emit('anomaly', { kind, message, value, baseline }),
          )
        : null;
    this.#anomalies = anomalies;
    this.#stop = anomalies
      ? this.timeline.watch(({ name, device, bytes, ms, failed }) => {
          anomalies.outcome(failed);
          if (!failed) anomalies.latency(`${name} 2^${sizeClass(bytes)} B on ${device}`, ms);
        })
      : () => {};
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Where the last reading of the utilisation came from. */
  get utilizationSource(): 'device' | 'timestamps' | null {
    return this.#source;
  }

  /** The newest records of `trackOperation`, oldest first. */
  get operations(): readonly OperationRecord[] {
    return this.#operations;
  }

  /** Tensors and bytes, from the runtime's own books. */
  getMemoryUsage(): MemoryUsage {
    this.#checkOpen('getMemoryUsage');
    const { station } = this.#devices;
    if (!station) return { numTensors: 0, numBytes: 0, unreliable: false, reasons: [] };
    const { tensors, bytes } = station.runtime.stats();
    const reasons: string[] = [];
    if (station.kind === 'cpu')
      reasons.push('tensors up to about 4 KiB live on the JavaScript heap and are not counted');
    if (!station.device.caps.syncRead) reasons.push('the platform does not tell how much memory the GPU has in use');
    return { numTensors: tensors, numBytes: bytes, unreliable: reasons.length > 0, reasons };
  }

  /**
   * Runs a function, waits for the device, and returns the time in ms; with `{ result: true }` together with the function's
   * result. What fails is recorded too, and thrown on.
   */
  trackOperation<T>(name: string, fn: () => T | Promise<T>): Promise<number>;
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
    let concurrent = this.#tracked++ > 0;
    const spans = { transferMs: 0, bytes: 0 };
    const off = this.timeline.onSpan((s) => {
      if (s.kind === 'compute') return;
      spans.transferMs += s.ms;
      spans.bytes += s.bytes;
    });
    const station = this.#devices.current;
    const before = station?.device.mark();
    const start = this.#clock.now();
    const finish = (outcome: 'ok' | 'failed', deviceMs: number | null, error?: unknown): number => {
      off();
      concurrent ||= --this.#tracked > 0;
      const hostMs = this.#clock.now() - start;
      const device = station?.id ?? this.#devices.getActiveDevice();
      this.#operations.push({
        name,
        outcome,
        hostMs,
        deviceMs,
        ...spans,
        device,
        concurrent,
        ...(error === undefined ? {} : { error }),
      });
      if (this.#operations.length > this.#keptOperations) this.#operations.shift();
      return hostMs;
    };
    try {
      const result = await fn();
      let deviceMs: number | null = null;
      // A device selected, lost or reset on the way has no common timeline with the one before.
      if (station?.alive && !station.rebirth && station === this.#devices.station) {
        const after = station.device.mark();
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

  /**
   * Percent, 0 to 100: the device's own figure, else the share of the last second in which it was busy with our work by its
   * own timestamps, else null. `utilizationSource` tells which.
   */
  async getGPUUtilization(): Promise<number | null> {
    this.#checkOpen('getGPUUtilization');
    this.#source = null;
    const { station } = this.#devices;
    if (station?.kind !== 'gpu' || station.rebirth) return null;
    const { utilization } = station.device.telemetry?.() ?? {};
    if (utilization !== undefined) {
      this.#source = 'device';
      return 100 * utilization;
    }
    const busy = this.timeline.busy(station.id, busyWindowMs);
    if (busy === null) return null;
    this.#source = 'timestamps';
    return 100 * busy;
  }

  /** The record of now: memory and utilisation as they are, times since the previous call. */
  async getDetailedMetrics(): Promise<PerformanceMetrics> {
    const gpuUtilization = await this.getGPUUtilization();
    const totals = this.timeline.totals();
    const { totals: before, at } = this.#told;
    const now = this.#clock.now();
    this.#told = { totals, at: now };
    return {
      memoryUsage: this.getMemoryUsage(),
      computeTime: totals.computeMs - before.computeMs,
      transferTime: totals.transferMs - before.transferMs,
      gpuUtilization,
      utilizationSource: this.#source,
      interval: now - at,
    };
  }

  /** Sends a record, detailed or a flat map of numbers, to the logger and to whoever listens. */
  logMetrics(metrics: MetricsInput): void {
    this.#checkOpen('logMetrics');
    this.logger.logMetrics(metrics);
    for (const listener of this.#metrics) {
      try {
        listener(metrics);
      } catch (error) {
        this.#devices.signals.emit('error', { source: 'listener of metrics', error });
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

  /** Logs a record every so often, and watches memory, without keeping the process alive; `stop` or `dispose` ends it. */
  start(everyMs = 1000): () => void {
    this.#checkOpen('start');
    this.#sampling?.();
    const end = this.#clock.every(everyMs, () => {
      this.sample().catch((error) => this.#devices.signals.emit('error', { source: 'monitor', error }));
    });
    this.#sampling = () => {
      end();
      this.#sampling = null;
    };
    return this.#sampling;
  }

  /** One record, logged. */
  async sample(): Promise<PerformanceMetrics> {
    const metrics = await this.getDetailedMetrics();
    this.#anomalies?.memory(this.#clock.now(), metrics.memoryUsage.numBytes);
    this.logMetrics(metrics);
    return metrics;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#sampling?.();
    this.#stop();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #checkOpen(operation: string): void {
    if (!this.#disposed) return;
    throw new DisposedError({ message: `${operation}: the monitor was disposed`, operation, hint: 'Make a new one.' });
  }
}
