// What a pool of whole blocks learns from having destroyed too much: how far it may grow beyond its usual bound.
//
// Sizes of destroyed blocks are remembered. A block that is made shortly after one like it was destroyed should have been
// kept. Each such block raises the bound where it shows that the work is a loop which needs more: when the last requests came in
// just this order before, or when most of what is made had been destroyed. Where sizes come back by chance,
// as in irregular work, neither is the case, and the bound stays.

/** Share of the bytes made lately that must have been destroyed before. */
const telling = 0.6;

/** How long "lately" is, in bytes made, as a multiple of the largest use. */
const memory = 4;

/** A destroyed block would have served a request down to this part of its size. */
const alike = 1.5;

const remembered = 64;

/** So many requests in the same order as before are a loop. */
const run = 8;

/** Requests that are looked through for them. */
const history = 1024;

export class Regrets {
  /** Sizes of destroyed blocks, the earliest first. */
  #destroyed: number[] = [];
  #bytes = 0;
  /** Bytes made lately, and those of them that had been destroyed before; both fade as more is made. */
  #made = 0;
  #again = 0;
  #allowance = 0;
  /** Sizes of the last requests; the next one goes to `#asked` modulo their number. */
  readonly #requests = new Float64Array(history);
  #asked = 0;

  readonly #most: number;

  /** `most`: how far the bound may be raised, as a share of the largest use. */
  constructor(most: number) {
    this.#most = most;
  }

  /** What may be held beyond the usual bound. */
  get allowance(): number {
    return this.#allowance;
  }

  /** A block is asked for. */
  asked(size: number): void {
    this.#requests[this.#asked++ % history] = size;
  }

  /** A block was destroyed to make room for another; `peak` is the largest use so far. */
  destroyed(size: number, peak: number): void {
    this.#destroyed.push(size);
    this.#bytes += size;
    while (this.#destroyed.length > remembered || (this.#bytes > peak && this.#destroyed.length > 1))
      this.#bytes -= this.#destroyed.shift()!;
  }

  /** A block has to be made for the last request. Whether it should have been kept, by a loop. */
  made(size: number, peak: number): boolean {
    const kept = Math.exp(-size / (memory * peak));
    this.#made = this.#made * kept + size;
    this.#again *= kept;
    const at = this.#destroyed.findIndex((d) => d >= size && d <= alike * size);
    if (at < 0) return false;
    this.#bytes -= this.#destroyed.splice(at, 1)[0]!;
    this.#again += size;
    if (this.#again < telling * this.#made && !this.#repeats()) return false;
    this.#allowance = Math.min(this.#allowance + size, this.#most * peak);
    return true;
  }

  clear(): void {
    this.#destroyed = [];
    this.#bytes = this.#made = this.#again = this.#allowance = this.#asked = 0;
  }

  /** Whether the last requests came in this order before. */
  #repeats(): boolean {
    const last = this.#asked - 1;
    const first = Math.max(0, this.#asked - history) + run - 1;
    for (let end = last - 1; end >= first; end--) {
      let same = 0;
      while (same < run && this.#requests[(end - same) % history] === this.#requests[(last - same) % history]) same++;
      if (same === run) return true;
    }
    return false;
  }
}
