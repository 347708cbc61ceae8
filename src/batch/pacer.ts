// Keeps the device usable for others: after each piece of work it waits so long that, over any longer window, the device is
// busy with our work for the ceiling's share of the time, and no more. Timers come late: what a rest took too long is taken off
// the next ones, so that the share is met and not only kept to.

import { aborted } from '../index.ts';
import { type Clock, pause } from '../profile/clock.ts';

export class Pacer {
  readonly #clock: Clock;
  readonly #ceiling: number | null;
  /** Time the device must still rest for what it has done; below 0 it has rested too long. */
  #debt = 0;
  #since: number | null = null;

  /** `ceiling`: 0 to 1, or null for none. */
  constructor(clock: Clock, ceiling: number | null) {
    this.#clock = clock;
    this.#ceiling = ceiling;
  }

  /** The device was busy for `ms` until now: waits until more may be sent, or null if that is now. */
  rest(ms: number, signal?: AbortSignal | undefined): Promise<void> | null {
    if (this.#ceiling === null) return null;
    const now = this.#clock.now();
    // What passed since the last work without the device being busy has already paid.
    const idle = this.#since === null ? 0 : Math.max(0, now - this.#since - ms);
    // Rest cannot be saved up: a busy stretch after a long pause must still keep to the ceiling.
    const paid = this.#debt > 0 ? Math.max(0, this.#debt - idle) : this.#debt;
    this.#debt = paid + ms * (1 / this.#ceiling - 1);
    this.#since = now;
    return this.#debt < leastMs ? null : this.#sleep(now, signal);
  }

  async #sleep(now: number, signal: AbortSignal | undefined): Promise<void> {
    await pause(this.#clock, this.#debt, signal, () => aborted('rest', signal));
    const slept = this.#clock.now() - now;
    this.#debt = Math.max(-mostCreditMs, this.#debt - slept);
    this.#since = this.#clock.now();
  }
}

/** Shorter rests are saved up: timers are no finer. */
const leastMs = 2;
/** A timer that comes later than this is somebody else's doing, and not made up for. */
const mostCreditMs = 50;
