// The idle buffers of a pool: by size, most recently used first, and over all sizes in the order in which they became idle.
//
// Adding and removing are constant time; finding is a look-up, or a binary search of the sizes for the next larger one.

import type { DeviceBuffer } from '../../devices/device.ts';

/** All buffers of one size, lent or idle; the idle ones form a list. */
export class Bucket {
  readonly size: number;
  head: Slot | null = null;
  buffers = 0;

  constructor(size: number) {
    this.size = size;
  }
}

/** One buffer of the pool. */
export class Slot {
  readonly bucket: Bucket;
  readonly buffer: DeviceBuffer;
  readonly generation: number | undefined;
  idleSince = 0;
  /** Neighbours in the bucket's list. */
  newer: Slot | null = null;
  older: Slot | null = null;

  constructor(bucket: Bucket, buffer: DeviceBuffer, generation: number | undefined) {
    this.bucket = bucket;
    this.buffer = buffer;
    this.generation = generation;
  }
}

export class Buckets {
  readonly #bySize = new Map<number, Bucket>();
  /** Sizes of which there are buffers, rising. */
  readonly #sorted: number[] = [];
  /** Sets keep the order in which entries came. */
  readonly #idle = new Set<Slot>();

  get count(): number {
    return this.#idle.size;
  }

  get sizes(): number {
    return this.#sorted.length;
  }

  /** Idle for longest. */
  get oldest(): Slot | undefined {
    return this.#idle.values().next().value;
  }

  /** An idle buffer of this size, or else the smallest larger one up to `most`. */
  find(size: number, most: number): Slot | null {
    const exact = this.#bySize.get(size)?.head;
    if (exact) return exact;
    for (let i = this.#above(size); i < this.#sorted.length && this.#sorted[i]! <= most; i++) {
      const head = this.#bySize.get(this.#sorted[i]!)!.head;
      if (head) return head;
    }
    return null;
  }

  /** The bucket for one more buffer of a size. */
  bucket(size: number): Bucket {
    let bucket = this.#bySize.get(size);
    if (!bucket) {
      this.#bySize.set(size, (bucket = new Bucket(size)));
      this.#sorted.splice(this.#above(size), 0, size);
    }
    bucket.buffers++;
    return bucket;
  }

  /** A buffer of a bucket is gone for good. */
  drop(bucket: Bucket): void {
    if (--bucket.buffers > 0) return;
    this.#bySize.delete(bucket.size);
    this.#sorted.splice(this.#above(bucket.size) - 1, 1);
  }

  add(slot: Slot, now: number): void {
    const { bucket } = slot;
    slot.idleSince = now;
    slot.older = bucket.head;
    slot.newer = null;
    if (bucket.head) bucket.head.newer = slot;
    bucket.head = slot;
    this.#idle.add(slot);
  }

  remove(slot: Slot): void {
    const { bucket, newer, older } = slot;
    if (newer) newer.older = older;
    else bucket.head = older;
    if (older) older.newer = newer;
    slot.newer = null;
    slot.older = null;
    this.#idle.delete(slot);
  }

  /** All buffers are gone. */
  forget(): void {
    this.#bySize.clear();
    this.#sorted.length = 0;
    this.#idle.clear();
  }

  /** The position of the first size above this one. */
  #above(size: number): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sorted[middle]! <= size) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
