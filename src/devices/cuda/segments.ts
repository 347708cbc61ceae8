// Memory in segments that the driver allocates whole: for pinned host memory, and for devices without virtual memory.
//
// Small blocks are cut from slabs; larger ones are the best fit in a segment, split as needed and merged again when they come
// back. A segment can be given back only when nothing in it is in use; that happens before a new one would take the
// pool notably past the most that was ever in use, and when the driver has no more.

import { SplitArena } from './split-arena.ts';
import { type Stretch, type Stretches, unit } from './stretches.ts';

export interface MemorySource {
  /** The address, or 0 if there is no room. */
  allocate(bytes: number): number;
  free(address: number): void;
}

const granule = 2 * 2 ** 20;
const slabBytes = 8 * 2 ** 20;

export class SegmentArena extends SplitArena {
  readonly #source: MemorySource;
  readonly #settle: () => void;

  /** `settle` waits until nobody uses idle blocks any more; called before their memory is given back. */
  constructor(source: MemorySource, settle: () => void = () => {}) {
    super();
    this.#source = source;
    this.#settle = settle;
  }

  protected grow(map: Stretches, units: number): Stretch | null {
    const size = map === this.small ? slabBytes : Math.ceil((units * unit) / granule) * granule;
    const allowed = this.allowed(units * unit, slabBytes);
    if (this.held + size > allowed) this.giveBack(this.held + size - allowed);
    let address = this.#source.allocate(size);
    if (address === 0) {
      this.giveBack(Number.POSITIVE_INFINITY);
      address = this.#source.allocate(size);
      if (address === 0) return null;
    }
    this.held += size;
    return map.addRegion(address, size, 'free');
  }

  protected giveBack(bytes: number): void {
    const idle = this.idle((s) => !s.before && !s.after);
    if (idle.length === 0 || bytes <= 0) return;
    this.#settle();
    let left = bytes;
    for (const { map, stretch } of idle) {
      if (left <= 0) return;
      map.removeRegion(stretch);
      this.#source.free(stretch.address);
      this.held -= stretch.bytes;
      left -= stretch.bytes;
    }
  }
}
