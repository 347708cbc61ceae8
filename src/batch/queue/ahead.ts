// Short chunks are fetched ahead: while some run the next are there already, and no worker waits for Redis between two of them. Of a
// parcel as many are kept as would have been fetched, or all if they will have run in a moment.
//
// What was fetched ahead cannot go to another worker meanwhile. So only short chunks are, by how long the last ones took, and one that
// has to wait for long all the same goes back to the queue.

/** Longer chunks are not fetched ahead: asking for the next takes a small part of their time. */
const shortMs = 50;
/** So many milliseconds of chunks are fetched ahead, and no more than so many chunks. */
const readyMs = 5;
const mostAhead = 16;
/** A parcel is kept as a whole if it should be done in so many milliseconds. */
const parcelMs = 20;
/** How long a chunk may wait for its turn. */
const patienceMs = 100;
/** Chunks that tell how long one takes. */
const remembered = 4;

interface Waiting {
  readonly go: (mayRun: boolean) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

export class Ahead {
  readonly #concurrency: number;
  /** Told how many loads are to be fetched at once: chunks that travel alone, or parcels. */
  readonly #fetch: (loads: number) => void;
  /** In the order of their arrival. */
  readonly #waiting: Waiting[] = [];
  readonly #lately: number[] = [];
  #running = 0;
  #extra = 0;
  /** Chunks of the last load. */
  #together = 1;
  #asked: number;
  #closed = false;

  constructor(concurrency: number, fetch: (loads: number) => void) {
    this.#concurrency = concurrency;
    this.#asked = concurrency;
    this.#fetch = fetch;
  }

  /** How many are kept of so many chunks that came together. */
  keeps(count: number): number {
    if (this.#closed) return 0;
    if ((this.#longest() * count) / this.#concurrency <= parcelMs) return count;
    const wanted = this.#concurrency + this.#extra - this.#running - this.#waiting.length;
    return Math.min(count, Math.max(0, wanted));
  }

  /** Loads have so many chunks now. */
  carried(count: number): void {
    if (count === this.#together) return;
    this.#together = count;
    this.#ask();
  }

  /** A chunk is there. True when it may run: `left` has to be called then. False if it should go back to the queue. */
  enter(): boolean | Promise<boolean> {
    if (this.#closed) return false;
    if (this.#running < this.#concurrency) {
      this.#running++;
      return true;
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(own), 1);
        this.#lately.length = 0;
        this.#decide();
        resolve(false);
      }, patienceMs);
      const own: Waiting = { go: resolve, timer };
      this.#waiting.push(own);
    });
  }

  /** A chunk has been run, and took so long. */
  left(ms: number): void {
    this.#running--;
    this.#lately.push(ms);
    if (this.#lately.length > remembered) this.#lately.shift();
    const next = this.#waiting.shift();
    if (next) {
      this.#running++;
      clearTimeout(next.timer);
      next.go(true);
    }
    this.#decide();
  }

  /** What waits goes back to the queue. */
  close(): void {
    this.#closed = true;
    this.#set(0);
    for (const { go, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      go(false);
    }
  }

  /** How long a chunk takes at most, by the last ones. */
  #longest(): number {
    return this.#lately.length < 2 ? Number.POSITIVE_INFINITY : Math.max(...this.#lately, 0.01);
  }

  #decide(): void {
    const longest = this.#longest();
    const short = longest <= shortMs && !this.#closed;
    this.#set(short ? Math.min(mostAhead, 1 + Math.floor(readyMs / longest)) : 0);
  }

  #set(extra: number): void {
    this.#extra = extra;
    this.#ask();
  }

  #ask(): void {
    const chunks = this.#concurrency + this.#extra;
    // While one parcel runs the next is fetched.
    const loads = this.#together === 1 ? chunks : 1 + Math.ceil(chunks / this.#together);
    if (loads === this.#asked) return;
    this.#asked = loads;
    this.#fetch(loads);
  }
}
