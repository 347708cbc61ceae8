// When launches ran on the device, by pairs of timed events around them.
//
// Times count from an anchor: an event on a stream of its own, which never waits for work. The driver gives times since then as
// 32-bit floats, so the anchor is renewed at every comparison of the clocks (every ten seconds): the digits stay below 1 µs. The
// clock itself goes on through all anchors. Events are limited; when all wait for the device, launches go unmeasured.

import { type ClockSample, clockReadings, compareClocks } from '../clock.ts';
import type { ClockReading, Span } from '../device.ts';
import type { Driver } from './driver.ts';
import { isDone } from './events.ts';

/** Timed events of a device, at most. */
const mostEvents = 4096;
const nonBlocking = 1;
/** A reading that took longer is given up: something keeps the device busy. */
const mostMs = 50;

interface Anchor {
  readonly event: number;
  /** What the clock showed there. */
  readonly base: number;
  /** Spans that count from here and are not known yet. */
  waiting: number;
}

interface Pair {
  readonly id: number;
  readonly anchor: Anchor;
  readonly begin: number;
  readonly end: number;
}

export class CudaSpans {
  /** Launches that went unmeasured for lack of events. */
  dropped = 0;
  readonly #driver: Driver;
  readonly #compute: number;
  /** Of its own: an event there is reached at once, whatever the device works on. */
  readonly #stream: number;
  readonly #idle: number[] = [];
  readonly #all: number[] = [];
  readonly #pairs: Pair[] = [];
  #known: Span[] = [];
  #anchor: Anchor;

  constructor(driver: Driver, compute: number) {
    this.#driver = driver;
    this.#compute = compute;
    driver.check(driver.call.cuStreamCreate(driver.outAddress, nonBlocking), 'cuStreamCreate');
    this.#stream = driver.u64();
    this.#anchor = { event: this.#record(this.#stream), base: 0, waiting: 0 };
  }

  /** Marks the start of a launch; 0 if there is no event left for it. */
  begin(): number {
    if (this.#left < 2) this.#collect();
    if (this.#left < 2) {
      this.dropped++;
      return 0;
    }
    return this.#record(this.#compute);
  }

  /** Marks its end. */
  end(id: number, begin: number): void {
    if (begin === 0) return;
    this.#anchor.waiting++;
    this.#pairs.push({ id, anchor: this.#anchor, begin, end: this.#record(this.#compute) });
  }

  take(): readonly Span[] {
    this.#collect();
    const known = this.#known;
    if (known.length > 0) this.#known = [];
    return known;
  }

  clock(): ClockReading {
    const samples: ClockSample[] = [];
    for (let i = 0; i < clockReadings; i++) {
      const before = performance.now();
      const event = this.#record(this.#stream);
      while (!isDone(this.#driver, event) && performance.now() - before < mostMs);
      const after = performance.now();
      if (!isDone(this.#driver, event)) {
        this.#driver.check(this.#driver.call.cuEventSynchronize(event), 'reading the clock of the device');
      }
      const device = this.#anchor.base + this.#since(this.#anchor.event, event);
      samples.push({ before, after: Math.max(after, performance.now()), device });
      if (i < clockReadings - 1) this.#idle.push(event);
      else this.#move({ event, base: device, waiting: 0 });
    }
    return compareClocks(samples);
  }

  close(): void {
    const { call } = this.#driver;
    for (const e of this.#all) call.cuEventDestroy_v2(e);
    call.cuStreamDestroy_v2(this.#stream);
    this.#all.length = 0;
  }

  get #left(): number {
    // The anchor and the event of a reading of the clock always have one.
    return this.#idle.length + mostEvents - 2 - this.#all.length;
  }

  /** Takes over what the device is done with, in the order of the launches. */
  #collect(): void {
    let done = 0;
    for (const { id, anchor, begin, end } of this.#pairs) {
      if (!isDone(this.#driver, end)) break;
      const start = anchor.base + this.#since(anchor.event, begin);
      this.#known.push({ id, start, end: start + this.#since(begin, end) });
      this.#idle.push(begin, end);
      anchor.waiting--;
      if (anchor !== this.#anchor && anchor.waiting === 0) this.#idle.push(anchor.event);
      done++;
    }
    this.#pairs.splice(0, done);
  }

  #move(anchor: Anchor): void {
    if (this.#anchor.waiting === 0) this.#idle.push(this.#anchor.event);
    this.#anchor = anchor;
  }

  #since(earlier: number, later: number): number {
    const { call, outAddress, out } = this.#driver;
    this.#driver.check(call.cuEventElapsedTime(outAddress, earlier, later), 'cuEventElapsedTime');
    return new Float32Array(out.buffer, 0, 1)[0]!;
  }

  #record(stream: number): number {
    const { call } = this.#driver;
    let event = this.#idle.pop();
    if (event === undefined) {
      this.#driver.check(call.cuEventCreate(this.#driver.outAddress, 0), 'cuEventCreate');
      event = this.#driver.u64();
      this.#all.push(event);
    }
    this.#driver.check(call.cuEventRecord(event, stream), 'cuEventRecord');
    return event;
  }
}
