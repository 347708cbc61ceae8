// Tensors that nobody disposes of, in loops that let the event loop turn: keeps what they hold within bounds.
//
// To the garbage collector a tensor is a hundred bytes, whatever it holds on a device, so it sees no reason to run. The runtime
// knows the bytes: when they have grown to twice what was in use after the last collection and some more, the next wait
// includes a collection. Where nothing of the runtime is waited for, as in loops that wait for files, the collection runs in the
// next turn of the event loop. Loops that dispose of their tensors never come there, and pay for a comparison.
//
// Lazy tensors hold the steps they are made of, on the JavaScript heap. One collection finds such a tensor and the next one its steps, which
// the engine took for alive: it waits for several times as many before it collects again, and the heap grows and grows. So when many steps
// were made that nobody used, and the heap has grown as far as bytes may, both collections run at once.

import { collectGarbage, hasHeapGrown } from '../../base/garbage.ts';
import { nextTurn, turnIfDue, turnIfDueAfterShort } from '../../base/turn.ts';
import type { Storages } from '../../graph/storage.ts';

/** Growth beyond twice what is in use: from the first on a collection runs if it costs little of the time, from the second on in any case. */
const softBytes = 64 << 20;
const hardBytes = 176 << 20;
/** A collection costs little if this many times as long has passed since the last one. */
const share = 40;
/** What finalizers let go of may hold more, as compiled functions hold tensors: collections that follow each other at most. */
const mostPasses = 3;

export class Forgotten {
  readonly #storages: Storages;
  /** What is held for the collector is handed to it. */
  readonly #prepare: () => void;
  /** The fewest bytes that were alive since the last collection: what is really in use, as far as is known. */
  #inUse = 0;
  #collecting: Promise<void> | null = null;
  /** The heap is looked at in the next turn. */
  #looks = false;
  #tookMs = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(storages: Storages, prepare: () => void) {
    this.#storages = storages;
    this.#prepare = prepare;
    storages.exceeded = () => this.#exceeded();
    this.#watch(0);
  }

  /** What a wait that ends `now` (`performance.now()`) should still wait for: a collection, a turn of the event loop, or nothing. */
  pause(now: number): Promise<void> | null {
    const { bytes } = this.#storages;
    if (bytes < this.#inUse) this.#watch(bytes);
    else if (bytes > 2 * this.#inUse + softBytes && this.#worthwhile(bytes, now))
      return (this.#collecting ??= this.#collect());
    return turnIfDue(now);
  }

  /** As `pause`, of a wait that took no time worth measuring. */
  pauseAfterShort(): Promise<void> | null {
    const { bytes } = this.#storages;
    const usual = bytes >= this.#inUse && bytes <= 2 * this.#inUse + softBytes;
    return usual ? turnIfDueAfterShort() : this.pause(performance.now());
  }

  /** Many steps of lazy tensors were made, and neither computed nor disposed of. */
  manySteps(): void {
    if (this.#looks) return;
    this.#looks = true;
    nextTurn(() => {
      this.#looks = false;
      if (!this.#collecting && hasHeapGrown(softBytes)) this.#collecting = this.#collect(2);
    });
  }

  #worthwhile(bytes: number, now: number): boolean {
    return bytes > 2 * this.#inUse + hardBytes || now - this.#endedAt > share * this.#tookMs;
  }

  /** So many bytes are in use, as far as is known. */
  #watch(inUse: number): void {
    this.#inUse = inUse;
    this.#storages.limit = 2 * inUse + hardBytes;
  }

  /** Bytes have grown beyond all bounds without a wait. */
  #exceeded(): void {
    this.#storages.limit = Number.POSITIVE_INFINITY;
    nextTurn(() => {
      if (this.#collecting) return;
      if (this.#storages.bytes > 2 * this.#inUse + hardBytes) this.#collecting = this.#collect();
      else this.#watch(this.#inUse);
    });
  }

  async #collect(leastPasses = 1): Promise<void> {
    const enough = this.#inUse + softBytes / 4;
    this.#tookMs = 0;
    for (let pass = 1; pass <= mostPasses; pass++) {
      const before = this.#storages.bytes;
      this.#tookMs += await collectGarbage(this.#prepare);
      const left = this.#storages.bytes;
      if (pass >= leastPasses && (left <= enough || (pass > 1 && left >= before))) break;
    }
    this.#endedAt = performance.now();
    // What is left is in use.
    this.#watch(this.#storages.bytes);
    this.#collecting = null;
  }
}
