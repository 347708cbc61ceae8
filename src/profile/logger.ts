// The newest 1000 metric records and what they come to: means, medians, percentiles, extremes per numeric field.

import { notMade } from '../base/arguments.ts';
import { layerKinds } from '../base/layer-kinds.ts';
import { checkMethods } from '../base/signatures.ts';
import { type Clock, systemClock } from './clock.ts';
import { type MetricsInput, metricsKind } from './metrics.ts';
import { Shared } from './shared.ts';
import { distribution } from './statistics.ts';

export interface LoggedRecord {
  /** Monotonic, in ms. */
  readonly at: number;
  /** Wall clock, in ms since 1970. */
  readonly wall: number;
  readonly unreliable: boolean;
  /** Numeric fields; those of `memoryUsage` with a dot: `memoryUsage.numBytes`. */
  readonly fields: Readonly<Record<string, number>>;
}

export interface FieldSummary {
  readonly count: number;
  readonly mean: number;
  readonly median: number;
  readonly p95: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
}

export interface Averages {
  /** The mean of every field over the records that have it. */
  readonly means: Readonly<Record<string, number>>;
  readonly fields: Readonly<Record<string, FieldSummary>>;
  /** True if any record was. */
  readonly unreliable: boolean;
  readonly records: number;
}

export interface LoggerOptions {
  /** Records kept. Default 1000. */
  readonly capacity?: number | undefined;
}

export interface LoggerDeps extends LoggerOptions {
  readonly clock?: Clock | undefined;
}

const shared = new Shared<PerformanceLogger, LoggerOptions>('PerformanceLogger', (options) =>
  PerformanceLogger.create(options),
);

export class PerformanceLogger {
  readonly #clock: Clock;
  readonly #capacity: number;
  #ring: LoggedRecord[] = [];
  #next = 0;
  #disposed = false;

  static getInstance(options?: LoggerOptions): PerformanceLogger {
    return shared.get(options);
  }

  static create(deps: LoggerDeps = {}): PerformanceLogger {
    return new PerformanceLogger(deps);
  }

  private constructor(deps: LoggerDeps = notMade('PerformanceLogger', 'PerformanceLogger.create()')) {
    this.#clock = deps.clock ?? systemClock;
    this.#capacity = deps.capacity ?? 1000;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  get size(): number {
    return this.#ring.length;
  }

  /**
   * Adds a record; the oldest goes when there are 1000.
   * @example
   * ```ts
   * import { PerformanceLogger } from 'gpuforge/compute';
   * const logger = PerformanceLogger.create();
   * for (let i = 1; i <= 1500; i++) logger.logMetrics({ computeTime: i });
   * logger.getAverages().means.computeTime; // → 1000.5
   * ```
   */
  logMetrics(metrics: MetricsInput): void {
    const record: LoggedRecord = { at: this.#clock.now(), wall: this.#clock.wall(), ...flatten(metrics) };
    if (this.#ring.length < this.#capacity) this.#ring.push(record);
    else this.#ring[this.#next] = record;
    this.#next = (this.#next + 1) % this.#capacity;
  }

  /** Null with no records. */
  getAverages(): Averages | null {
    if (this.#ring.length === 0) return null;
    const values = new Map<string, number[]>();
    for (const { fields } of this.#ring) {
      for (const [name, v] of Object.entries(fields)) {
        const list = values.get(name);
        if (list) list.push(v);
        else values.set(name, [v]);
      }
    }
    const fields = Object.fromEntries([...values].map(([name, list]) => [name, summarize(list)]));
    return {
      means: Object.fromEntries(Object.entries(fields).map(([name, f]) => [name, f.mean])),
      fields,
      unreliable: this.#ring.some((r) => r.unreliable),
      records: this.#ring.length,
    };
  }

  clear(): void {
    this.#ring = [];
    this.#next = 0;
  }

  /** The records, oldest first. */
  toJSON(_key?: string): readonly LoggedRecord[] {
    if (this.#ring.length < this.#capacity) return [...this.#ring];
    return [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)];
  }

  dispose(): void {
    this.#disposed = true;
    this.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** The numeric fields of a record, one level deep. */
function flatten(metrics: MetricsInput): { fields: Record<string, number>; unreliable: boolean } {
  const fields: Record<string, number> = {};
  let unreliable = false;
  const take = (prefix: string, source: object): void => {
    for (const [key, value] of Object.entries(source)) {
      if (typeof value === 'number' && Number.isFinite(value)) fields[prefix + key] = value;
      else if (key === 'unreliable' && value === true) unreliable = true;
      else if (prefix === '' && typeof value === 'object' && value !== null) take(`${key}.`, value);
    }
  };
  take('', metrics);
  return { fields, unreliable };
}

function summarize(values: number[]): FieldSummary {
  const { count, mean, median, p95, p99, min, max } = distribution(values);
  return { count, mean, median, p95, p99, min, max };
}

checkMethods(
  PerformanceLogger.prototype,
  {
    'getAverages clear dispose': '',
    toJSON: 'key:text?',
    logMetrics: 'metrics:metrics',
  },
  { ...layerKinds, metrics: metricsKind },
);
checkMethods(
  PerformanceLogger,
  {
    getInstance: 'options:{capacity:number}?',
    create: 'options:{clock:clock,capacity:number}?',
  },
  { ...layerKinds, clock: { is: (v: unknown) => layerKinds.object.is(v) && 'now' in (v as object), words: 'a clock' } },
);
