// What the engine does when a run fails: try again, elsewhere, after making room, or not at all.
//
// Every failure ends within a bounded number of attempts in a result or in the error the caller should see. A place that
// failed is left out for the rest of the run; what happened is told to `Health`, on which later placements depend.

import type { Place } from '../devices/place.ts';
import { ForgeError, OutOfMemory } from '../errors.ts';
import type { Ladder } from '../governor/memory/ladder.ts';
import { sleep, systemClock } from '../governor/recovery/clock.ts';
import { aborted } from '../governor/recovery/errors.ts';
import type { Health } from '../governor/recovery/health.ts';
import type { Losses } from '../governor/recovery/loss.ts';
import type { ResolvedRecovery } from '../governor/recovery/options.ts';
import { type Reaction, reactionTo } from '../governor/recovery/retry.ts';
import { revive } from '../governor/recovery/revive.ts';
import type { Node } from '../graph/node.ts';
import type { Storages } from '../graph/storage.ts';
import type { Emitter } from './events.ts';
import type { Want } from './programs.ts';

export interface RecoveryParts {
  readonly places: readonly Place[];
  readonly storages: Storages;
  readonly losses: Losses;
  readonly health: Health;
  readonly ladder: Ladder;
  readonly options: ResolvedRecovery;
  readonly events: Emitter;
}

/** Reactions after which the same place may be asked once more, if the attempts are not used up. */
const attemptsFor = (reaction: Reaction, options: ResolvedRecovery): number =>
  reaction === 'again' ? options.attempts : reaction === 'once' ? Math.min(2, options.attempts) : 1;

/** Inputs that are given up one by one at a place that cannot be read. */
const mostInputs = 256;

export class Recovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /**
   * How to ask again after an error at a place; throws (the error, or a better one) when there is no point in it. `reading`: bytes
   * could not be read there, and the caller gives them up if the place is ruled out.
   */
  next(error: unknown, at: Place | null, want: Want, attempt: number, reading = false): Want {
    const { place, reaction, known } = this.#blame(error, at, want, attempt, reading);
    if (known) return want;
    if (this.#again(place, reaction, want)) return { ...want, tries: want.tries + 1 };
    return this.#elsewhere(error, place, want, reading);
  }

  /** As `next`, with time to free memory, to wait for a device that comes back, to back off. */
  async nextAsync(
    error: unknown,
    at: Place | null,
    want: Want,
    attempt: number,
    signal?: AbortSignal | undefined,
    reading = false,
  ): Promise<Want> {
    if (signal?.aborted) throw aborted('compute', signal);
    const { place, reaction, known } = this.#blame(error, at, want, attempt, reading);
    const { options, ladder, losses } = this.#parts;
    if (known) return want;
    const again: Want = { ...want, tries: want.tries + 1 };
    if (this.#again(place, reaction, want)) {
      const wait = options.backoffMs[Math.min(want.tries, options.backoffMs.length - 1)] ?? 0;
      await sleep(systemClock, wait, signal, () => aborted('compute', signal!));
      return again;
    }
    if (error instanceof OutOfMemory && want.tries < 2 && place.alive) {
      if (await ladder.makeAsync(place, error.requested)) return again;
    }
    if (reaction === 'reset' && !this.#other(place, want) && (await losses.back(place))) return again;
    return this.#elsewhere(error, place, want, reading);
  }

  /** A run begins at a place. Where the device is on probation it is the only one there until the device is done with it. */
  begins(place: Place): void {
    if (this.#parts.health.admit(place.id)) void this.#probed(place);
  }

  async #probed(place: Place): Promise<void> {
    try {
      // Its launches are enqueued within this turn.
      await undefined;
      if (place.alive) await place.device.mark(false).whenDone();
    } catch {
      // Whoever waits for the result is told.
    } finally {
      this.#parts.health.over(place.id);
    }
  }

  /** Whether it matters to be told that a device did what it was asked. */
  doubts(place: Place): boolean {
    return this.#parts.health.doubts(place.id);
  }

  /** A device did what it was asked. */
  succeeded(place: Place): void {
    const { health, events } = this.#parts;
    if (!health.doubts(place.id)) return;
    health.succeeded(place.id);
    if (health.returned(place.id) && events.has('return')) events.emit('return', { device: place.id });
  }

  /** Makes nodes computable again whose bytes, or whose sources' bytes, went with a device or cannot be read there. */
  revive(nodes: readonly Node[], compute: (node: Node) => void, unreadable: number): void {
    revive(nodes, this.#parts.storages, compute, unreadable);
  }

  /** Which place an error speaks of, and what may help. Throws what nothing helps against. */
  #blame(
    error: unknown,
    at: Place | null,
    want: Want,
    attempt: number,
    reading: boolean,
  ): { place: Place; reaction: Reaction; known: boolean } {
    const { places, health, losses, options } = this.#parts;
    const reaction = reactionTo(error);
    if (!(error instanceof ForgeError) || reaction === 'never') throw error;
    const place = places.find((p) => p.id === error.where) ?? at;
    if (!place) throw error;
    const excluded = (want.excluded & place.bit) !== 0;
    // A place that is ruled out can still be asked for inputs that are nowhere else: each is given up after one failure.
    const known = reading && excluded && attempt < mostInputs;
    if (!known && (excluded || attempt > options.attempts * places.length + 2)) throw error;
    if (reaction === 'reset') {
      if (place.alive) losses.lost(place, place.device, error.message.split('\n')[0]!);
    } else if (reaction !== 'make-room') health.failed(place.id, error);
    return { place, reaction, known };
  }

  /** Whether the same place is asked once more: not beyond the attempts, nor a place that gets no work while another can have it. */
  #again(place: Place, reaction: Reaction, want: Want): boolean {
    const { options, health } = this.#parts;
    if (want.tries + 1 >= attemptsFor(reaction, options)) return false;
    return health.usable(place.id) || !options.fallback || want.pinned || !this.#other(place, want);
  }

  #other(place: Place, want: Want): boolean {
    return this.#parts.places.some((p) => p !== place && p.alive && (want.excluded & p.bit) === 0);
  }

  #elsewhere(error: unknown, place: Place, want: Want, reading: boolean): Want {
    const { options, health, events, places } = this.#parts;
    if (!options.fallback || want.pinned || !this.#other(place, want)) throw error;
    const excluded = want.excluded | place.bit;
    const to = places.find((p) => p.alive && (excluded & p.bit) === 0)!;
    // Without room there, work goes elsewhere as a matter of course; a device that fails is news.
    if (!(error instanceof OutOfMemory) && health.fellBack(place.id, to.id) && events.has('fallback')) {
      events.emit('fallback', { from: place.id, to: to.id, reason: (error as Error).message.split('\n')[0]! });
    }
    const unreadable = reading ? want.unreadable | place.bit : want.unreadable;
    return { ...want, excluded, unreadable, pin: null, tries: 0, failed: want.failed ?? error };
  }
}
