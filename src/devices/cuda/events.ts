// Events: points on a stream's timeline. Reused, because creating one costs as much as a launch.

import { type Driver, status } from './driver.ts';

const disableTiming = 2;
const blockingSync = 1;

/**
 * `told`: a thread that waits for it sleeps. `timed`: so it does, and times between events are known. `polled`: without either; seen
 * to be done 5 to 10 µs sooner, but a thread that waits for it keeps a processor busy.
 */
export type EventKind = 'told' | 'timed' | 'polled';

const flags: Readonly<Record<EventKind, number>> = {
  told: blockingSync | disableTiming,
  timed: blockingSync,
  polled: disableTiming,
};

export class EventPool {
  readonly #driver: Driver;
  readonly #flags: number;
  readonly #idle: number[] = [];
  readonly #all: number[] = [];

  constructor(driver: Driver, kind: EventKind) {
    this.#driver = driver;
    this.#flags = flags[kind];
  }

  /** A new or idle event, recorded on the stream. */
  record(stream: number): number {
    const { call } = this.#driver;
    let event = this.#idle.pop();
    if (event === undefined) {
      this.#driver.check(call.cuEventCreate(this.#driver.outAddress, this.#flags), 'cuEventCreate');
      event = this.#driver.u64();
      this.#all.push(event);
    }
    this.#driver.check(call.cuEventRecord(event, stream), 'cuEventRecord');
    return event;
  }

  /** Only when nothing waits for it any more. */
  recycle(event: number): void {
    this.#idle.push(event);
  }

  close(): void {
    for (const e of this.#all) this.#driver.call.cuEventDestroy_v2(e);
    this.#all.length = 0;
    this.#idle.length = 0;
  }
}

export function isDone(driver: Driver, event: number): boolean {
  const code = driver.call.cuEventQuery(event);
  if (code === status.success) return true;
  if (code === status.notReady) return false;
  throw driver.error(code, 'waiting for the device');
}
