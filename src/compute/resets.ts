// How often each device was reset lately, and whether once more is within the limit.

import type { Clock } from './clock.ts';

const windowMs = 10 * 60_000;

export class ResetBook {
  readonly limit: number;
  readonly #clock: Clock;
  readonly #times = new Map<string, number[]>();

  /** `limit`: resets of one device within 10 minutes. */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.limit = limit;
  }

  allows(device: string): boolean {
    return this.#recent(device).length < this.limit;
  }

  /** Notes a reset; true if it was one too many. */
  note(device: string): boolean {
    const recent = this.#recent(device);
    recent.push(this.#clock.now());
    return recent.length > this.limit;
  }

  #recent(device: string): number[] {
    const since = this.#clock.now() - windowMs;
    const recent = (this.#times.get(device) ?? []).filter((t) => t > since);
    this.#times.set(device, recent);
    return recent;
  }
}
