// Exploring: which device to try instead of the best one, because little is known of it and trying costs little.
//
// What it may cost is a share of all time routed so far. Each kind of work is tried while it is new, and not again.

import type { Routing } from './options.ts';
import type { Prediction } from './types.ts';

/** Work measured so many times `minSamples` where it runs stays there: only what is new is tried elsewhere. */
const settled = 2;

export class Exploration {
  readonly #limits: Routing['explore'];
  /** µs routed so far, and µs of it lost to exploring. */
  #routedUs = 0;
  #lostUs = 0;

  constructor(limits: Routing['explore']) {
    this.#limits = limits;
  }

  get routedUs(): number {
    return this.#routedUs;
  }

  get lostUs(): number {
    return this.#lostUs;
  }

  routed(us: number): void {
    this.#routedUs += us;
  }

  /**
   * The index of a device to try instead of the chosen one, -1 if there is none. `extraUs` tells what trying costs beyond the
   * prediction; null where a device may not be tried.
   */
  tryOther(predictions: readonly Prediction[], chosen: number, extraUs: (index: number) => number | null): number {
    const limits = this.#limits;
    if (limits === false) return -1;
    const { us, samples } = predictions[chosen]!;
    if (samples > settled * limits.minSamples) return -1;
    for (let i = 0; i < predictions.length; i++) {
      const p = predictions[i]!;
      if (i === chosen || p.samples >= limits.minSamples || p.penalty > 1 || p.us > 1000 * limits.maxMs) continue;
      // The device that seems best is always known better than those tried beside it.
      if (p.samples >= samples || p.us > us * limits.maxRatio) continue;
      const extra = extraUs(i);
      if (extra === null) continue;
      const loss = Math.max(0, p.us - us) + extra;
      if (this.#lostUs + loss > limits.maxShare * this.#routedUs) continue;
      this.#lostUs += loss;
      return i;
    }
    return -1;
  }
}
