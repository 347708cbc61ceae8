// How often something happened lately: failures, and resets of a device.

import type { Clock } from './clock.ts';

export class Recent {
  readonly #clock: Clock;
  readonly #windowMs: number;
  #times: number[] = [];

  constructor(clock: Clock, windowMs: number) {
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  /** How often within the window. */
  get count(): number {
    return this.#fresh().length;
  }

  /** Milliseconds until the count falls by itself; null if there is nothing to forget. */
  get forgetsIn(): number | null {
    const [first] = this.#fresh();
    return first === undefined ? null : first + this.#windowMs - this.#clock.now();
  }

  add(): void {
    this.#fresh().push(this.#clock.now());
  }

  clear(): void {
    this.#times = [];
  }

  #fresh(): number[] {
    const after = this.#clock.now() - this.#windowMs;
    const stale = this.#times.findIndex((t) => t > after);
    if (stale !== 0) this.#times = stale < 0 ? [] : this.#times.slice(stale);
    return this.#times;
  }
}
