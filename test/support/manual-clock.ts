// A clock of recovery that tests move by hand.

import type { Clock } from '../../src/governor/recovery/clock.ts';

interface Alarm {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to go on. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #alarms = new Set<Alarm>();

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const alarm = { at: this.#now + ms, callback };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** Alarms that are set and have not gone off. */
  get pending(): number {
    return this.#alarms.size;
  }

  /** Lets time pass; alarms go off in the order of their times, each at its own time. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#alarms].filter((a) => a.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#now = Math.max(this.#now, due.at);
      this.#alarms.delete(due);
      due.callback();
      // What the alarm woke gets to run, and may set the next one.
      for (let i = 0; i < 8; i++) await Promise.resolve();
    }
    this.#now = end;
    for (let i = 0; i < 8; i++) await Promise.resolve();
  }
}
