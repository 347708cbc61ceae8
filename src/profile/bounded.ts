// Things by key, at most so many of them: the one used longest ago goes when there are more.

export class Bounded<V> {
  readonly #limit: number;
  readonly #dropped: (value: V) => void;
  readonly #known = new Map<string, V>();
  /** What was asked for last is the newest already. */
  #last: { readonly key: string; readonly value: V } | null = null;

  constructor(limit: number, dropped: (value: V) => void = () => {}) {
    this.#limit = limit;
    this.#dropped = dropped;
  }

  get(key: string): V | undefined {
    return this.#known.get(key);
  }

  /** The value of a key, made if there is none. */
  of(key: string, make: () => V): V {
    if (this.#last?.key === key) return this.#last.value;
    const known = this.#known.get(key);
    if (known !== undefined) {
      this.#known.delete(key);
      this.#known.set(key, known);
      this.#last = { key, value: known };
      return known;
    }
    const made = make();
    this.#known.set(key, made);
    this.#last = { key, value: made };
    if (this.#known.size > this.#limit) this.#dropOldest();
    return made;
  }

  #dropOldest(): void {
    for (const [key, value] of this.#known) {
      this.#known.delete(key);
      this.#dropped(value);
      return;
    }
  }
}
