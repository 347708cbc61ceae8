// A runtime's memory and a clock for tests: both are moved by hand.

import type { Holder, MemoryView, PlaceFigures, Rung, TickClock } from '../../src/governor/memory/view.ts';

export class FakeClock implements TickClock {
  time = 1_000_000;
  #timers: { at: number; readonly ms: number; readonly tick: () => void }[] = [];

  now(): number {
    return this.time;
  }

  every(ms: number, tick: () => void): () => void {
    const timer = { at: this.time + ms, ms, tick };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((t) => t !== timer);
    };
  }

  get timers(): number {
    return this.#timers.length;
  }

  advance(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.#timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.time = Math.max(this.time, next.at);
      next.at += next.ms;
      next.tick();
    }
    this.time = end;
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** One device of 1,000 MiB by default, whose figures tests set as they like. */
export class FakeView implements MemoryView {
  readonly list: Mutable<PlaceFigures>[];
  readonly held: Holder[] = [];
  rungs: Rung[] = [];
  spilled = 0;

  constructor(...ids: string[]) {
    this.list = (ids.length > 0 ? ids : ['cuda:0']).map((id) => ({
      id,
      inUse: 0,
      peak: 0,
      reserved: 0,
      reclaimable: 0,
      budget: Number.POSITIVE_INFINITY,
      total: 1000 * 2 ** 20,
      free: 1000 * 2 ** 20,
      others: 0,
      source: 'device' as const,
      allocations: 0,
      releases: 0,
      failures: 0,
    }));
  }

  get first(): Mutable<PlaceFigures> {
    return this.list[0]!;
  }

  /** So many MiB in use, of which `idle` more are held for reuse. */
  hold(mb: number, idle = 0, at = this.first): void {
    at.inUse = mb * 2 ** 20;
    at.peak = Math.max(at.peak, at.inUse);
    at.reserved = (mb + idle) * 2 ** 20;
    at.reclaimable = idle * 2 ** 20;
    if (at.free !== null) at.free = at.total! - at.reserved - (at.others ?? 0);
  }

  /** A clean-up step that gives back what is idle. */
  readonly trim: Rung = {
    name: 'trim',
    run: (id) => {
      const place = this.list.find((p) => p.id === id)!;
      this.hold(place.inUse / 2 ** 20, 0, place);
    },
  };

  places(): readonly PlaceFigures[] {
    return this.list.map((p) => ({ ...p }));
  }

  holders(): Iterable<Holder> {
    return this.held;
  }

  hostSpilled(): { bytes: number; limit: number } {
    return { bytes: this.spilled, limit: 2 ** 30 };
  }

  resetPeaks(): void {
    for (const p of this.list) p.peak = p.inUse;
  }
}

export function holder(bytes: number, site = '', extra: Partial<Holder> = {}): Holder {
  return { bytes, device: 'cuda:0', dtype: 'f32', shape: [bytes / 4], site, ageMs: 0, lastUse: 0, ...extra };
}
