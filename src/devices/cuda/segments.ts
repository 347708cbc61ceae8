// Memory in segments that the driver allocates whole: for pinned host memory, and for devices without virtual memory.
//
// Small blocks are cut from slabs; larger ones are the best fit in a segment, split as needed and merged again when they come
// back. A segment can be given back only when nothing in it is in use; that happens before a new one would take the
// pool notably past the most that was ever in use, and when the driver has no more. So that this is enough, an idle segment
// is cut only where what is free in segments that are in use stays a small part of the whole: one small block would keep all of it.
// In a loop (see regrets.ts) cutting is no risk, since what fits once fits again: idle segments that do not fit are joined into one.
// Where asking the driver may take long, some idle segments are spared (`spare`): one of each size stays, also over a trim.

import { type IdleBlock, IdleBlocks } from '../idle.ts';
import { Regrets } from '../regrets.ts';
import { SplitArena } from './split-arena.ts';
import { type Stretch, type Stretches, unit } from './stretches.ts';

export interface MemorySource {
  /** The address, or 0 if there is no room. */
  allocate(bytes: number): number;
  free(address: number): void;
}

const granule = 2 * 2 ** 20;
const slabBytes = 8 * 2 ** 20;

/** What may be free in segments that are in use when one more is cut, as a share of the most that was ever in use. */
const fragments = 0.04;

/** Cutting off this much less is no question. */
const leastFragment = 8 * 2 ** 20;

/** The most that may be held beyond the usual bound for loops, as a share of the most that was ever in use. */
const mostLearned = 0.15;

interface Segment extends IdleBlock {
  readonly address: number;
}

export class SegmentArena extends SplitArena {
  readonly #source: MemorySource;
  readonly #settle: () => void;
  readonly #spare: number;
  /** Segments that nothing is in use of; the others are regions of the maps. */
  readonly #idle = new IdleBlocks<Segment>();
  readonly #regrets = new Regrets(mostLearned);

  /**
   * `settle` waits until nobody uses idle blocks any more; called before their memory is given back. `spare`: bytes that may be idle
   * at any time.
   */
  constructor(source: MemorySource, settle: () => void = () => {}, spare = 0) {
    super();
    this.#source = source;
    this.#settle = settle;
    this.#spare = spare;
  }

  override allocate(bytes: number): Stretch | null {
    this.#regrets.asked(bytes);
    return super.allocate(bytes);
  }

  override trim(): void {
    const spared = this.#takeSpared();
    super.trim();
    for (const segment of spared) this.#idle.put(segment);
    this.#regrets.clear();
  }

  override close(): void {
    super.trim();
  }

  protected grow(map: Stretches, units: number): Stretch | null {
    const bytes = units * unit;
    const segment = map === this.small ? this.#slab(bytes) : (this.#cut(bytes) ?? this.#make(bytes));
    return segment && map.addRegion(segment.address, segment.size, 'free');
  }

  protected override freed(map: Stretches, stretch: Stretch): void {
    if (stretch.before || stretch.after) return;
    map.removeRegion(stretch);
    this.#idle.put({ address: stretch.address, size: stretch.bytes, since: 0 });
  }

  protected giveBack(bytes: number): void {
    const gone = this.#idle.takeFor(bytes);
    if (gone.length > 0) this.#settle();
    for (const { address, size } of gone) {
      this.#source.free(address);
      this.held -= size;
      this.#regrets.destroyed(size, this.peakWith(0));
    }
  }

  /** One idle segment of each size, small ones first, as far as they may be spared. */
  #takeSpared(): Segment[] {
    const spared: Segment[] = [];
    let left = this.#spare;
    for (let s = this.#idle.best(0); s && s.size <= left; s = this.#idle.best(s.size + 1)) {
      spared.push(s);
      left -= s.size;
    }
    for (const s of spared) this.#idle.take(s);
    return spared;
  }

  #slab(bytes: number): Segment | null {
    const idle = this.#idle.best(slabBytes);
    if (idle?.size === slabBytes && this.#idle.take(idle)) return idle;
    this.giveBack(this.held + slabBytes - this.#bound(bytes));
    return this.#take(slabBytes);
  }

  /** An idle segment, if cutting so much from it leaves few fragments. */
  #cut(bytes: number): Segment | null {
    const idle = this.#idle.best(bytes);
    if (!idle) return null;
    const rest = idle.size - bytes;
    const free = this.held - this.#idle.bytes - this.inUse;
    const careless = rest <= leastFragment || this.#regrets.allowance > 0;
    if (!careless && free + rest > fragments * this.peakWith(0)) return null;
    this.#idle.take(idle);
    return idle;
  }

  #make(bytes: number): Segment | null {
    const size = Math.ceil(bytes / granule) * granule;
    const loop = this.#regrets.made(size, this.peakWith(bytes));
    const bound = this.#bound(bytes);
    if (loop) {
      const joined = size + this.#idle.bytes;
      this.giveBack(Number.POSITIVE_INFINITY);
      const most = Math.floor((bound - this.held) / granule) * granule;
      const made = this.#take(Math.max(size, Math.min(joined, most)));
      if (made) return made;
    }
    this.giveBack(this.held + size - bound);
    return this.#take(size);
  }

  #bound(bytes: number): number {
    return this.allowed(bytes, slabBytes) + this.#regrets.allowance + this.#spare;
  }

  /** From the driver; when it has no more, after giving back everything idle. */
  #take(size: number): Segment | null {
    let address = this.#source.allocate(size);
    if (address === 0 && this.#idle.bytes > 0) {
      this.giveBack(Number.POSITIVE_INFINITY);
      address = this.#source.allocate(size);
    }
    if (address === 0) return null;
    this.held += size;
    return { address, size, since: 0 };
  }
}
