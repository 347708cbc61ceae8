// The books of a runtime: what is alive, what was done.

import { Storages } from '../graph/storage.ts';

export interface Stats {
  /** Tensors not yet disposed; small ones (up to about 4 KiB) of devices that cannot be lost, which the collector frees by itself, are not counted. */
  readonly tensors: number;
  /** Bytes held by computed tensors, and the most there ever were. */
  readonly bytes: number;
  readonly peakBytes: number;
  /** Bytes of tensors in host memory: spilled, or kept for the case that a device is lost. */
  readonly spilledBytes: number;
  readonly launches: number;
  /** Programs planned, and runs that found their program ready. */
  readonly programs: number;
  readonly programHits: number;
  /** Times the host waited for data. */
  readonly waits: number;
  readonly waitMs: number;
  /** Where the host waited, most often first; lines are known in development mode. */
  readonly waitsByLine: readonly { readonly line: string; readonly count: number; readonly ms: number }[];
  /** Tensors that the garbage collector found undisposed, by the line that made them (in development mode). */
  readonly leaks: readonly { readonly line: string; readonly count: number }[];
}

export class Ledger {
  readonly storages = new Storages();
  launches = 0;
  programs = 0;
  programHits = 0;
  waits = 0;
  waitMs = 0;
  readonly #waits = new Map<string, { count: number; ms: number }>();
  readonly #leaks = new Map<string, number>();

  waited(line: string, ms: number): void {
    this.waits++;
    this.waitMs += ms;
    if (!line) return;
    const known = this.#waits.get(line) ?? { count: 0, ms: 0 };
    this.#waits.set(line, { count: known.count + 1, ms: known.ms + ms });
  }

  leaked(line: string): void {
    this.#leaks.set(line, (this.#leaks.get(line) ?? 0) + 1);
  }

  snapshot(tensors: number): Stats {
    return {
      tensors,
      bytes: this.storages.bytes,
      peakBytes: this.storages.peakBytes,
      spilledBytes: this.storages.hostBytes,
      launches: this.launches,
      programs: this.programs,
      programHits: this.programHits,
      waits: this.waits,
      waitMs: this.waitMs,
      waitsByLine: [...this.#waits].map(([line, w]) => ({ line, ...w })).sort((a, b) => b.count - a.count),
      leaks: [...this.#leaks].map(([line, count]) => ({ line, count })).sort((a, b) => b.count - a.count),
    };
  }
}
