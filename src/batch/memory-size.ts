// How many items fit into a batch: by the memory that is there, and by how short it is.
//
// size = (1 − margin) × available ÷ per item, within the minimum and the maximum; never more than there are items. While memory
// is short the size is halved before each batch; it doubles again ten seconds after that has passed, at most every ten seconds.

import type { PressureLevel } from '../index.ts';
import { type Clock, pause } from '../profile/clock.ts';

export interface SizeLimits {
  readonly maxBatchSize: number;
  readonly minBatchSize: number;
  readonly safetyMargin: number;
}

/** What counts as available where nothing is known. */
export const assumedMb = 256;

export function sizeFor(limits: SizeLimits, items: number, availableMb: number | null, mbPerItem: number): number {
  const { maxBatchSize, minBatchSize, safetyMargin } = limits;
  const room = mbPerItem > 0 ? ((1 - safetyMargin) * (availableMb ?? assumedMb)) / mbPerItem : Number.POSITIVE_INFINITY;
  // A margin of 0.2 leaves 0.8, which is a little less than that in binary.
  const fits = Number.isFinite(room) ? Math.floor(room + 1e-9) : maxBatchSize;
  return Math.min(items, maxBatchSize, Math.max(minBatchSize, fits));
}

const calmMs = 10_000;
/** The longest that a batch is held back while memory is critical. */
const patienceMs = 5000;
const lookMs = 50;

/** Memory is short: batches are to be smaller, or to wait. */
export const isShort = (level: PressureLevel): boolean => level === 'high' || level === 'critical';

export class Pressure {
  readonly #clock: Clock;
  readonly #level: () => PressureLevel;
  /** The share of the best size that is used: 1, 1/2, 1/4 … */
  #share = 1;
  #calmSince: number | null = null;
  #single = false;

  constructor(clock: Clock, level: () => PressureLevel) {
    this.#clock = clock;
    this.#level = level;
  }

  /** The size of the next batch, of at most `best` items. */
  limit(best: number): number {
    const now = this.#clock.now();
    const level = this.#level();
    if (isShort(level)) {
      this.#calmSince = null;
      if (best * this.#share > 1) this.#share /= 2;
    } else if (this.#share < 1) {
      this.#calmSince ??= now;
      if (now - this.#calmSince >= calmMs) {
        this.#share = Math.min(1, 2 * this.#share);
        this.#calmSince = now;
      }
    }
    if (this.#single && level === 'critical') return 1;
    return Math.max(1, Math.floor(best * this.#share));
  }

  /** Waits while memory is critical, but for five seconds; after that batches have one item. Null if nothing is to be waited for. */
  ready(signal: AbortSignal | undefined, stopped: () => unknown): Promise<void> | null {
    this.#single = false;
    return this.#level() === 'critical' ? this.#calm(signal, stopped) : null;
  }

  async #calm(signal: AbortSignal | undefined, stopped: () => unknown): Promise<void> {
    const end = this.#clock.now() + patienceMs;
    while (this.#level() === 'critical') {
      if (this.#clock.now() >= end) {
        this.#single = true;
        return;
      }
      await pause(this.#clock, lookMs, signal, stopped);
    }
  }
}
