// Tensors that nobody disposes of, in loops that await: keeps what they hold within bounds.
//
// To the garbage collector a tensor is a hundred bytes, whatever it holds on a device, so it sees no reason to run. The runtime
// knows the bytes: when they have grown to twice what was in use after the last collection and some more, the next wait
// includes a collection. Loops that dispose of their tensors never come there, and pay for a comparison.

import { collectGarbage } from '../../base/garbage.ts';
import { turnIfDue } from '../../base/turn.ts';
import type { Storages } from '../../graph/storage.ts';

/** Growth beyond twice what is in use: from the first on a collection runs if it costs little of the time, from the second on in any case. */
const softBytes = 64 << 20;
const hardBytes = 176 << 20;
/** A collection costs little if this many times as long has passed since the last one. */
const share = 40;

export class Forgotten {
  readonly #storages: Storages;
  /** What is held for the collector is handed to it. */
  readonly #prepare: () => void;
  /** The fewest bytes that were alive since the last collection: what is really in use, as far as is known. */
  #inUse = 0;
  #collecting: Promise<void> | null = null;
  #tookMs = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(storages: Storages, prepare: () => void) {
    this.#storages = storages;
    this.#prepare = prepare;
  }

  /** What a wait that ends `now` (`performance.now()`) should still wait for: a collection, a turn of the event loop, or nothing. */
  pause(now: number): Promise<void> | null {
    const { bytes } = this.#storages;
    if (bytes < this.#inUse) this.#inUse = bytes;
    else if (bytes > 2 * this.#inUse + softBytes && this.#worthwhile(bytes, now))
      return (this.#collecting ??= this.#collect());
    return turnIfDue(now);
  }

  #worthwhile(bytes: number, now: number): boolean {
    return bytes > 2 * this.#inUse + hardBytes || now - this.#endedAt > share * this.#tookMs;
  }

  async #collect(): Promise<void> {
    this.#tookMs = await collectGarbage(this.#prepare);
    this.#endedAt = performance.now();
    // What is left is in use.
    this.#inUse = this.#storages.bytes;
    this.#collecting = null;
  }
}
