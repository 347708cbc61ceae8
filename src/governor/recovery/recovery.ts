// Recovery as the engine uses it: attempts, what good results do for the trust in a device, and values that come back.

import type { Place } from '../../devices/place.ts';
import type { Node } from '../../graph/node.ts';
import type { Storages } from '../../graph/storage.ts';
import { type AttemptParts, Attempts } from './attempt.ts';
import { withDeadline } from './deadline.ts';
import type { Health } from './health.ts';
import { revive } from './revive.ts';

export interface RecoveryParts extends AttemptParts {
  readonly storages: Storages;
  /** A device whose work another one did does it again. */
  readonly returned: (event: { device: string; probes: number }) => void;
}

export class Recovery {
  readonly attempts: Attempts;
  readonly #health: Health;
  readonly #storages: Storages;
  readonly #returned: RecoveryParts['returned'];
  readonly #limitMs: number;

  constructor(parts: RecoveryParts) {
    this.attempts = new Attempts(parts);
    this.#health = parts.health;
    this.#storages = parts.storages;
    this.#returned = parts.returned;
    this.#limitMs = parts.options.timeoutMs;
  }

  /** A wait for a device: ends with the signal, and as lost when the device takes too long. `what` names it, with the device. */
  within<T>(work: Promise<T>, what: string, signal?: AbortSignal): Promise<T> {
    return withDeadline(work, this.#limitMs, { what, signal });
  }

  /** A run begins at a place. Where the device is on probation it is the only one there until the device is done with it. */
  begins(place: Place): void {
    if (this.#health.admit(place.id)) void this.#probed(place);
  }

  async #probed(place: Place): Promise<void> {
    try {
      // Its launches are enqueued within this turn.
      await undefined;
      if (place.alive) await this.within(place.device.mark(false).whenDone(), `probe (${place.id})`);
    } catch {
      // Whoever waits for the result is told.
    } finally {
      this.#health.over(place.id);
    }
  }

  /** Whether it matters to be told that a device did what it was asked. */
  doubts(place: Place): boolean {
    return this.#health.doubts(place.id);
  }

  /** A device did what it was asked. */
  succeeded(place: Place): void {
    if (!this.#health.doubts(place.id)) return;
    const { probes } = this.#health.of(place.id);
    this.#health.succeeded(place.id);
    if (this.#health.returned(place.id)) this.#returned({ device: place.id, probes });
  }

  /** Makes nodes computable again whose bytes, or whose sources' bytes, went with a device or cannot be read there. */
  revive(nodes: readonly Node[], compute: (node: Node) => void, unreadable: number): void {
    revive(nodes, this.#storages, compute, unreadable);
  }
}
