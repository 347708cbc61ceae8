// The ladder: what is done, in order, when an allocation finds no room.
//
//   1  idle blocks of the device's pool go back to it
//   2  tensors used longest ago spill to host memory, at first as much as is asked for, then more: room may be scattered
//   3  (only where waiting is possible) the garbage collector runs, so that forgotten tensors free what they hold
//   4  the engine places the work on another device
//   5  OutOfMemory, naming the five largest holders

import { collectGarbage } from '../../base/garbage.ts';
import type { Place, Room } from '../../devices/place.ts';
import { OutOfMemory } from '../../errors.ts';
import type { Spill } from './spill.ts';

/** Doublings of the amount that is spilled before the device is believed to be full. */
const rounds = 6;

/** Further collections before it is believed that nothing more is forgotten. */
const collections = 2;

export interface LadderOptions {
  readonly spill: Spill;
  /** The largest holders at a place, or anywhere, as text for the error. */
  readonly holders: (place: Place | null) => string;
  /** Told as memory fills up. */
  readonly noticed: (place: Place) => void;
}

export class Ladder implements Room {
  readonly #options: LadderOptions;

  constructor(options: LadderOptions) {
    this.#options = options;
  }

  make(place: Place, bytes: number, attempt: number): boolean {
    const { spill } = this.#options;
    const over = place.over(bytes);
    if (attempt === 0 && over <= 0) {
      place.device.trim();
      return true;
    }
    if (attempt > rounds || bytes > place.budget || bytes > (place.shared?.limit ?? bytes)) return false;
    const own = place.inUse + bytes - place.budget;
    const wanted = over > 0 ? own : bytes * 2 ** Math.max(0, attempt - 1);
    let freed = wanted > 0 ? spill.free(place, wanted) : 0;
    const shared = place.overShared(bytes);
    if (shared > 0) freed += spill.free(place, shared, living(place));
    if (freed > 0 && over <= 0) place.device.trim();
    return freed > 0;
  }

  /** As `make`, where waiting is possible. */
  async makeAsync(place: Place, bytes: number): Promise<boolean> {
    const { spill } = this.#options;
    const before = place.inUse;
    const overBefore = place.overShared(bytes);
    const helped = (): boolean => place.inUse < before || place.overShared(bytes) < overBefore;
    await collectGarbage();
    if (!place.alive) return false;
    const wanted = Math.max(bytes, place.inUse + bytes - place.budget);
    const freed = before - place.inUse;
    if (freed < wanted) await spill.freeAsync(place, wanted - freed);
    const shared = place.overShared(bytes);
    if (shared > 0) await spill.freeAsync(place, shared, living(place));
    // What was in use a moment ago may be found only by the next collection.
    for (let i = 0; i < collections && !helped(); i++) await collectGarbage();
    if (!place.alive) return false;
    place.device.trim();
    return helped();
  }

  refuse(place: Place, bytes: number, cause: OutOfMemory): OutOfMemory {
    const holders = this.#options.holders(cause.code === 'OVER_TOTAL_BUDGET' ? null : place);
    const what = cause.message.split('\n  fix: ')[0]!;
    return new OutOfMemory({
      code: cause.code,
      message: holders ? `${what}\n${holders}` : what,
      fix: cause.fix,
      where: cause.where,
      requested: bytes,
      available: cause.available,
      cause,
    });
  }

  noticed(place: Place): void {
    this.#options.noticed(place);
  }
}

/** The places that share a budget with one, as far as they have a device. */
const living = ({ shared }: Place): readonly Place[] => shared!.places.filter((p) => p.alive);
