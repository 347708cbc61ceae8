// Waits for a point on a device's timeline without blocking the event loop.
//
// The end of a wait is seen at once only by who looks at that moment: another thread that is woken by the driver wakes this one 200 to
// 600 µs late. So a wait looks between turns of the loop as long as the end may be near: for its first two milliseconds, and around
// the time that waits took lately, since most long waits are those of a loop. In between it sleeps by timers of a millisecond, and
// what takes longer than expected is left to the other thread. Looking takes the processor: no more than a fifth of a wait beyond
// its first milliseconds.

import { turn, turnIfDue } from '../../base/turn.ts';
import { type Driver, status } from './driver.ts';
import { isDone } from './events.ts';

/** A kernel of a few µs is done before the event loop has turned. */
export const spinMs = 0.03;

/** How long every wait is looked at between turns of the loop. */
const patienceMs = 2;
/** How far waits vary that take the same: a share of the time, and how late a timer may fire. */
const variation = 0.05;
const timerMs = 1.2;
/** Of a wait, the part that may be spent looking. */
const lookingShare = 0.2;
/** Half a millisecond is nothing to waits that take longer than this. */
const longestMs = 100;
/** Waits that count as lately. */
const remembered = 4;

export type WaitStep = 'look' | 'sleep' | 'leave';

/** How long the waits for one device take. */
export class Waits {
  /** Those in progress. */
  open = 0;
  /** The wait for the latest point, and its end, which never rejects. */
  newest: { readonly number: number; readonly end: Promise<void> } | null = null;
  readonly #lately: number[] = [];

  /** What a wait for a point goes behind: points are reached in order, so that of many waits only one asks the driver. */
  behind(number: number): Promise<void> | undefined {
    return this.newest && this.newest.number <= number && this.open > 1 ? this.newest.end : undefined;
  }

  /** A wait beyond the first milliseconds took so long. */
  took(ms: number): void {
    this.#lately.push(ms);
    if (this.#lately.length > remembered) this.#lately.shift();
  }

  /** What a wait does that has lasted for `ms` and has looked for `looked` of them beyond the first. */
  next(ms: number, looked: number): WaitStep {
    if (this.#lately.length === 0) return 'leave';
    const earliest = Math.min(...this.#lately) * (1 - variation) - timerMs;
    const latest = Math.max(...this.#lately) * (1 + variation) + timerMs;
    if (earliest > longestMs) return 'leave';
    if (ms < earliest) return 'sleep';
    return ms <= latest && looked <= patienceMs + lookingShare * ms ? 'look' : 'leave';
  }
}

/** What another thread sleeps on, where the event itself would keep it awake. */
export interface Bed {
  /** An event that is done when the one that is waited for is; null if there is none now. */
  take(): number | null;
  giveBack(event: number): void;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits for an event. For `spin` milliseconds the loop stands still: what is done sooner than it turns is worth that. */
export async function whenDone(driver: Driver, event: number, waits: Waits, spin = 0, bed?: Bed): Promise<void> {
  const start = performance.now();
  do {
    if (!isDone(driver, event)) continue;
    const due = turnIfDue(start);
    if (due) await due;
    return;
  } while (performance.now() - start < spin);
  while (performance.now() - start < patienceMs) {
    if (isDone(driver, event)) return;
    await turn();
  }
  await whenDoneLater(driver, event, waits, start, bed);
  waits.took(performance.now() - start);
}

async function whenDoneLater(
  driver: Driver,
  event: number,
  waits: Waits,
  start: number,
  bed: Bed | undefined,
): Promise<void> {
  let looked = 0;
  for (let now = performance.now(); !isDone(driver, event); ) {
    const step = waits.next(now - start, looked);
    const on = step !== 'leave' ? null : bed ? bed.take() : event;
    if (on !== null) {
      const code = await driver.call.cuEventSynchronize.threaded(on).finally(() => bed?.giveBack(on));
      if (code === status.success) return;
      // Where the driver wants a context on that thread, timers have to do.
      if (code !== status.invalidContext) throw driver.error(code, 'waiting for the device');
    }
    await (step === 'look' ? turn() : pause(1));
    const before = now;
    now = performance.now();
    if (step === 'look') looked += now - before;
  }
}
