// What devices measure while `rt.spans` is on: when they were busy, launch by launch, on the clock of the host.
//
// Each device measures on a clock of its own. The clocks are compared when spans are switched on and every ten seconds after,
// and a span is mapped by the comparison nearest to it. Spans are told as soon as they are known: that is after the work was
// done, so they come behind their launches, at the latest before `rt.flush()` returns.

import { idle } from '../base/platform.ts';
import { turn } from '../base/turn.ts';
import type { ClockReading, Device, DeviceId, Span } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { callerLine } from '../tensor/core.ts';
import type { Emitter } from './events.ts';
import { Owed } from './owed.ts';
import type { SpanMode } from './spans.ts';

/** How often devices are asked what they know, and how often clocks are compared. */
const collectMs = 20;
/** How often while somebody waits for all work: what is known meanwhile need not be told at the end of it. */
const waitingMs = 1;
const compareMs = 10_000;
/** A loop of launches lets no timer run: what is known is told on the way, after so many of them, beside the device's work. */
const collectEvery = 1024;
/** Finding the line of a launch takes 30 to 100 µs: the first ones of each program are looked at, and then every so many. */
const firstLines = 16;
const everyLine = 64;
/** How long a flush waits for times that are on their way. */
const settleMs = 1000;
/** For so long it looks with every turn of the event loop, then with a timer. */
const lookMs = 2;

/** One device's clock and what it still owes. */
class Track {
  readonly place: Place;
  readonly device: Device;
  readonly generation: number;
  readonly readings: ClockReading[] = [];
  /** Measured before the clocks were compared. */
  early: Span[] = [];
  /** Launches whose times are not known yet, and when the host enqueued them. */
  readonly waiting = new Owed();
  /** Launches since spans were told. */
  launched = 0;
  comparedAt = Number.NEGATIVE_INFINITY;
  comparing: Promise<void> | null = null;

  constructor(place: Place) {
    this.place = place;
    this.device = place.device;
    this.generation = place.generation;
  }

  get current(): boolean {
    return this.place.alive && this.place.generation === this.generation;
  }

  get error(): number | null {
    return this.readings.at(-1)?.errorUs ?? null;
  }

  /** Compares the clocks if that is due. A device that cannot say is asked again later. */
  compare(now: number): Promise<void> | null {
    if (this.comparing !== null || now - this.comparedAt < compareMs) return this.comparing;
    this.comparedAt = now;
    this.comparing = this.device.clock!()
      .then(
        (reading) => {
          if (Number.isFinite(reading.errorUs)) this.readings.push(reading);
          // Spans of long ago have been told.
          if (this.readings.length > 4) this.readings.shift();
        },
        () => {},
      )
      .finally(() => {
        this.comparing = null;
      });
    return this.comparing;
  }

  /** The comparison nearest to a time of the device. */
  nearest(time: number): ClockReading {
    let best = this.readings[0]!;
    for (const r of this.readings) if (Math.abs(r.device - time) < Math.abs(best.device - time)) best = r;
    return best;
  }
}

export class SpanTracks {
  readonly #places: readonly Place[];
  readonly #events: Emitter;
  readonly #tracks = new Map<Place, Track>();
  /** Launches of each program while spans were detailed. */
  readonly #launched = new Map<number, number>();
  #mode: SpanMode = false;
  #timer: ReturnType<typeof setInterval> | null = null;
  /** Launches whose times never came. */
  dropped = 0;
  /** Spans that begin before the call that enqueued them, by more than the clocks are known to: something measures wrong. */
  early = 0;

  constructor(places: readonly Place[], events: Emitter) {
    this.#places = places;
    this.#events = events;
  }

  /** Whether launches are given ids for their spans. */
  get on(): boolean {
    return this.#mode !== false;
  }

  get detailed(): boolean {
    return this.#mode === 'detailed';
  }

  /** Switches over; resolves when the clocks have been compared. */
  async set(mode: SpanMode): Promise<void> {
    if (mode === this.#mode) {
      await this.#compareAll();
      return;
    }
    if (this.#mode !== false) this.#stop();
    this.#mode = mode;
    if (mode === false) return;
    for (const place of this.#places) if (place.alive) this.#start(place);
    this.#timer = idle(setInterval(() => this.collect(), collectMs));
    await this.#compareAll();
  }

  /** Whether what is enqueued next at a place is measured: if spans are on, and the device there can. */
  measures(place: Place): boolean {
    if (!this.on) return false;
    const track = this.#tracks.get(place);
    // Another device may have moved in.
    if (track?.current !== true) return this.#start(place) !== undefined;
    if (++track.launched >= collectEvery) this.#take(track);
    return true;
  }

  /** Something that is measured was enqueued; `start` is the host's time of the call. */
  enqueued(place: Place, id: number, start: number): void {
    this.#tracks.get(place)?.waiting.add(id, start);
  }

  /** The line that launches a program now; '' unless spans are detailed, and for launches that are not looked at. */
  line(program: number): string {
    if (!this.detailed) return '';
    const before = this.#launched.get(program) ?? 0;
    this.#launched.set(program, before + 1);
    return before < firstLines || before % everyLine === 0 ? callerLine() : '';
  }

  /** How well a device's clock is known, in µs; null if it is not. */
  error(device: DeviceId): number | null {
    for (const [place, track] of this.#tracks) if (place.id === device) return track.error;
    return null;
  }

  /** Tells what is known by now. */
  collect(): void {
    const now = performance.now();
    for (const track of this.#tracks.values()) {
      if (!track.current) {
        this.#forget(track);
        continue;
      }
      void track.compare(now);
      this.#take(track);
    }
  }

  /** Waits for work of the devices, and tells times on the way. */
  async during(work: Promise<unknown>): Promise<void> {
    this.collect();
    const timer = setInterval(() => this.collect(), waitingMs);
    try {
      await work;
    } finally {
      clearInterval(timer);
    }
  }

  /** Waits until the times of finished work have been told; those that do not come are given up. */
  async settle(): Promise<void> {
    const since = performance.now();
    for (;;) {
      await this.#compareAll();
      this.collect();
      const owed = [...this.#tracks.values()].filter((t) => t.waiting.size > 0 || t.early.length > 0);
      if (owed.length === 0) return;
      const waited = performance.now() - since;
      if (waited > settleMs) {
        for (const track of owed) this.#forget(track);
        return;
      }
      await (waited < lookMs ? turn() : new Promise((resolve) => setTimeout(resolve, 1)));
    }
  }

  /** For the end of the runtime. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#mode = false;
    this.#tracks.clear();
    this.#launched.clear();
  }

  #start(place: Place): Track | undefined {
    if (!place.alive || !place.device.spans || !place.device.takeSpans || !place.device.clock) return undefined;
    place.device.spans(this.#mode);
    const track = new Track(place);
    this.#tracks.set(place, track);
    void track.compare(performance.now());
    return track;
  }

  #stop(): void {
    this.collect();
    for (const track of this.#tracks.values()) {
      try {
        if (track.current) track.device.spans!(false);
      } catch {
        // It was lost just now: whoever works with it is told.
      }
    }
    this.close();
  }

  async #compareAll(): Promise<void> {
    const now = performance.now();
    await Promise.all([...this.#tracks.values()].map((t) => (t.current ? t.compare(now) : null)));
  }

  #take(track: Track): void {
    track.launched = 0;
    let spans: readonly Span[];
    try {
      spans = track.device.takeSpans!();
    } catch {
      this.#forget(track);
      return;
    }
    if (track.readings.length === 0) {
      track.early.push(...spans);
      return;
    }
    const early = track.early.splice(0);
    for (const span of early) this.#tell(track, span);
    for (const span of spans) this.#tell(track, span);
  }

  #tell(track: Track, { id, start, end, ids, quantumUs, lane }: Span): void {
    const { device, host, errorUs } = track.nearest(start);
    const offset = host - device;
    const all = ids ?? [id];
    const enqueued = track.waiting.take(all[0]!);
    if (enqueued !== undefined && start + offset + Math.max(errorUs, quantumUs ?? 0) / 1000 < enqueued) this.early++;
    for (let i = 1; i < all.length; i++) track.waiting.take(all[i]!);
    if (!this.#events.heard.span) return;
    this.#events.emit('span', {
      id,
      device: track.place.id,
      start: start + offset,
      end: end + offset,
      ids: all,
      errorUs,
      quantumUs: quantumUs ?? null,
      lane: lane ?? 0,
    });
  }

  #forget(track: Track): void {
    this.dropped += track.waiting.size;
    track.waiting.clear();
    track.early = [];
  }
}
