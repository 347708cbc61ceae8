// What was measured: spans of transfers and computations, in a ring, with running totals. The only place of the facade where
// times are kept; the monitor, the predictions and the handling of slow-downs all read from here.

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

const capacity = 4096;

export class Timeline {
  readonly #clock: Clock;
  readonly #spans: Span[] = [];
  readonly #listeners = new Set<(span: Span) => void>();
  #at = 0;
  #totals = { computeMs: 0, transferMs: 0, uploadedBytes: 0, downloadedBytes: 0, operations: 0, failures: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(span: Omit<Span, 'end'>): void {
    const full: Span = { ...span, end: this.#clock.now() };
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
  }

  onSpan(listener: (span: Span) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
   * The share of the last `windowMs` in which a device was busy with our computations, by its own timestamps; null if there
   * are none. Spans that overlap count once.
   */
  busy(device: string, windowMs: number): number | null {
    const now = this.#clock.now();
    const from = now - windowMs;
    const spans = this.recent().filter((s) => s.kind === 'compute' && s.device === device && s.source === 'device');
    if (spans.length === 0) return null;
    let busy = 0;
    let reached = from;
    for (const { end, ms } of spans.sort((a, b) => a.end - a.ms - (b.end - b.ms))) {
      const start = Math.max(end - ms, reached);
      if (end <= start) continue;
      busy += end - start;
      reached = end;
    }
    return Math.min(1, busy / windowMs);
  }

  #rotated(): Span[] {
    return [...this.#spans.slice(this.#at), ...this.#spans.slice(0, this.#at)];
  }
}
