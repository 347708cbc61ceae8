// The last N values, oldest first.

export class Ring<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  #first = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (this.#items.length < this.#capacity) this.#items.push(item);
    else {
      this.#items[this.#first] = item;
      this.#first = (this.#first + 1) % this.#capacity;
    }
  }

  /** The last `count`, oldest first. */
  last(count = this.#items.length): T[] {
    const n = Math.min(Math.max(0, Math.floor(count)), this.#items.length);
    const skip = this.#items.length - n;
    return Array.from({ length: n }, (_, i) => this.#items[(this.#first + skip + i) % this.#items.length]!);
  }

  clear(): void {
    this.#items.length = 0;
    this.#first = 0;
  }
}
