// Short chunks are fetched ahead: while some run the next are there already, and no worker waits for Redis between two of them.
//
// What was fetched ahead cannot go to another worker meanwhile. So only short chunks are, by how long the last ones took, and one that
// has to wait for long all the same goes back to the queue.

/** Longer chunks are not fetched ahead: asking for the next takes a small part of their time. */
const shortMs = 50;
/** So many milliseconds of chunks are fetched ahead, and no more than so many chunks. */
const readyMs = 5;
const mostAhead = 16;
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
  /** Told how many chunks are to be fetched at once. */
  readonly #fetch: (chunks: number) => void;
  /** In the order of their arrival. */
  readonly #waiting: Waiting[] = [];
  readonly #lately: number[] = [];
  #running = 0;
  #extra = 0;
  #closed = false;

  constructor(concurrency: number, fetch: (chunks: number) => void) {
    this.#concurrency = concurrency;
    this.#fetch = fetch;
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

  #decide(): void {
    const longest = this.#lately.length < 2 ? Number.POSITIVE_INFINITY : Math.max(...this.#lately);
    const short = longest <= shortMs && !this.#closed;
    this.#set(short ? Math.min(mostAhead, 1 + Math.floor(readyMs / Math.max(longest, 0.01))) : 0);
  }

  #set(extra: number): void {
    if (extra === this.#extra) return;
    this.#extra = extra;
    this.#fetch(this.#concurrency + extra);
  }
}
