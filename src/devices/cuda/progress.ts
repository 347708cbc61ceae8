// How far the compute stream has come, as numbers: everything enqueued there has one, in order.
//
// Bytes remember the number of the last work that used them. A copy on another stream may touch them as soon as that number is known to
// be done, however much is enqueued behind it. If it is not known, the copy stream waits for a point on the compute stream behind
// that work: one that was set when a good deal of work had been enqueued, so that results can be copied while later ones are
// computed; else for everything so far.

import type { EventPool } from './events.ts';

/** Work on so many bytes takes a device longer than setting a point takes the host. */
const pointBytes = 32 * 2 ** 20;
/** Points that are kept: the oldest go first. */
const mostPoints = 64;

interface Point {
  readonly number: number;
  readonly event: number;
}

export class Progress {
  /** Of the newest work. */
  enqueued = 0;
  /** All work up to this number is done. */
  done = 0;
  readonly #events: EventPool;
  readonly #stream: number;
  /** Oldest first. */
  readonly #points: Point[] = [];
  /** Bytes that work since the last point uses. */
  #bytes = 0;

  /** `stream`: the compute stream. */
  constructor(events: EventPool, stream: number) {
    this.#events = events;
    this.#stream = stream;
  }

  /** The number of work that is about to be enqueued. */
  next(): number {
    return ++this.enqueued;
  }

  /** The newest work, which uses so many bytes, is enqueued. */
  launched(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < pointBytes) return;
    this.#bytes = 0;
    if (this.#points.length === mostPoints) this.#events.recycle(this.#points.shift()!.event);
    this.#points.push({ number: this.enqueued, event: this.#events.record(this.#stream) });
  }

  /** Makes another stream wait for the work of a number, by `wait` with an event. */
  behind(number: number, wait: (event: number) => void): void {
    if (number <= this.done) return;
    const point = this.#points.find((p) => p.number >= number);
    if (point) {
      wait(point.event);
      return;
    }
    const event = this.#events.record(this.#stream);
    wait(event);
    // A wait refers to the recording it saw, so the event can be used again.
    this.#events.recycle(event);
  }

  /** Somebody saw the end of all work up to a number. */
  seen(number: number): void {
    if (number <= this.done) return;
    this.done = number;
    while (this.#points.length > 0 && this.#points[0]!.number <= number)
      this.#events.recycle(this.#points.shift()!.event);
  }
}
