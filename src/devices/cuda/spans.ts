// When launches ran on the device, by timed events between them.
//
// A launch costs as little as possible while it is enqueued: one event behind it, and one before it only if the device may have
// been idle. On a busy stream a launch begins where the one before ended, so they share that event. Nothing is waited for, and
// nothing is built but a row of numbers; times are read later, many at once, when somebody asks for them.
//
// Events are limited. When all of them wait for the device, launches are measured together with the next one that gets an event.
//
// Times count from an anchor: an event on a stream of its own, which never waits for work. The driver gives times since then as
// 32-bit floats, so the anchor is renewed at every comparison of the clocks (every ten seconds): the digits stay below 1 µs. The
// clock itself goes on through all anchors.

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
}

export class CudaSpans {
  readonly #driver: Driver;
  readonly #compute: number;
  /** Of its own: an event there is reached at once, whatever the device works on. */
  readonly #stream: number;
  readonly #idle: number[] = [];
  readonly #all: number[] = [];
  /** Rows of launches whose times are not read yet, numbered from `#first` up to `#next`; a row's place is its number modulo the length. */
  readonly #ids = new Float64Array(mostEvents);
  /** The event before the launch; 0 if it began where the row before ended. */
  readonly #begins = new Float64Array(mostEvents);
  readonly #ends = new Float64Array(mostEvents);
  #first = 0;
  #next = 0;
  /** Launches that are measured together with a row's own, by its number. */
  readonly #together = new Map<number, number[]>();
  /** Launches that no event was left for. */
  #unmeasured: number[] = [];
  /** The event before the launch that is being enqueued; 0 if there is none. */
  #begin = 0;
  /** Nothing but measured launches was enqueued since the last row. */
  #linked = false;
  /** The end of the row that was read last, and what the clock showed there. */
  #last = 0;
  #time = Number.NEGATIVE_INFINITY;
  /** What is read and not taken: id, start and end of each, and the number of its row. */
  #known: number[] = [];
  /** Where the driver writes times. */
  readonly #out: Float32Array;
  #anchor: Anchor;
  /** The anchor before, which rows up to a number count from. */
  #before: Anchor | null = null;
  #since = 0;

  constructor(driver: Driver, compute: number) {
    this.#driver = driver;
    this.#compute = compute;
    this.#out = new Float32Array(driver.out.buffer, 0, 1);
    driver.check(driver.call.cuStreamCreate(driver.outAddress, nonBlocking), 'cuStreamCreate');
    this.#stream = driver.u64();
    this.#anchor = { event: this.#record(this.#stream), base: 0 };
  }

  /** Something else was enqueued: the next launch does not begin where the last one ended. */
  apart(): void {
    this.#linked = false;
  }

  /** A launch follows, and what it has to wait for is enqueued; without an id it is not measured. */
  begin(id: number | undefined): void {
    if (id === undefined) {
      this.#linked = false;
      return;
    }
    this.#dropBegin();
    if (this.#left < 2) this.#collect();
    // All events wait for the device, so it is busy: the launch begins where the last row ends.
    if (this.#left < 2 || this.#unmeasured.length > 0 || (this.#linked && this.#busy)) return;
    this.#begin = this.#record(this.#compute);
  }

  /** The launch is enqueued. */
  end(id: number | undefined): void {
    if (id === undefined) return;
    if (this.#begin === 0 && this.#left < 1) {
      this.#unmeasured.push(id);
      return;
    }
    this.#row(id);
  }

  take(): readonly Span[] {
    this.#collect();
    this.#dropBegin();
    if (this.#unmeasured.length > 0 && this.#left > 0) this.#row(this.#unmeasured.pop()!);
    const known = this.#known;
    if (known.length === 0) return [];
    this.#known = [];
    const spans: Span[] = [];
    for (let i = 0; i < known.length; i += 4) {
      const [id, start, end, row] = [known[i]!, known[i + 1]!, known[i + 2]!, known[i + 3]!];
      const ids = this.#together.get(row);
      this.#together.delete(row);
      spans.push(ids ? { id: ids[0]!, start, end, ids } : { id, start, end });
    }
    return spans;
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
      const device = this.#anchor.base + this.#elapsed(this.#anchor.event, event);
      samples.push({ before, after: Math.max(after, performance.now()), device });
      if (i < clockReadings - 1) this.#idle.push(event);
      else this.#move({ event, base: device });
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
    // Two anchors, the event of a reading of the clock and the end of the row read last always have one.
    return this.#idle.length + mostEvents - 4 - this.#all.length;
  }

  /** Whether the device has not reached the end of the newest row. */
  get #busy(): boolean {
    return this.#next > this.#first && !isDone(this.#driver, this.#ends[(this.#next - 1) % mostEvents]!);
  }

  /** Of a launch that failed. */
  #dropBegin(): void {
    if (this.#begin !== 0) this.#idle.push(this.#begin);
    this.#begin = 0;
  }

  #row(id: number): void {
    const at = this.#next % mostEvents;
    this.#ids[at] = id;
    this.#begins[at] = this.#begin;
    this.#ends[at] = this.#record(this.#compute);
    this.#begin = 0;
    this.#linked = true;
    if (this.#unmeasured.length > 0) {
      this.#together.set(this.#next, [...this.#unmeasured, id]);
      this.#unmeasured = [];
    }
    this.#next++;
  }

  /** Reads the times of the rows that the device is done with. */
  #collect(): void {
    const end = this.#doneUpTo();
    // The first one by the anchor: errors of many short times would add up.
    let anchored = false;
    for (; this.#first < end; this.#first++) {
      const at = this.#first % mostEvents;
      const [begin, done] = [this.#begins[at]!, this.#ends[at]!];
      const from = begin !== 0 ? begin : this.#last;
      if (begin !== 0 || !anchored) {
        const { event, base } = this.#anchorOf(this.#first);
        this.#time = Math.max(this.#time, base + this.#elapsed(event, from));
        anchored = true;
      }
      const start = this.#time;
      this.#time = start + this.#elapsed(from, done);
      this.#known.push(this.#ids[at]!, start, this.#time, this.#first);
      if (begin !== 0) this.#idle.push(begin);
      if (this.#last !== 0) this.#idle.push(this.#last);
      this.#last = done;
    }
  }

  /** The number behind the last row that is done: they are done in their order. */
  #doneUpTo(): number {
    let [low, high] = [this.#first, this.#next];
    const done = (row: number): boolean => isDone(this.#driver, this.#ends[row % mostEvents]!);
    if (low < high && done(high - 1)) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (done(middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #anchorOf(row: number): Anchor {
    return this.#before && row < this.#since ? this.#before : this.#anchor;
  }

  /** Rows from here on count from another anchor. */
  #move(anchor: Anchor): void {
    this.#collect();
    if (this.#before) this.#idle.push(this.#before.event);
    this.#before = this.#anchor;
    this.#since = this.#next;
    this.#anchor = anchor;
  }

  #elapsed(earlier: number, later: number): number {
    const { call, outAddress } = this.#driver;
    this.#driver.check(call.cuEventElapsedTime(outAddress, earlier, later), 'cuEventElapsedTime');
    return this.#out[0]!;
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
