// Points on a device's timeline that somebody may wait for, or measure between.

import { turnIfDue } from '../../base/turn.ts';
import type { Mark } from '../device.ts';
import type { Driver } from './driver.ts';
import { isDone } from './events.ts';
import type { Progress } from './progress.ts';
import { type Bed, spinMs, type Waits, whenDone } from './waits.ts';

/** What a mark needs that is waited for, and not asked for its time. */
export interface OnceMark {
  /** Gives its event back when it is done. */
  readonly recycle: () => void;
  readonly bed: Bed;
}

export class CudaMark implements Mark {
  readonly event: number;
  readonly #driver: Driver;
  /** Of all marks of a device together. */
  readonly #waits: Waits;
  /** Null if its time may still be asked for: then it is waited for as it is. */
  readonly #once: OnceMark | null;
  readonly #progress: Progress;
  /** The newest work when it was set. */
  readonly #number: number;
  #done = false;

  constructor(driver: Driver, event: number, progress: Progress, waits: Waits, once: OnceMark | null) {
    this.#driver = driver;
    this.#progress = progress;
    this.#number = progress.enqueued;
    this.event = event;
    this.#waits = waits;
    this.#once = once;
  }

  done(): boolean {
    if (!this.#done && (this.#passed || isDone(this.#driver, this.event))) this.#finish();
    return this.#done;
  }

  /** Later work was seen to be done: the driver need not be asked, unless the event's own time may be. */
  get #passed(): boolean {
    return this.#once !== null && this.#progress.done >= this.#number;
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#progress.seen(this.#number);
    this.#once?.recycle();
  }

  whenDone(): Promise<void> {
    if (this.#done) return Promise.resolve();
    // Of many waits at once only the first spins, and only when the caller has nothing more to enqueue.
    const spin = this.#waits.open++ === 0 ? spinMs : 0;
    const before = this.#waits.behind(this.#number);
    const wait = this.#wait(before, spin);
    this.#waits.newest = { number: this.#number, end: wait.catch(() => {}) };
    return wait;
  }

  async #wait(before: Promise<void> | undefined, spin: number): Promise<void> {
    try {
      await before;
      // Somebody else may have seen its end meanwhile, and its event may be another mark's.
      if (this.#done || this.#passed) await turnIfDue(performance.now());
      else await whenDone(this.#driver, this.event, this.#waits, spin, this.#once?.bed);
      this.#finish();
    } finally {
      this.#waits.open--;
    }
  }

  since(earlier: Mark): number | null {
    if (!(earlier instanceof CudaMark) || this.#once || earlier.#once) return null;
    const { call, outAddress, out } = this.#driver;
    if (call.cuEventElapsedTime(outAddress, earlier.event, this.event) !== 0) return null;
    return new Float32Array(out.buffer, 0, 1)[0]!;
  }
}
