// The newest `limit` things, oldest first; the others are counted.

export class Ring<T> {
  readonly #limit: number;
  #items: T[] = [];
  #next = 0;
  dropped = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (this.#items.length < this.#limit) {
      this.#items.push(item);
      return;
    }
    this.#items[this.#next] = item;
    this.#next = (this.#next + 1) % this.#limit;
    this.dropped++;
  }

  list(): T[] {
    return [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)];
  }

  clear(): void {
    this.#items = [];
    this.#next = 0;
    this.dropped = 0;
  }
}
