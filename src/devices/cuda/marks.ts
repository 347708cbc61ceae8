// Points on a device's timeline that somebody may wait for, or measure between.

import type { Mark } from '../device.ts';
import type { Driver } from './driver.ts';
import { isDone } from './events.ts';
import type { Progress } from './progress.ts';
import { spinMs, type Waits, whenDone } from './waits.ts';

export class CudaMark implements Mark {
  readonly event: number;
  readonly #driver: Driver;
  /** Of all marks of a device together. */
  readonly #waits: Waits;
  /** Gives the event back when it is done; null if its time may still be asked for. */
  readonly #recycle: (() => void) | null;
  readonly #progress: Progress;
  /** The newest work when it was set. */
  readonly #number: number;
  #done = false;

  constructor(driver: Driver, event: number, progress: Progress, waits: Waits, recycle: (() => void) | null) {
    this.#driver = driver;
    this.#progress = progress;
    this.#number = progress.enqueued;
    this.event = event;
    this.#waits = waits;
    this.#recycle = recycle;
  }

  done(): boolean {
    if (!this.#done && isDone(this.#driver, this.event)) this.#finish();
    return this.#done;
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#progress.seen(this.#number);
    this.#recycle?.();
  }

  async whenDone(): Promise<void> {
    if (this.#done) return;
    // Of many waits at once only the first spins, and only when the caller has nothing more to enqueue.
    const spin = this.#waits.open++ === 0 ? spinMs : 0;
    try {
      await undefined;
      // Somebody else may have seen its end meanwhile, and its event may be another mark's.
      if (!this.#done) await whenDone(this.#driver, this.event, this.#waits, spin);
      this.#finish();
    } finally {
      this.#waits.open--;
    }
  }

  since(earlier: Mark): number | null {
    if (!(earlier instanceof CudaMark) || this.#recycle || earlier.#recycle) return null;
    const { call, outAddress, out } = this.#driver;
    if (call.cuEventElapsedTime(outAddress, earlier.event, this.event) !== 0) return null;
    return new Float32Array(out.buffer, 0, 1)[0]!;
  }
}
