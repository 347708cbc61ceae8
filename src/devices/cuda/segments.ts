// Memory in segments that the driver allocates whole: for pinned host memory, and for devices without virtual memory.
//
// Small blocks are cut from slabs; larger ones are the best fit in a segment, split as needed and merged again when they come
// back. A segment can be given back only when nothing in it is in use; that happens before a new one would take the
// pool past the most that was ever in use by more than `slack`, and when the driver has no more.

import { type Arena, smallBytes } from './arena.ts';
import { type Stretch, Stretches, unit } from './stretches.ts';

export interface MemorySource {
  /** The address, or 0 if there is no room. */
  allocate(bytes: number): number;
  free(address: number): void;
}

const granule = 2 * 2 ** 20;
const slabBytes = 8 * 2 ** 20;
const slack = 0.06;

export class SegmentArena implements Arena {
  readonly #source: MemorySource;
  readonly #settle: () => void;
  readonly #small = new Stretches();
  readonly #large = new Stretches();
  #reserved = 0;
  #inUse = 0;
  #peak = 0;

  /** `settle` waits until nobody uses idle blocks any more; called before their memory is given back. */
  constructor(source: MemorySource, settle: () => void = () => {}) {
    this.#source = source;
    this.#settle = settle;
  }

  get reserved(): number {
    return this.#reserved;
  }

  get inUse(): number {
    return this.#inUse;
  }

  allocate(bytes: number): Stretch | null {
    const map = bytes <= smallBytes ? this.#small : this.#large;
    const units = Math.max(1, Math.ceil(bytes / unit));
    const found = map.find(units) ?? this.#grow(map, units * unit);
    if (!found) return null;
    const block = map.take(found, units);
    this.#inUse += block.bytes;
    if (this.#inUse > this.#peak) this.#peak = this.#inUse;
    return block;
  }

  release(block: Stretch): void {
    this.#inUse -= block.bytes;
    (block.bytes <= smallBytes ? this.#small : this.#large).release(block);
  }

  trim(): void {
    this.#peak = this.#inUse;
    this.#giveBack(Number.POSITIVE_INFINITY);
  }

  close(): void {
    this.trim();
  }

  #grow(map: Stretches, bytes: number): Stretch | null {
    const size = map === this.#small ? slabBytes : Math.ceil(bytes / granule) * granule;
    const allowed = (1 + slack) * Math.max(this.#peak, this.#inUse + bytes) + slabBytes;
    if (this.#reserved + size > allowed) this.#giveBack(this.#reserved + size - allowed);
    let address = this.#source.allocate(size);
    if (address === 0) {
      this.#giveBack(Number.POSITIVE_INFINITY);
      address = this.#source.allocate(size);
      if (address === 0) return null;
    }
    this.#reserved += size;
    return map.addRegion(address, size, 'free');
  }

  /** Frees idle segments until `bytes` are given back, those idle for longest first. */
  #giveBack(bytes: number): void {
    const idle: { map: Stretches; stretch: Stretch }[] = [];
    for (const map of [this.#small, this.#large]) {
      for (const stretch of map) {
        if (stretch.state === 'free' && !stretch.before && !stretch.after) idle.push({ map, stretch });
      }
    }
    if (idle.length === 0 || bytes <= 0) return;
    this.#settle();
    idle.sort((a, b) => a.stretch.since - b.stretch.since);
    let left = bytes;
    for (const { map, stretch } of idle) {
      if (left <= 0) return;
      map.removeRegion(stretch);
      this.#source.free(stretch.address);
      this.#reserved -= stretch.bytes;
      left -= stretch.bytes;
    }
  }
}
