// Events: points on a stream's timeline. Reused, because creating one costs as much as a launch.

import { turn, turnIfDue } from '../../base/turn.ts';
import { type Driver, status } from './driver.ts';

const disableTiming = 2;
const blockingSync = 1;

export class EventPool {
  readonly #driver: Driver;
  readonly #flags: number;
  readonly #idle: number[] = [];
  readonly #all: number[] = [];

  constructor(driver: Driver, timing: boolean) {
    this.#driver = driver;
    this.#flags = timing ? blockingSync : blockingSync | disableTiming;
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

/** A kernel of a few µs is done before the event loop has turned. */
export const spinMs = 0.03;

export function isDone(driver: Driver, event: number): boolean {
  const code = driver.call.cuEventQuery(event);
  if (code === status.success) return true;
  if (code === status.notReady) return false;
  throw driver.error(code, 'waiting for the device');
}

/** How long a wait is polled between turns of the loop: being woken by another thread takes some 200 µs. */
const patienceMs = 2;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Waits without blocking the event loop, but for `spin` milliseconds: what is done sooner than the loop turns is worth a spin. Short waits poll between turns of the loop; a longer one is parked on another
 * thread, or polled with timers where the driver wants a context there.
 */
export async function whenDone(driver: Driver, event: number, spin = 0): Promise<void> {
  const start = performance.now();
  do {
    if (!isDone(driver, event)) continue;
    const due = turnIfDue(start);
    if (due) await due;
    return;
  } while (performance.now() - start < spin);
  const patience = performance.now() + patienceMs;
  while (performance.now() < patience) {
    if (isDone(driver, event)) return;
    await turn();
  }
  while (!isDone(driver, event)) {
    const code = await driver.call.cuEventSynchronize.threaded(event);
    if (code === status.success) return;
    if (code !== status.invalidContext) throw driver.error(code, 'waiting for the device');
    await pause(1);
  }
}
