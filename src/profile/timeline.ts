// What was measured: spans of transfers and computations, in a ring, with running totals. The only place of the facade where
// times are kept; the monitor, the predictions and the handling of slow-downs all read from here.

import { nextTurn } from '../index.ts';
import type { Clock } from './clock.ts';

export type SpanKind = 'upload' | 'download' | 'compute';

export interface Span {
  readonly kind: SpanKind;
  readonly name: string;
  readonly device: string;
  /** Monotonic time of the end, in ms. */
  readonly end: number;
  readonly ms: number;
  readonly bytes: number;
  /** Whether `ms` is the device's own time or what the host saw while it waited for the device. */
  readonly source: 'device' | 'host';
  readonly failed: boolean;
}

export interface Totals {
  readonly computeMs: number;
  readonly transferMs: number;
  readonly uploadedBytes: number;
  readonly downloadedBytes: number;
  readonly operations: number;
  readonly failures: number;
}

const capacity = 1024;
/** Spans that wait to be told. */
const maxUntold = 32;
/** Busy time is kept in buckets, so that any number of short pieces of work fits. */
const bucketMs = 10;
const buckets = 1024;

const modulo = (n: number, m: number): number => ((n % m) + m) % m;

export class Timeline {
  readonly #clock: Clock;
  readonly #spans: Span[] = [];
  readonly #listeners = new Set<(span: Span) => void>();
  readonly #watchers = new Set<(span: Span) => void>();
  #untold: Span[] = [];
  readonly #busy = new Map<string, { readonly ms: Float64Array; readonly times: Float64Array }>();
  #at = 0;
  #totals = { computeMs: 0, transferMs: 0, uploadedBytes: 0, downloadedBytes: 0, operations: 0, failures: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(span: Omit<Span, 'end'>): void {
    const { kind, name, device, ms, bytes, source, failed } = span;
    const end = this.#clock.now();
    const full: Span = { kind, name, device, end, ms, bytes, source, failed };
    if (kind === 'compute' && source === 'device' && !failed) this.#occupy(device, end - ms, end);
    if (this.#spans.length < capacity) this.#spans.push(full);
    else this.#spans[this.#at] = full;
    this.#at = (this.#at + 1) % capacity;
    const t = this.#totals;
    t.operations++;
    if (span.failed) t.failures++;
    if (span.kind === 'compute') t.computeMs += span.ms;
    else {
      t.transferMs += span.ms;
      if (span.kind === 'upload') t.uploadedBytes += span.bytes;
      else t.downloadedBytes += span.bytes;
    }
    for (const listener of this.#listeners) listener(full);
    if (this.#watchers.size === 0) return;
    if (this.#untold.length === 0) nextTurn(this.tell);
    else if (this.#untold.length >= maxUntold) this.tell();
    this.#untold.push(full);
  }

  /** Tells the watchers of all spans that they have not heard of. */
  readonly tell = (): void => {
    const spans = this.#untold;
    this.#untold = [];
    for (const watcher of this.#watchers) for (const span of spans) watcher(span);
  };

  /** Tells of each span when it is added. */
  onSpan(listener: (span: Span) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells of the spans a number at a time, when whoever is at work has had its turn: between two pieces of work, what learns from them is out of all caches. */
  watch(watcher: (span: Span) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  totals(): Totals {
    return { ...this.#totals };
  }

  /** The newest spans, oldest first. */
  recent(count = capacity): Span[] {
    const all = this.#spans.length < capacity ? this.#spans : this.#rotated();
    return all.slice(Math.max(0, all.length - count));
  }

  /**
   * The share of the last `windowMs` (10 s at most) in which a device was busy with our computations, by its own timestamps;
   * null if there are none. What overlaps counts once, to within a bucket.
   */
  busy(device: string, windowMs: number): number | null {
    const known = this.#busy.get(device);
    if (!known) return null;
    const last = Math.floor(this.#clock.now() / bucketMs);
    const count = Math.min(buckets, Math.ceil(windowMs / bucketMs));
    let sum = 0;
    for (let b = last - count + 1; b <= last; b++) {
      const slot = modulo(b, buckets);
      if (known.times[slot] === b) sum += Math.min(bucketMs, known.ms[slot]!);
    }
    return Math.min(1, sum / windowMs);
  }

  #occupy(device: string, start: number, end: number): void {
    let known = this.#busy.get(device);
    if (!known) {
      known = { ms: new Float64Array(buckets), times: new Float64Array(buckets).fill(Number.NaN) };
      this.#busy.set(device, known);
    }
    const last = Math.floor(end / bucketMs);
    for (let b = Math.max(Math.floor(start / bucketMs), last - buckets + 1); b <= last; b++) {
      const slot = modulo(b, buckets);
      if (known.times[slot] !== b) {
        known.times[slot] = b;
        known.ms[slot] = 0;
      }
      known.ms[slot] = known.ms[slot]! + Math.min(end, (b + 1) * bucketMs) - Math.max(start, b * bucketMs);
    }
  }

  #rotated(): Span[] {
    return [...this.#spans.slice(this.#at), ...this.#spans.slice(0, this.#at)];
  }
}
