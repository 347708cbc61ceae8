// Rows of numbers in typed columns: the newest `limit` rows stay, the others are counted. A million rows cost the collector
// nothing.

const firstRows = 1024;

export class Columns {
  readonly #limit: number;
  readonly #columns: Float64Array[];
  #rows: number;
  /** Rows that were ever added: the number of the next one. */
  total = 0;

  constructor(count: number, limit: number) {
    this.#limit = limit;
    this.#rows = Math.min(firstRows, limit);
    this.#columns = Array.from({ length: count }, () => new Float64Array(this.#rows));
  }

  /** Rows that gave way to newer ones. */
  get dropped(): number {
    return Math.max(0, this.total - this.#limit);
  }

  /** The number of the oldest row that is still there. */
  get first(): number {
    return this.dropped;
  }

  get size(): number {
    return this.total - this.dropped;
  }

  /** A new row, all zeros or what an older row left there; returns its number. */
  add(): number {
    if (this.total === this.#rows && this.#rows < this.#limit) this.#grow();
    return this.total++;
  }

  has(row: number): boolean {
    return row >= this.dropped && row < this.total;
  }

  get(column: number, row: number): number {
    return this.#columns[column]![row % this.#limit]!;
  }

  set(column: number, row: number, value: number): void {
    this.#columns[column]![row % this.#limit] = value;
  }

  clear(): void {
    this.total = 0;
  }

  #grow(): void {
    this.#rows = Math.min(this.#limit, this.#rows * 2);
    for (let c = 0; c < this.#columns.length; c++) {
      const larger = new Float64Array(this.#rows);
      larger.set(this.#columns[c]!);
      this.#columns[c] = larger;
    }
  }
}

/** Texts by number. */
export class Names {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];

  number(text: string): number {
    let n = this.#numbers.get(text);
    if (n === undefined) {
      n = this.#texts.length;
      this.#texts.push(text);
      this.#numbers.set(text, n);
    }
    return n;
  }

  text(number: number): string {
    return this.#texts[number]!;
  }
}
