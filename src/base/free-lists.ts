// Free stretches of memory by size: the index of a two-level segregated fit (Masmano et al., TLSF, ECRTS 2004).
//
// Sizes are whole numbers of units below 2^32. Below 16 units every size has a class of its own, above there are 16 classes per
// power of two; two levels of bitmaps find the next class that is not empty in constant time. Knows nothing of addresses:
// who splits and merges stretches takes them out and puts them back.

/** What a list threads through its members; `units` may change only while the member is in no list. */
export interface Listed<S> {
  units: number;
  previous: S | null;
  next: S | null;
}

const subdivisions = 16;
const rows = 30;

export class FreeLists<S extends Listed<S>> {
  readonly #heads: (S | null)[] = new Array(rows * subdivisions).fill(null);
  readonly #bitmaps = new Uint32Array(rows);
  #rowBitmap = 0;

  add(s: S): void {
    const c = classOf(s.units);
    const head = this.#heads[c]!;
    s.previous = null;
    s.next = head;
    if (head) head.previous = s;
    this.#heads[c] = s;
    const row = c >>> 4;
    this.#bitmaps[row] = this.#bitmaps[row]! | (1 << (c & 15));
    this.#rowBitmap |= 1 << row;
  }

  remove(s: S): void {
    const { previous, next } = s;
    s.previous = null;
    s.next = null;
    if (next) next.previous = previous;
    if (previous) {
      previous.next = next;
      return;
    }
    const c = classOf(s.units);
    this.#heads[c] = next;
    if (next) return;
    const row = c >>> 4;
    this.#bitmaps[row] = this.#bitmaps[row]! & ~(1 << (c & 15));
    if (this.#bitmaps[row] === 0) this.#rowBitmap &= ~(1 << row);
  }

  /** One of at least `units`: the best of the first few in its own class, else any of the next class that has one. */
  find(units: number, tries = 8): S | null {
    const own = classOf(units);
    let best: S | null = null;
    for (let s = this.#heads[own]!; s && tries > 0; s = s.next!, tries--) {
      if (s.units === units) return s;
      if (s.units > units && (!best || s.units < best.units)) best = s;
    }
    return best ?? this.#above(own + 1);
  }

  /** The best of all in the class of `units`: the last resort before refusing. */
  search(units: number): S | null {
    return this.find(units, Number.POSITIVE_INFINITY);
  }

  /** The largest, or null if there is none. */
  largest(): S | null {
    const row = 31 - Math.clz32(this.#rowBitmap);
    if (row < 0) return null;
    const c = row * subdivisions + 31 - Math.clz32(this.#bitmaps[row]!);
    let most = this.#heads[c]!;
    for (let s = most.next; s; s = s.next) if (s.units > most.units) most = s;
    return most;
  }

  #above(from: number): S | null {
    let row = from >>> 4;
    if (row >= rows) return null;
    let subs = this.#bitmaps[row]! & (-1 << (from & 15));
    if (subs === 0) {
      const above = row + 1 < 32 ? this.#rowBitmap & (-1 << (row + 1)) : 0;
      if (above === 0) return null;
      row = 31 - Math.clz32(above & -above);
      subs = this.#bitmaps[row]!;
    }
    return this.#heads[row * subdivisions + 31 - Math.clz32(subs & -subs)]!;
  }
}

function classOf(units: number): number {
  if (units < subdivisions) return units;
  const log = 31 - Math.clz32(units);
  return (log - 3) * subdivisions + ((units >>> (log - 4)) & 15);
}
