// The records of a dataset, from wherever they come. What can be had at once is not awaited: a promise per record would cost more
// than most records. What has to be awaited is read in the background: while some records are being processed, the next ones
// arrive, up to a limit.

import { isThenable } from '../base/callbacks.ts';
import { aborted, type TypedArray } from '../index.ts';
import type { Clock } from '../profile/clock.ts';
import { endsWithin } from './ends-within.ts';

/** One record. */
export type RecordArray = Exclude<TypedArray, Uint16Array>;

export type Records = Iterator<RecordArray, unknown> | AsyncIterator<RecordArray, unknown>;

type Answer = IteratorResult<RecordArray, unknown>;

/** How long a source may take to end when nobody wants more of it. */
const closeMs = 5000;

export class RecordReader {
  readonly #source: Records;
  readonly #clock: Clock;
  readonly #check: (record: unknown, index: number) => RecordArray;
  readonly #copies: boolean;
  #waiting: RecordArray[] = [];
  #count = 0;
  #ended = false;
  /** The source has said that it ended, or failed: it is not left, as a loop would not leave it. */
  #over = false;
  #failure: { readonly error: unknown } | null = null;
  /** Whether records are read in the background at the moment. */
  #filling = false;
  /** Whether the source has to be awaited. */
  #waits = false;
  /** Records that are read without anybody waiting for them. */
  #limit = 0;
  #arrived: (() => void) | null = null;

  /** `check` refuses what is not a record. `copies`: the source may give the same array again, with other values in it. */
  constructor(source: Records, clock: Clock, check: (record: unknown, index: number) => RecordArray, copies: boolean) {
    this.#source = source;
    this.#clock = clock;
    this.#check = check;
    this.#copies = copies;
  }

  /** The first record that was read and not yet dropped. */
  get first(): RecordArray | undefined {
    return this.#waiting[0];
  }

  /**
   * The next records, as many as `wanted` says (asked again after each record); fewer at the end, and where `whole` is false as
   * many of them as there are by the time there is one: waiting for more would leave the device idle.
   */
  async take(wanted: () => number, whole: boolean, signal?: AbortSignal): Promise<readonly RecordArray[]> {
    let waited = false;
    while (!this.#ended && !this.#failure && this.#waiting.length < (whole || !this.#waits ? wanted() : 1)) {
      if (!this.#waits) this.#next();
      else {
        this.readAhead(wanted());
        await this.#arrival(signal);
        waited = true;
      }
    }
    // Of what comes quickly there is more by the next turn.
    if (waited && !whole) await this.#clock.turn();
    if (this.#failure) throw this.#failure.error;
    return this.#waiting.slice(0, wanted());
  }

  /** Reads in the background until so many records are here that were not dropped; a failure is told by the next `take`. */
  readAhead(limit: number): void {
    this.#limit = limit;
    const done = this.#ended || this.#failure || this.#waiting.length >= limit;
    if (this.#waits && !this.#filling && !done) this.#next();
  }

  /** These many records are done. */
  drop(count: number): void {
    this.#waiting = this.#waiting.slice(count);
  }

  /**
   * Lets a source go that has not ended, which has five seconds to clean up. A read in progress is not waited for: it may never end. Who
   * leaves early has an error to tell, and that of the source is none beside it.
   */
  async close(): Promise<void> {
    this.#ended = true;
    if (this.#over) return;
    const closed = (async () => this.#source.return?.())().catch(() => {});
    if (!this.#filling) await endsWithin(closeMs, closed, (ms, then) => this.#clock.after(ms, then));
  }

  /** Asks for one record; where that takes time, in the background for all up to the limit. */
  #next(): void {
    const answer = this.#asked();
    if (isThenable<Answer>(answer)) {
      this.#waits = true;
      void this.#fill(answer);
    } else this.#add(answer);
  }

  #asked(): Answer | Promise<Answer> {
    try {
      return this.#source.next();
    } catch (error) {
      this.#over = true;
      throw error;
    }
  }

  /** An answer that is on its way. */
  async #told(coming: Answer | Promise<Answer>): Promise<Answer> {
    try {
      return await coming;
    } catch (error) {
      this.#over = true;
      throw error;
    }
  }

  async #fill(first: Promise<Answer>): Promise<void> {
    this.#filling = true;
    try {
      this.#add(await this.#told(first));
      while (!this.#ended && this.#waiting.length < this.#limit) {
        this.#arrived?.();
        this.#add(await this.#told(this.#asked()));
      }
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#filling = false;
      this.#arrived?.();
    }
  }

  #add(next: Answer): void {
    if (next.done) this.#ended = this.#over = true;
    else if (!this.#ended) {
      const record = this.#check(next.value, this.#count++);
      this.#waiting.push(this.#copies ? (record.slice() as RecordArray) : record);
    }
  }

  /** Waits until something has changed. */
  #arrival(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(aborted('processDataset', signal));
      this.#arrived = () => {
        signal?.removeEventListener('abort', stop);
        this.#arrived = null;
        resolve();
      };
      if (signal?.aborted) stop();
      signal?.addEventListener('abort', stop, { once: true });
    });
  }
}
