// So many of something a second, with some to spare after a rest: what was held back on the way and comes all at once is not too much.

export class Rate {
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #at = performance.now();

  /** `burst`: how many may come at once; at least one. */
  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = Math.max(1, burst);
    this.#left = this.#burst;
  }

  /** Whether one more may come now. */
  take(): boolean {
    const now = performance.now();
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
