// The records of a dataset, from wherever they come. What can be had at once is not awaited: a promise per record would cost more
// than most records. What has to be awaited is read ahead: while one chunk is being processed, the next one arrives.

import type { RecordArray } from './pipeline.ts';

export type Records = Iterator<RecordArray, unknown> | AsyncIterator<RecordArray, unknown>;

export class RecordReader {
  readonly #source: Records;
  readonly #check: (record: unknown, index: number) => RecordArray;
  #waiting: RecordArray[] = [];
  #count = 0;
  #ended = false;
  /** Whether the source has to be awaited. */
  #waits = false;
  #ahead: Promise<void> | null = null;
  #reading = false;

  /** `check` refuses what is not a record. */
  constructor(source: Records, check: (record: unknown, index: number) => RecordArray) {
    this.#source = source;
    this.#check = check;
  }

  /** The first record that was read and not yet dropped. */
  get first(): RecordArray | undefined {
    return this.#waiting[0];
  }

  /** The next records, as many as `wanted` says; fewer at the end. It is asked again after each record. */
  async take(wanted: () => number): Promise<readonly RecordArray[]> {
    const ahead = this.#ahead;
    this.#ahead = null;
    if (ahead) await ahead;
    while (!this.#ended && this.#waiting.length < wanted()) {
      const answer = this.#source.next();
      if (answer instanceof Promise) {
        this.#waits = true;
        this.#add(await answer);
      } else this.#add(answer);
    }
    return this.#waiting.slice(0, wanted());
  }

  /** Reads so many more records in the background; a failure is told by the next `take`. */
  readAhead(count: number): void {
    if (!this.#waits || this.#ended) return;
    this.#ahead ??= this.#fill(this.#waiting.length + count);
    this.#ahead.catch(() => {});
  }

  /** These many records are done. */
  drop(count: number): void {
    this.#waiting = this.#waiting.slice(count);
  }

  /** Lets the source go. A read in progress is not waited for: it may never end. */
  async close(): Promise<void> {
    this.#ended = true;
    const closed = this.#source.return?.();
    if (!this.#reading) await closed;
    else if (closed instanceof Promise) closed.catch(() => {});
  }

  async #fill(until: number): Promise<void> {
    this.#reading = true;
    try {
      while (!this.#ended && this.#waiting.length < until) this.#add(await this.#source.next());
    } finally {
      this.#reading = false;
    }
  }

  #add(next: IteratorResult<RecordArray, unknown>): void {
    if (next.done) this.#ended = true;
    else this.#waiting.push(this.#check(next.value, this.#count++));
  }
}
