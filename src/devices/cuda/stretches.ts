// The map of a device's address space: regions cut into stretches that are in use, free, or absent.
//
// Free stretches have memory behind them and are found by size; absent ones are addresses without memory. Neighbours of the same
// kind are always one stretch, whatever was taken and given back before. The map only keeps books: who adds a region, fills
// an absent stretch or empties a free one has talked to the driver before.

import { FreeLists } from '../../base/free-lists.ts';

/** Everything is a multiple of this many bytes, and so aligned to it. */
export const unit = 256;

export type State = 'used' | 'free' | 'absent';

/** Owned by its map; `address` and `bytes` are for everybody to read. */
export class Stretch {
  readonly address: number;
  units: number;
  state: State;
  /** When it was given back, as a count of such events. */
  since = 0;
  /** The last work of a stream that used any of it, as a number of `Progress`. */
  used = 0;
  /** Neighbours in the region. */
  before: Stretch | null = null;
  after: Stretch | null = null;
  /** Neighbours in the list of free ones. */
  previous: Stretch | null = null;
  next: Stretch | null = null;

  constructor(address: number, units: number, state: State) {
    this.address = address;
    this.units = units;
    this.state = state;
  }

  get bytes(): number {
    return this.units * unit;
  }

  get end(): number {
    return this.address + this.units * unit;
  }
}

export class Stretches {
  readonly #lists = new FreeLists<Stretch>();
  /** The first stretch of each region: splits and merges keep the object at the lower address. */
  readonly #regions = new Set<Stretch>();
  readonly absent = new Set<Stretch>();
  #clock = 0;

  addRegion(address: number, bytes: number, state: 'free' | 'absent'): Stretch {
    const s = new Stretch(address, bytes / unit, 'used');
    this.#regions.add(s);
    this.#put(s, state);
    return s;
  }

  /** Forgets a region; it must be one free stretch. */
  removeRegion(s: Stretch): void {
    if (s.state !== 'free' || s.before || s.after) throw new Error('cuda memory: the region is in use');
    this.#regions.delete(s);
    this.#pull(s);
  }

  /** A free stretch of at least `units`, the smallest that a short search finds. */
  find(units: number): Stretch | null {
    return this.#lists.find(units, 16);
  }

  /** Puts the first `units` of a free stretch to use. */
  take(s: Stretch, units: number): Stretch {
    this.#pull(s);
    if (s.units > units) {
      const rest = this.#cut(s, units);
      rest.since = s.since;
      this.#put(rest, 'free');
    }
    return s;
  }

  /** Gives a stretch back; the free stretch that it is now part of. */
  release(s: Stretch): Stretch {
    if (s.state !== 'used') throw new Error('cuda memory: released twice');
    s.since = ++this.#clock;
    return this.#put(s, 'free');
  }

  /** The first `units` of an absent stretch have memory now; the free stretch that they are part of. */
  fill(s: Stretch, units: number): Stretch {
    this.#pull(s);
    if (s.units > units) this.#put(this.#cut(s, units), 'absent');
    s.since = ++this.#clock;
    return this.#put(s, 'free');
  }

  /** Part of a free stretch has no memory any more. */
  empty(s: Stretch, from: number, to: number): void {
    this.#pull(s);
    let middle = s;
    if (from > s.address) middle = this.#cut(s, (from - s.address) / unit);
    if (to < middle.end) {
      const rest = this.#cut(middle, (to - from) / unit);
      rest.since = s.since;
      this.#put(rest, 'free');
    }
    if (middle !== s) this.#put(s, 'free');
    this.#put(middle, 'absent');
  }

  /** All stretches, region by region, in order of address. */
  *[Symbol.iterator](): Generator<Stretch> {
    for (const first of this.#regions) for (let s: Stretch | null = first; s; s = s.after) yield s;
  }

  #cut(s: Stretch, units: number): Stretch {
    const rest = new Stretch(s.address + units * unit, s.units - units, 'used');
    rest.used = s.used;
    rest.before = s;
    rest.after = s.after;
    if (rest.after) rest.after.before = rest;
    s.after = rest;
    s.units = units;
    return rest;
  }

  /** Makes a stretch free or absent, as one with neighbours of the same kind. */
  #put(s: Stretch, state: 'free' | 'absent'): Stretch {
    let merged = s;
    const { before, after } = s;
    if (after?.state === state) {
      this.#pull(after);
      this.#absorb(s, after);
    }
    if (before?.state === state) {
      this.#pull(before);
      this.#absorb(before, s);
      merged = before;
    }
    merged.state = state;
    if (state === 'free') this.#lists.add(merged);
    else this.absent.add(merged);
    return merged;
  }

  /** Takes a stretch out of its list: nobody finds it any more. */
  #pull(s: Stretch): void {
    if (s.state === 'free') this.#lists.remove(s);
    else this.absent.delete(s);
    s.state = 'used';
  }

  #absorb(into: Stretch, gone: Stretch): void {
    into.units += gone.units;
    into.since = Math.max(into.since, gone.since);
    into.used = Math.max(into.used, gone.used);
    into.after = gone.after;
    if (gone.after) gone.after.before = into;
  }
}
