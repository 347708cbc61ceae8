// Losing devices and getting them back.
//
// A place whose device is gone is vacated at once: copies that were there are dropped, the rest of the runtime goes on. Where
// the device can be opened again that is tried in the background, within the limits of its breaker; work is sent there
// only after it has computed something right. A device that was given up is looked at now and then, and comes back after
// several good probes in a row. Each place goes through generations, so that nothing of an old device is
// taken for something of the new one.

import type { Device } from '../../devices/device.ts';
import type { Place } from '../../devices/place.ts';
import type { Storages } from '../../graph/storage.ts';

/** Who is told. */
export interface LossEvents {
  /** `kept`: tensors that are elsewhere too; `gone`: tensors that must be computed again or are lost. */
  lost(event: { device: string; reason: string; kept: number; gone: number; reopens: boolean }): void;
  reborn(event: { device: string; ms: number; attempts: number }): void;
  abandoned(event: { device: string; reason: string }): void;
}

/** Whether and when a lost device may be opened again. */
export interface Rebirth {
  /** Milliseconds to wait before the attempt (from 0); null if it must not be tried. Counts as a reset of the device. */
  delay(device: string, attempt: number): number | null;
  /** Throws or returns what is wrong with it; null if it computes right. */
  probe(device: Device): Promise<string | null>;
  sleep(ms: number): Promise<void>;
  /** Waits until a device that was given up may be looked at once more; false if that is never. */
  rest(): Promise<boolean>;
  /** Good probes in a row that bring such a device back. */
  readonly probes: number;
  /** It is trusted again after so many probes. */
  trusted(device: string, probes: number): void;
}

export class Losses {
  readonly #storages: Storages;
  readonly #events: LossEvents;
  readonly #rebirth: Rebirth;
  readonly #pending = new Map<Place, Promise<boolean>>();
  #closed = false;

  constructor(storages: Storages, events: LossEvents, rebirth: Rebirth) {
    this.#storages = storages;
    this.#events = events;
    this.#rebirth = rebirth;
  }

  /** Notices the loss of the device at a place by itself. */
  watch(place: Place): void {
    const { device } = place;
    device.lost.then(
      (loss) => this.lost(place, device, loss.reason),
      () => {},
    );
  }

  /** The device at a place is gone. Does nothing if that is known. */
  lost(place: Place, device: Device, reason: string): void {
    if (this.#closed || !place.alive || place.device !== device) return;
    place.vacate();
    let kept = 0;
    let gone = 0;
    for (const storage of this.#storages) {
      if ((storage.mask & place.bit) === 0) continue;
      storage.dropCopy(place, true);
      if (storage.lost) gone++;
      else kept++;
    }
    const reopens = device.reopen !== undefined;
    this.#events.lost({ device: place.id, reason, kept, gone, reopens });
    if (reopens) this.#pending.set(place, this.#reopen(place, device));
    else void device.close().catch(() => {});
  }

  /** Waits for a device that is being opened again; false if it will not come back. */
  async back(place: Place): Promise<boolean> {
    return place.alive || ((await this.#pending.get(place)) ?? false);
  }

  /** Replaces a healthy device whose tensors are saved: it is away until the new one has computed right. False if it stays away. */
  renew(place: Place): Promise<boolean> {
    const old = place.vacate();
    for (const storage of this.#storages) if ((storage.mask & place.bit) !== 0) storage.dropCopy(place, true);
    const coming = this.#renew(place, old);
    this.#pending.set(place, coming);
    return coming;
  }

  async #renew(place: Place, old: Device): Promise<boolean> {
    let reason: string | null;
    try {
      const fresh = await old.reopen!();
      reason = this.#closed ? 'closed' : await this.#rebirth.probe(fresh).catch((e) => `${e}`);
      if (reason === null) {
        this.#pending.delete(place);
        place.settle(fresh);
        this.watch(place);
        void old.close().catch(() => {});
        return true;
      }
      await fresh.close().catch(() => {});
    } catch (e) {
      reason = e instanceof Error ? e.message.split('\n')[0]! : String(e);
    }
    // Not at the first attempt: from here on it is lost like any other.
    if (!this.#closed) this.#events.lost({ device: place.id, reason, kept: 0, gone: 0, reopens: true });
    return this.#reopen(place, old);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#pending.values());
  }

  async #reopen(place: Place, old: Device): Promise<boolean> {
    const start = performance.now();
    let reason = 'it was lost too often';
    for (let attempt = 0; ; attempt++) {
      const wait = this.#rebirth.delay(place.id, attempt);
      if (wait === null || this.#closed) break;
      if (wait > 0) await this.#rebirth.sleep(wait);
      if (this.#closed) break;
      try {
        const fresh = await old.reopen!();
        const wrong = this.#closed ? 'closed' : await this.#rebirth.probe(fresh).catch((e) => `${e}`);
        if (wrong === null) {
          this.#pending.delete(place);
          this.#settle(place, old, fresh, { ms: performance.now() - start, attempts: attempt + 1 });
          return true;
        }
        reason = wrong;
        await fresh.close().catch(() => {});
      } catch (e) {
        reason = e instanceof Error ? e.message.split('\n')[0]! : String(e);
      }
    }
    this.#pending.delete(place);
    if (this.#closed) await old.close().catch(() => {});
    else {
      this.#events.abandoned({ device: place.id, reason });
      void this.#revisit(place, old, start);
    }
    return false;
  }

  #settle(place: Place, old: Device, fresh: Device, story: { readonly ms: number; readonly attempts: number }): void {
    place.settle(fresh);
    this.watch(place);
    void old.close().catch(() => {});
    this.#events.reborn({ device: place.id, ...story });
  }

  /** Looks at a device that was given up now and then, until it has computed right so many times in a row. */
  async #revisit(place: Place, old: Device, start: number): Promise<void> {
    let fresh: Device | null = null;
    for (let [probes, good] = [1, 0]; (await this.#rebirth.rest()) && !this.#closed; probes++) {
      try {
        fresh ??= await old.reopen!();
        good = (await this.#rebirth.probe(fresh)) === null ? good + 1 : 0;
      } catch {
        good = 0;
      }
      if (this.#closed) break;
      if (good === this.#rebirth.probes) {
        this.#rebirth.trusted(place.id, probes);
        this.#settle(place, old, fresh!, { ms: performance.now() - start, attempts: probes });
        return;
      }
      if (good > 0) continue;
      await fresh?.close().catch(() => {});
      fresh = null;
    }
    await fresh?.close().catch(() => {});
    await old.close().catch(() => {});
  }
}
