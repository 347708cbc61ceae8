// Losing devices and getting them back.
//
// A place whose device is gone is vacated at once: copies that were there are dropped, the rest of the runtime goes on. Where
// the device can be opened again that is tried in the background, within the limits of its breaker; work is sent there
// only after it has computed something right. A device that was given up is looked at now and then, and comes back after
// several good probes in a row. Each place goes through generations, so that nothing of an old device is
// taken for something of the new one. Every wait here ends: with its limit, or when the runtime closes.

import type { Device } from '../../devices/device.ts';
import type { Place } from '../../devices/place.ts';
import type { Storages } from '../../graph/storage.ts';
import { withDeadline } from './deadline.ts';

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
  /** Throws or returns what is wrong with it; null if it computes right. Ends with the signal, and within a limit of its own. */
  probe(device: Device, signal: AbortSignal): Promise<string | null>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** The longest wait for a device to open, in ms. */
  readonly limitMs: number;
  /** Waits until a device that was given up may be looked at once more; false if that is never. */
  rest(signal: AbortSignal): Promise<boolean>;
  /** Good probes in a row that bring such a device back. */
  readonly probes: number;
  /** It is trusted again after so many probes. */
  trusted(device: string, probes: number): void;
}

/** How long a device may take to close before nobody waits for it any more. */
const closeLimitMs = 1800;

/** Closes a device, however it takes that: one that does not answer is not waited for. */
export async function closeQuietly(device: Device): Promise<void> {
  await withDeadline(device.close(), closeLimitMs, { what: `close (${device.id})` }).catch(() => {});
}

export class Losses {
  readonly #storages: Storages;
  readonly #events: LossEvents;
  readonly #rebirth: Rebirth;
  readonly #pending = new Map<Place, Promise<boolean>>();
  /** Triggered by `close`: whatever is waited for here ends. */
  readonly #closing = new AbortController();

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
    if (reopens) this.#pending.set(place, this.#reopen(place, device));
    else void closeQuietly(device);
    this.#events.lost({ device: place.id, reason, kept, gone, reopens });
  }

  /** Waits for a device that is being opened again; false if it will not come back. The signal ends the wait, not the opening. */
  async back(place: Place, signal?: AbortSignal): Promise<boolean> {
    const pending = place.alive ? null : this.#pending.get(place);
    if (!pending) return place.alive;
    return withDeadline(pending, Number.POSITIVE_INFINITY, { what: `waiting for ${place.id}`, signal });
  }

  /** Replaces a healthy device whose tensors are saved: it is away until the new one has computed right. False if it stays away. */
  renew(place: Place): Promise<boolean> {
    const old = place.vacate();
    for (const storage of this.#storages) if ((storage.mask & place.bit) !== 0) storage.dropCopy(place, true);
    const coming = this.#renew(place, old);
    this.#pending.set(place, coming);
    return coming;
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #renew(place: Place, old: Device): Promise<boolean> {
    let reason: string;
    try {
      const fresh = await this.#open(place, old);
      const wrong = await this.#wrong(fresh);
      if (wrong === null) {
        this.#pending.delete(place);
        place.settle(fresh);
        this.watch(place);
        void closeQuietly(old);
        return true;
      }
      reason = wrong;
      await closeQuietly(fresh);
    } catch (e) {
      reason = firstLine(e);
    }
    // Not at the first attempt: from here on it is lost like any other.
    if (!this.#closed) this.#events.lost({ device: place.id, reason, kept: 0, gone: 0, reopens: true });
    return this.#reopen(place, old);
  }

  /** Ends what is waited for. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#pending.values());
  }

  /** Never rejects, and ends: each attempt within its limit, all of them when the runtime closes. */
  async #reopen(place: Place, old: Device): Promise<boolean> {
    const start = performance.now();
    let reason = 'it was lost too often';
    // Whoever is told of the loss comes first.
    await undefined;
    for (let attempt = 0; ; attempt++) {
      const wait = this.#closed ? null : this.#rebirth.delay(place.id, attempt);
      if (wait === null) break;
      let fresh: Device;
      try {
        if (wait > 0) await this.#rebirth.sleep(wait, this.#closing.signal);
        fresh = await this.#open(place, old);
      } catch (e) {
        reason = firstLine(e);
        continue;
      }
      const wrong = await this.#wrong(fresh);
      if (wrong === null) {
        this.#pending.delete(place);
        this.#settle(place, old, fresh, { ms: performance.now() - start, attempts: attempt + 1 });
        return true;
      }
      reason = wrong;
      await closeQuietly(fresh);
    }
    this.#pending.delete(place);
    if (this.#closed) await closeQuietly(old);
    else {
      this.#events.abandoned({ device: place.id, reason });
      void this.#revisit(place, old, start);
    }
    return false;
  }

  /** A new device in place of an old one; one that opens after nobody waits for it any more is closed. */
  async #open(place: Place, old: Device): Promise<Device> {
    const opening = old.reopen!();
    const what = `opening ${place.id} again`;
    try {
      return await withDeadline(opening, this.#rebirth.limitMs, { what, signal: this.#closing.signal });
    } catch (e) {
      opening.then(closeQuietly, () => {});
      throw e;
    }
  }

  /** What is wrong with a device that was just opened; null if it computes right and is still wanted. */
  async #wrong(fresh: Device): Promise<string | null> {
    const { signal } = this.#closing;
    const wrong = await this.#rebirth.probe(fresh, signal).catch(firstLine);
    return signal.aborted ? 'the runtime was closed' : wrong;
  }

  #settle(place: Place, old: Device, fresh: Device, story: { readonly ms: number; readonly attempts: number }): void {
    place.settle(fresh);
    this.watch(place);
    void closeQuietly(old);
    this.#events.reborn({ device: place.id, ...story });
  }

  /** Looks at a device that was given up now and then, until it has computed right so many times in a row. */
  async #revisit(place: Place, old: Device, start: number): Promise<void> {
    const { signal } = this.#closing;
    const rested = (): Promise<boolean> => this.#rebirth.rest(signal).catch(() => false);
    let fresh: Device | null = null;
    for (let [probes, good] = [1, 0]; (await rested()) && !this.#closed; probes++) {
      try {
        fresh ??= await this.#open(place, old);
        good = (await this.#wrong(fresh)) === null ? good + 1 : 0;
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
      if (fresh) await closeQuietly(fresh);
      fresh = null;
    }
    if (fresh) await closeQuietly(fresh);
    await closeQuietly(old);
  }
}

const firstLine = (e: unknown): string => (e instanceof Error ? e.message.split('\n')[0]! : String(e));
