// The newest things of many: a list of fixed length from which the oldest goes.

export class Newest<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  #next = 0;
  /** How many have gone. */
  dropped = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (this.#items.length < this.#capacity) {
      this.#items.push(item);
      return;
    }
    this.#items[this.#next] = item;
    this.#next = (this.#next + 1) % this.#capacity;
    this.dropped++;
  }

  /** The newest `count`, or all; oldest first. */
  list(count = this.#items.length): T[] {
    const all = [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)];
    return all.slice(all.length - Math.min(Math.max(0, Math.floor(count) || 0), all.length));
  }

  /** The newest `count`, newest first. */
  last(count: number): T[] {
    return this.list(count).reverse();
  }

  /** All, newest first. */
  *backwards(): Generator<T> {
    const size = this.#items.length;
    for (let i = 1; i <= size; i++) yield this.#items[(this.#next - i + size) % size]!;
  }

  clear(): void {
    this.#items.length = 0;
    this.#next = 0;
    this.dropped = 0;
  }
}
