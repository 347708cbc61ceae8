// Plays an allocation trace over an allocator: what it reserves against what is live, how often it asks the driver, what a
// call costs.

import type { TraceEvent } from '../../test/support/traces.ts';
import type { Allocator } from './allocators.ts';

export interface Replay {
  readonly events: number;
  readonly livePeak: number;
  readonly reservedPeak: number;
  /** Reserved over live, at their peaks. */
  readonly ratio: number;
  /** Share of allocations after the warm-up that asked the driver nothing. */
  readonly hits: number;
  /** How often the driver was asked in all, for memory and to take it back. */
  readonly calls: number;
  readonly p50ns: number;
  readonly p99ns: number;
}

/** `warmUp`: events at the start that count for the peaks only. */
export function replay(trace: readonly TraceEvent[], allocator: Allocator, warmUp = 0): Replay {
  const live = new Map<number, { readonly block: unknown; readonly bytes: number }>();
  const times: number[] = [];
  let [held, livePeak, reservedPeak, misses] = [0, 0, 0, 0];
  const overlap = new OverlapCheck(allocator);
  trace.forEach((event, i) => {
    if (event.kind === 'release') {
      const { block, bytes } = live.get(event.id)!;
      live.delete(event.id);
      held -= bytes;
      overlap.release(block);
      allocator.release(block);
      return;
    }
    const before = allocator.calls();
    const start = performance.now();
    const block = allocator.allocate(event.bytes);
    const ns = (performance.now() - start) * 1e6;
    if (block === null) throw new Error(`${allocator.name}: no room for ${event.bytes} bytes at event ${i}`);
    overlap.take(block, event.bytes);
    live.set(event.id, { block, bytes: event.bytes });
    held += event.bytes;
    livePeak = Math.max(livePeak, held);
    reservedPeak = Math.max(reservedPeak, allocator.reserved());
    if (i < warmUp) return;
    times.push(ns);
    if (allocator.calls() !== before) misses++;
  });
  times.sort((a, b) => a - b);
  const at = (share: number): number => Math.max(0, times[Math.floor((times.length - 1) * share)]! - clockNs());
  return {
    events: trace.length,
    livePeak,
    reservedPeak,
    ratio: reservedPeak / livePeak,
    hits: 1 - misses / times.length,
    calls: allocator.calls(),
    p50ns: at(0.5),
    p99ns: at(0.99),
  };
}

/** What two looks at the clock cost, taken off every time. */
function clockNs(): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 1000; i++) {
    const start = performance.now();
    best = Math.min(best, (performance.now() - start) * 1e6);
  }
  return best;
}

/** Live blocks must not share a byte. */
class OverlapCheck {
  readonly #allocator: Allocator;
  /** Starts and ends of live blocks by start, in order. */
  readonly #starts: number[] = [];
  readonly #ends = new Map<number, number>();

  constructor(allocator: Allocator) {
    this.#allocator = allocator;
  }

  take(block: unknown, bytes: number): void {
    const start = this.#allocator.address?.(block);
    if (start === undefined || bytes === 0) return;
    const at = this.#position(start);
    const before = at > 0 ? this.#ends.get(this.#starts[at - 1]!)! : 0;
    const next = this.#starts[at] ?? Number.POSITIVE_INFINITY;
    if (before > start || start + bytes > next) throw new Error(`${this.#allocator.name}: blocks overlap at ${start}`);
    this.#starts.splice(at, 0, start);
    this.#ends.set(start, start + bytes);
  }

  release(block: unknown): void {
    const start = this.#allocator.address?.(block);
    if (start === undefined || !this.#ends.delete(start)) return;
    this.#starts.splice(this.#position(start), 1);
  }

  #position(start: number): number {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#starts[middle]! < start) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
