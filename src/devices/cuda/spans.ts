// When launches ran on the device.
//
// Kernels of ours note it themselves (`stamps.ts`), which costs them next to nothing. Libraries' calls, users' own kernels and
// recordings are measured by timed events: one event behind a launch, and one before it only if the device may have been idle. On
// a busy stream a launch begins where the one before ended, so they share that event. Nothing is waited for, and nothing is built
// but a row of numbers; times are read later, many at once, when somebody asks for them.
//
// Events are limited. When all of them wait for the device, launches are measured together with the next one that gets an event.
//
// Times count from an anchor: an event on a stream of its own, which never waits for work. The driver gives times since then as
// 32-bit floats, so the anchor is renewed at every comparison of the clocks (every ten seconds): the digits stay below 1 µs. The
// clock itself goes on through all anchors. The clock that kernels read is the same one, counted from elsewhere: with every comparison
// of the clocks, launches that only look at it are put between two events.

import { type ClockSample, clockReadings, compareClocks } from '../clock.ts';
import type { ClockReading, Span } from '../device.ts';
import type { Driver } from './driver.ts';
import { isDone } from './events.ts';
import type { CudaProgram } from './program.ts';
import { Stamps, stamp } from './stamps.ts';
import type { KernelStep } from './step.ts';
import { spinMs, Waits, whenDone } from './waits.ts';

/** Timed events of a device, at most. */
const mostEvents = 4096;
const nonBlocking = 1;
/** A reading that took longer is given up: something keeps the device busy. */
const mostMs = 50;
/** Launches that look at the clock are repeated for so long. */
const probingMs = 2;

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
  /** Null if there is no memory for them: then kernels of ours are measured by events too. */
  readonly #stamps: Stamps | null;
  readonly #probe: () => KernelStep;
  readonly #waits = new Waits();
  /** What the clock of events shows where that of kernels shows 0, and how well that is known; both in ms. */
  #stampsFrom: { readonly base: number; readonly error: number } | null = null;
  /** The clock of events on the host's. */
  #reading: ClockReading | null = null;
  #closed = false;

  /** `probe` makes a launch that does nothing but note the time. */
  constructor(driver: Driver, compute: number, probe: () => KernelStep) {
    this.#driver = driver;
    this.#compute = compute;
    this.#probe = probe;
    this.#out = new Float32Array(driver.out.buffer, 0, 1);
    driver.check(driver.call.cuStreamCreate(driver.outAddress, nonBlocking), 'cuStreamCreate');
    this.#stream = driver.u64();
    this.#anchor = { event: this.#record(this.#stream), base: 0 };
    this.#stamps = Stamps.open(driver, compute, this.#stream);
  }

  /** Something else was enqueued: the next launch does not begin where the last one ended. */
  apart(): void {
    this.#linked = false;
    this.#stamps?.apart();
  }

  /** What notes the times of a program's next launch; null if events have to. */
  stampsFor({ make }: CudaProgram): Stamps | null {
    if (make.stamped === null || this.#stamps === null) return null;
    this.#linked = false;
    return this.#stamps;
  }

  /** A launch follows, and what it has to wait for is enqueued; without an id it is not measured. */
  begin(id: number | undefined): void {
    this.#stamps?.apart();
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
    const spans: Span[] = this.#takeStamped();
    const known = this.#known;
    if (known.length === 0) return spans;
    this.#known = [];
    for (let i = 0; i < known.length; i += 4) {
      const [id, start, end, row] = [known[i]!, known[i + 1]!, known[i + 2]!, known[i + 3]!];
      const ids = this.#together.get(row);
      this.#together.delete(row);
      spans.push(ids ? { id: ids[0]!, start, end, ids } : { id, start, end });
    }
    return spans;
  }

  async clock(): Promise<ClockReading> {
    const reading = this.#clockOfEvents();
    if (this.#stamps) await this.#compareStamps(this.#stamps);
    this.#reading = { ...reading, errorUs: reading.errorUs + 1000 * (this.#stampsFrom?.error ?? 0) };
    return this.#reading;
  }

  #clockOfEvents(): ClockReading {
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
    this.#closed = true;
    const { call } = this.#driver;
    this.#stamps?.close();
    for (const e of this.#all) call.cuEventDestroy_v2(e);
    call.cuStreamDestroy_v2(this.#stream);
    this.#all.length = 0;
  }

  #takeStamped(): Span[] {
    // Until the clocks were compared nobody knows when that was.
    if (this.#stamps === null || this.#stampsFrom === null || this.#reading === null) return [];
    const { base } = this.#stampsFrom;
    const { device, host, errorUs } = this.#reading;
    const taken = this.#stamps.take();
    // By when a launch had been enqueued for certain, on the clock of events.
    const onDevice = device - host + errorUs / 1000;
    const spans: Span[] = [];
    for (let i = 0; i < taken.length; i += stamp.numbers) {
      const done = base + taken[i + stamp.end]! / 1e6;
      const next = i + stamp.numbers;
      // The next one was waiting for this one's end: up to its own beginning the device was busy with going over to it.
      const straight = taken[next + stamp.linked] === 1 && taken[next + stamp.enqueued]! + onDevice < done;
      const end = straight ? base + taken[next + stamp.start]! / 1e6 : done;
      spans.push({ id: taken[i + stamp.id]!, start: base + taken[i + stamp.start]! / 1e6, end });
    }
    return spans;
  }

  /**
   * Compares the clock that kernels read with that of events: a launch between two events notes a time between theirs. A device
   * that is busy lets it wait, and the range gets wide; then what was known before stands.
   */
  async #compareStamps(stamps: Stamps): Promise<void> {
    const samples: ClockSample[] = [];
    const probe = this.#probe();
    const since = performance.now();
    for (let i = 0; i < clockReadings && (i === 0 || performance.now() - since < probingMs); i++) {
      const before = this.#record(this.#stream);
      stamps.placeProbe(probe);
      probe.run(this.#stream, [], 0, []);
      const after = this.#record(this.#stream);
      await whenDone(this.#driver, after, this.#waits, spinMs);
      if (this.#closed) return;
      const { event, base } = this.#anchor;
      const [from, to] = [base + this.#elapsed(event, before), base + this.#elapsed(event, after)];
      samples.push({ before: from, after: to, device: stamps.probed() / 1e6 });
      this.#idle.push(before, after);
    }
    const { device, host, errorUs } = compareClocks(samples);
    const error = errorUs / 1000;
    if (this.#stampsFrom === null || error < 2 * this.#stampsFrom.error) {
      this.#stampsFrom = { base: host - device, error };
    }
  }

  get #left(): number {
    // Two anchors, two events of a reading of the clocks and the end of the row read last always have one.
    return this.#idle.length + mostEvents - 5 - this.#all.length;
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
