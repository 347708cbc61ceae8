// The idle tensors of a pool, on shelves by what they are asked for. Holds no more bytes than its limit: what is expected last,
// or not at all, goes first. Counts requests per shelf, also of shelves that are empty; of those asked for longest ago
// nothing is remembered once there are too many.

import type { DType, Shape, Tensor } from '../index.ts';

/** What a tensor holds: zeros as long as nobody asked for something else. */
export type Content = 'zeros' | 'other';

export interface Idle {
  readonly tensor: Tensor;
  readonly content: Content;
  readonly bytes: number;
}

export interface Shelf {
  readonly key: string;
  readonly shape: Shape;
  readonly dtype: DType;
  /** The one used last is the last. */
  readonly idle: (Idle & { readonly used: number })[];
  hits: number;
  misses: number;
}

/** Shelves that are kept. */
export const maxShelves = 1024;

export class Stock {
  readonly #limit: number;
  /** How far off the next request for each key is thought to be; what is missing is not expected. */
  readonly #distances: () => ReadonlyMap<string, number>;
  readonly #shelves = new Map<string, Shelf>();
  #held = 0;
  #evictions = 0;
  #tick = 0;

  constructor(limit: number, distances: () => ReadonlyMap<string, number>) {
    this.#limit = limit;
    this.#distances = distances;
  }

  /** Bytes of idle tensors. */
  get held(): number {
    return this.#held;
  }

  get evictions(): number {
    return this.#evictions;
  }

  get shelves(): Iterable<Shelf> {
    return this.#shelves.values();
  }

  find(key: string): Shelf | undefined {
    return this.#shelves.get(key);
  }

  shelf(key: string, shape: Shape, dtype: DType): Shelf {
    const shelf = this.#shelves.get(key) ?? { key, shape: [...shape], dtype, idle: [], hits: 0, misses: 0 };
    // What was asked for last is the last.
    this.#shelves.delete(key);
    this.#shelves.set(key, shelf);
    if (this.#shelves.size > maxShelves) this.#dropOldest();
    return shelf;
  }

  /** Whether so many bytes more may be held without giving anything up. */
  fits(bytes: number): boolean {
    return this.#held + bytes <= this.#limit;
  }

  /** An idle tensor off a shelf: the one used last, or the last one of zeros if zeros are wanted and there is one. */
  take(shelf: Shelf, zeros: boolean): Idle | null {
    const { idle } = shelf;
    let at = idle.length - 1;
    if (zeros) while (at >= 0 && idle[at]!.content !== 'zeros') at--;
    const [taken = null] = idle.splice(at, 1);
    if (taken) this.#held -= taken.bytes;
    return taken;
  }

  /** Puts a tensor on a shelf, giving up others if that is too much. */
  keep(shelf: Shelf, idle: Idle): void {
    const kept = { ...idle, used: ++this.#tick };
    shelf.idle.push(kept);
    this.#held += idle.bytes;
    if (this.#held > this.#limit) this.#evict(this.#limit, kept);
  }

  /** Gives up idle tensors until no more than this is held. */
  shrink(bytes: number): void {
    if (this.#held > bytes) this.#evict(bytes, null);
  }

  empty(): void {
    for (const shelf of this.#shelves.values()) for (const { tensor } of shelf.idle.splice(0)) tensor.dispose();
    this.#held = 0;
  }

  #dropOldest(): void {
    for (const [key, shelf] of this.#shelves) {
      this.#shelves.delete(key);
      for (const idle of shelf.idle.splice(0)) this.#giveUp(idle);
      return;
    }
  }

  #giveUp({ tensor, bytes }: Idle): void {
    tensor.dispose();
    this.#held -= bytes;
    this.#evictions++;
  }

  /** First what is not expected at all, then what is needed last; among equals what was used longest ago. */
  #evict(bytes: number, spared: Idle | null): void {
    const distances = this.#distances();
    const all = [...this.#shelves.values()].flatMap((shelf) => {
      const distance = distances.get(shelf.key) ?? Number.POSITIVE_INFINITY;
      return shelf.idle.map((idle) => ({ shelf, idle, distance }));
    });
    all.sort((a, b) => (a.distance === b.distance ? a.idle.used - b.idle.used : b.distance - a.distance));
    for (const { shelf, idle } of all) {
      if (this.#held <= bytes) return;
      if (idle === spared && bytes > 0 && all.length > 1) continue;
      shelf.idle.splice(shelf.idle.indexOf(idle), 1);
      this.#giveUp(idle);
    }
  }
}
