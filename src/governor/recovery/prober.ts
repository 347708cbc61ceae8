// Tries devices that get no work, in the background, so that they are trusted again although nobody dares to use them.
//
// Only devices on probation are tried, one probe at a time, by the rules of their breaker: so many good results in a row and
// they are trusted, one bad result and they rest again, longer. There is a timer only while there is such a device, and it
// keeps no process alive.

import type { Device } from '../../devices/device.ts';
import type { Place } from '../../devices/place.ts';
import { type Clock, idleClock } from './clock.ts';
import type { Health } from './health.ts';

export interface ProberParts {
  readonly places: readonly Place[];
  readonly health: Health;
  readonly everyMs: number;
  /** Throws or returns what is wrong with a device; null if it computes right. */
  readonly probe: (device: Device) => Promise<string | null>;
  /** A device computed right. */
  readonly succeeded: (place: Place) => void;
  readonly clock?: Clock | undefined;
}

export class Prober {
  readonly #parts: ProberParts;
  #cancel: (() => void) | null = null;
  #closed = false;

  constructor(parts: ProberParts) {
    this.#parts = parts;
  }

  /** Health has changed: begins to try devices if there are any to be tried. */
  watch(): void {
    const { places, health, everyMs, clock = idleClock } = this.#parts;
    if (this.#closed || this.#cancel || everyMs === Number.POSITIVE_INFINITY) return;
    if (!places.some((p) => p.alive && health.of(p.id).state !== 'closed')) return;
    this.#cancel = clock.after(everyMs, () => void this.#visit());
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  async #visit(): Promise<void> {
    for (const place of this.#parts.places) if (place.alive) await this.#try(place);
    this.#cancel = null;
    this.watch();
  }

  async #try(place: Place): Promise<void> {
    const { health, probe, succeeded } = this.#parts;
    if (!health.admit(place.id)) return;
    const { device } = place;
    try {
      const wrong = await probe(device);
      if (!place.alive || place.device !== device) return;
      if (wrong === null) succeeded(place);
      else health.failed(place.id, wrong);
    } catch (error) {
      health.failed(place.id, error);
    } finally {
      health.over(place.id);
    }
  }
}
