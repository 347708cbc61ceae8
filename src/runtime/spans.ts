// rt.spans: the switch. What measures is loaded when it is first switched on; until then launches pass by here untouched.

import type { DeviceId } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Emitter } from './events.ts';
import type { SpanTracks } from './span-tracks.ts';

/** Off, on, or every launch by itself where several are otherwise measured together. */
export type SpanMode = boolean | 'detailed';

export class Spans {
  readonly #places: readonly Place[];
  readonly #events: Emitter;
  #tracks: SpanTracks | null = null;
  #closed = false;

  constructor(places: readonly Place[], events: Emitter) {
    this.#places = places;
    this.#events = events;
  }

  /** Whether launches are given ids for their spans. */
  get on(): boolean {
    return this.#tracks?.on === true;
  }

  get detailed(): boolean {
    return this.#tracks?.detailed === true;
  }

  /** Launches whose times never came. */
  get dropped(): number {
    return this.#tracks?.dropped ?? 0;
  }

  /** Spans that begin before the call that enqueued them, by more than the clocks are known to. */
  get early(): number {
    return this.#tracks?.early ?? 0;
  }

  /** Switches over; resolves when the clocks have been compared. */
  async set(mode: SpanMode): Promise<void> {
    if (mode === false && !this.#tracks) return;
    const { SpanTracks } = await import('./span-tracks.ts');
    if (this.#closed) return;
    this.#tracks ??= new SpanTracks(this.#places, this.#events);
    await this.#tracks.set(mode);
  }

  /** Whether what is enqueued next at a place is measured: if spans are on, and the device there can. */
  measures(place: Place): boolean {
    return this.#tracks?.measures(place) === true;
  }

  /** Something that is measured was enqueued; `start` is the host's time of the call. */
  enqueued(place: Place, id: number, start: number): void {
    this.#tracks?.enqueued(place, id, start);
  }

  /** The line of the program's user that launches it now; '' if nobody looked. */
  line(program: number): string {
    return this.#tracks?.line(program) ?? '';
  }

  /** How well a device's clock is known, in µs; null if it is not. */
  error(device: DeviceId): number | null {
    return this.#tracks?.error(device) ?? null;
  }

  /** Waits for work of the devices; times are told on the way. */
  async during(work: Promise<unknown>): Promise<void> {
    await (this.#tracks ? this.#tracks.during(work) : work);
  }

  /** Waits until the times of finished work have been told; those that do not come are given up. */
  async settle(): Promise<void> {
    await this.#tracks?.settle();
  }

  /** For the end of the runtime. */
  close(): void {
    this.#closed = true;
    this.#tracks?.close();
  }
}
