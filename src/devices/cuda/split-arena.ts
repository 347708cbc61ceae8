// What pools have in common: small blocks and large ones kept apart, best fit in each, and the books.
//
// A pool over this says where more memory comes from (`grow`) and what can be given back (`giveBack`).

import { type Stretch, Stretches, unit } from './stretches.ts';

/** A pool of device or pinned memory. */
export interface Arena {
  /** Bytes taken from the driver. */
  readonly reserved: number;
  /** Bytes of blocks handed out. */
  readonly inUse: number;
  /** Null if there is no room even after giving back everything idle. */
  allocate(bytes: number): Stretch | null;
  release(block: Stretch): void;
  /** Gives idle memory back to the driver. */
  trim(): void;
  /** Gives everything back; nothing may be in use. */
  close(): void;
}

/** Requests up to this size live in a region of their own, where they cannot keep large holes apart. */
export const smallBytes = 2 ** 20;

/** Memory held beyond the largest use so far, as a share of it. */
const slack = 0.06;

export abstract class SplitArena implements Arena {
  protected readonly small = new Stretches();
  protected readonly large = new Stretches();
  protected held = 0;
  #inUse = 0;
  #peak = 0;

  get reserved(): number {
    return this.held;
  }

  get inUse(): number {
    return this.#inUse;
  }

  allocate(bytes: number): Stretch | null {
    const map = bytes <= smallBytes ? this.small : this.large;
    const units = Math.max(1, Math.ceil(bytes / unit));
    const found = map.find(units) ?? this.grow(map, units);
    if (!found) return null;
    const block = map.take(found, units);
    this.#inUse += block.bytes;
    if (this.#inUse > this.#peak) this.#peak = this.#inUse;
    return block;
  }

  release(block: Stretch): void {
    this.#inUse -= block.bytes;
    const map = block.bytes <= smallBytes ? this.small : this.large;
    this.freed(map, map.release(block));
  }

  trim(): void {
    this.#peak = this.#inUse;
    this.giveBack(Number.POSITIVE_INFINITY);
  }

  close(): void {
    this.trim();
  }

  /** A free stretch of at least `units` where there was none, or null. */
  protected abstract grow(map: Stretches, units: number): Stretch | null;

  /** A stretch is free, as one with its free neighbours. */
  protected freed(_map: Stretches, _stretch: Stretch): void {}

  /** Gives back at least `bytes` of idle memory, as far as there is any. */
  protected abstract giveBack(bytes: number): void;

  /** The most that may be held when `bytes` more come into use; `granule` is the least that can be taken. */
  protected allowed(bytes: number, granule: number): number {
    return (1 + slack) * this.peakWith(bytes) + granule;
  }

  /** The most that was ever in use, `bytes` more than now included. */
  protected peakWith(bytes: number): number {
    return Math.max(this.#peak, this.#inUse + bytes);
  }

  /** Free stretches that satisfy a condition, those idle for longest first. */
  protected idle(matches: (s: Stretch) => boolean): { map: Stretches; stretch: Stretch }[] {
    const found: { map: Stretches; stretch: Stretch }[] = [];
    for (const map of [this.small, this.large]) {
      for (const stretch of map) if (stretch.state === 'free' && matches(stretch)) found.push({ map, stretch });
    }
    return found.sort((a, b) => a.stretch.since - b.stretch.since);
  }
}
