// How many items to process at once, learned from what happened.
//
// From the first size the search goes up by factors while the throughput rises; if it never did, down by factors; then it
// stays at the best size. That takes about ten chunks; now and then it looks around again. When memory runs out the size is halved, down to 1; between the
// size that worked and the one that did not, a few later chunks bisect. What worked is remembered for the next call with the
// same key, so all chunks together meet at most log2(size) + 4 refusals.

export interface ChunkOptions {
  /** The first size. Default 100. */
  readonly start?: number | undefined;
  /** Never more than this. Default: no limit. */
  readonly most?: number | undefined;
  /** False keeps the size, but for lack of memory. Default true. */
  readonly grow?: boolean | undefined;
}

/** A rise in throughput that is worth going on for. */
const worthwhile = 1.05;
const factor = 4;
/** Sizes that are tried, and chunks per size: the first of a size may compile or allocate. */
const maxTrials = 5;
const samplesPerSize = 2;
/** Chunks at a settled size before another one is tried. */
const lookAgain = 64;
/** Bisections between the size that worked and the one that did not. */
const maxBisections = 3;

export class ChunkSizer {
  readonly #most: number;
  readonly #grow: boolean;
  #size: number;
  #direction: 'up' | 'down' | 'none';
  /** The largest size known to fit, and the smallest known not to. */
  #fits = 0;
  #fails = Number.POSITIVE_INFINITY;
  #bisections = 0;
  #trials = 1;
  #best = { size: 0, rate: 0 };
  #samples = 0;
  #rate = 0;
  /** Where the search began. */
  #first: number;

  constructor(options: ChunkOptions = {}) {
    this.#most = options.most ?? Number.MAX_SAFE_INTEGER;
    this.#size = Math.max(1, Math.min(options.start ?? 100, this.#most));
    this.#first = this.#size;
    this.#grow = options.grow ?? true;
    this.#direction = this.#grow ? 'up' : 'none';
  }

  /** The size of the next chunk of what is left. */
  next(left: number): number {
    return Math.min(this.#size, left);
  }

  get size(): number {
    return this.#size;
  }

  /** Whether the size has stopped moving. */
  get settled(): boolean {
    return this.#direction === 'none';
  }

  /** A chunk of this size took this long. */
  succeeded(size: number, ms: number): void {
    this.#fits = Math.max(this.#fits, size);
    // A remainder tells nothing about the size that is being tried.
    if (size !== this.#size || !this.#grow) return;
    const rate = size / Math.max(ms, 1e-6);
    if (this.settled) {
      this.#stay(rate);
      return;
    }
    this.#rate = Math.max(this.#rate, rate);
    if (++this.#samples < samplesPerSize) return;
    const better = this.#rate > this.#best.rate * worthwhile;
    // One more look before a size is given up: the machine may have been busy with something else.
    if (!better && this.#samples === samplesPerSize) return;
    if (better) this.#best = { size, rate: this.#rate };
    // Going up never helped: perhaps less is more.
    else if (this.#direction === 'up' && this.#best.size === this.#first) this.#direction = 'down';
    else {
      this.#settle();
      return;
    }
    const next = this.#nextSize();
    if (next === null || this.#trials++ >= maxTrials) this.#settle();
    else this.#move(next);
  }

  /** Settled: watches the rate, and looks around again after a while. */
  #stay(rate: number): void {
    this.#best = { size: this.#size, rate: this.#best.rate + 0.1 * (rate - this.#best.rate) };
    if (++this.#samples < lookAgain) return;
    this.#direction = 'up';
    this.#first = this.#size;
    this.#trials = maxTrials - 1;
    const next = this.#nextSize();
    if (next === null) this.#settle();
    else this.#move(next);
  }

  /** A chunk of this size did not fit. False if there is nothing smaller to try. */
  failed(size: number): boolean {
    this.#fails = Math.min(this.#fails, size);
    if (this.#fits >= this.#fails) this.#fits = 0;
    if (this.#best.size >= this.#fails) this.#best = { size: 0, rate: 0 };
    this.#move(this.#fits > 0 ? this.#fits : Math.max(1, Math.floor(size / 2)));
    return size > 1;
  }

  #nextSize(): number | null {
    const from = this.#best.size;
    if (this.#direction === 'down') {
      const down = Math.floor(from / factor);
      return down >= 1 ? down : from > 1 ? 1 : null;
    }
    const limit = Math.min(this.#most, this.#fails - 1);
    if (from >= limit) return null;
    if (this.#fails === Number.POSITIVE_INFINITY) return Math.min(limit, from * factor);
    const middle = Math.floor((from + this.#fails) / 2);
    return middle > from && this.#bisections++ < maxBisections ? middle : null;
  }

  #settle(): void {
    this.#move(Math.max(1, this.#best.size));
    this.#direction = 'none';
  }

  #move(size: number): void {
    this.#size = size;
    this.#samples = 0;
    this.#rate = 0;
  }
}
