// Launches whose times are not known yet. Ids grow, and devices tell times in about the order in which work was enqueued, so the one that is looked for
// is nearly always the first: a map would cost more than all the rest of a span.

/** Launches that were told are forgotten many at once. */
const leastForgotten = 1024;

export class Owed {
  /** Ids, ascending, and when the host enqueued them; NaN for what was told. */
  #ids: number[] = [];
  #starts: number[] = [];
  /** The first that was not told. */
  #first = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(id: number, start: number): void {
    const [ids, starts] = [this.#ids, this.#starts];
    let at = ids.length;
    // A listener that launches something itself comes first with the larger id.
    for (; at > this.#first && ids[at - 1]! > id; at--) {
      ids[at] = ids[at - 1]!;
      starts[at] = starts[at - 1]!;
    }
    ids[at] = id;
    starts[at] = start;
    this.#size++;
  }

  /** It was told: when it was enqueued; undefined if nobody waits for it. */
  take(id: number): number | undefined {
    const at = this.#ids[this.#first] === id ? this.#first : this.#find(id);
    const start = this.#starts[at];
    if (start === undefined || Number.isNaN(start)) return undefined;
    this.#starts[at] = Number.NaN;
    this.#size--;
    while (this.#first < this.#ids.length && Number.isNaN(this.#starts[this.#first])) this.#first++;
    const told = this.#ids.length - this.#size;
    if (this.#size === 0) this.clear();
    else if (told >= leastForgotten && told > this.#size) this.#forget();
    return start;
  }

  clear(): void {
    [this.#ids, this.#starts, this.#first, this.#size] = [[], [], 0, 0];
  }

  /** Where an id is; -1 if it is not there. */
  #find(id: number): number {
    let [low, high] = [this.#first, this.#ids.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ids[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return this.#ids[low] === id ? low : -1;
  }

  #forget(): void {
    const starts = this.#starts;
    this.#ids = this.#ids.filter((_, i) => !Number.isNaN(starts[i]));
    this.#starts = starts.filter((s) => !Number.isNaN(s));
    this.#first = 0;
  }
}
