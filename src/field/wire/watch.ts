// What a server knows of its fields and clients, for those who look on. Noting a cycle costs a few assignments.

import { quantilesOf } from '../../base/quantiles.ts';
import { checkMethods } from '../../base/signatures.ts';
import type { Field, StepResult } from '../field.ts';

/** Latencies that figures are taken of: those of the last cycles. */
const mostLatencies = 1024;

export interface ClientInfo {
  readonly id: string;
  readonly address: string;
  readonly hardware: number;
  readonly sensors: number;
  readonly motors: number;
  readonly field: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly cycles: number;
}

/** In milliseconds, over the last cycles. */
export interface CyclePerformance {
  readonly cycles: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Since the first cycle. */
  readonly cyclesPerSecond: number;
}

/** One field that is served. */
export class WatchedField {
  readonly name: string;
  readonly field: Field;
  /** The last cycle; null before the first one. */
  last: StepResult | null = null;
  readonly #latencies = new Float64Array(mostLatencies);
  #cycles = 0;
  #first = 0;

  /** @internal */
  constructor(name: string, field: Field) {
    this.name = name;
    this.field = field;
  }

  /** @internal A cycle took so long, from the request to its motors. */
  done(result: StepResult, ms: number): void {
    if (this.#cycles === 0) this.#first = performance.now();
    this.#latencies[this.#cycles++ % mostLatencies] = ms;
    this.last = result;
  }

  /** Latencies of the last cycles. */
  performance(): CyclePerformance {
    const quantiles = quantilesOf(this.#latencies.slice(0, Math.min(this.#cycles, mostLatencies)));
    const seconds = (performance.now() - this.#first) / 1000;
    const cyclesPerSecond = this.#cycles > 1 ? (this.#cycles - 1) / seconds : 0;
    return { cycles: this.#cycles, ...(quantiles ?? { p50: 0, p99: 0, max: 0 }), cyclesPerSecond };
  }
}

checkMethods(WatchedField.prototype, { performance: '' });

/** All that a server tells. */
export interface ServerView {
  readonly fields: readonly WatchedField[];
  readonly clients: readonly ClientInfo[];
  readonly connections: {
    readonly open: number;
    readonly most: number;
    readonly accepted: number;
    readonly refused: number;
    readonly bytesIn: number;
    readonly bytesOut: number;
    /** Errors told to clients, by code. */
    readonly errors: Readonly<Record<string, number>>;
  };
}
