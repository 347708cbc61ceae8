// Exploring: which device to try instead of the best one, because little is known of it and trying costs little.
//
// What it may cost is a share of all time routed so far, so that exploring ends by itself where it teaches nothing.

import type { Routing } from './options.ts';
import type { Prediction } from './types.ts';

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
    for (let i = 0; i < predictions.length; i++) {
      const p = predictions[i]!;
      if (i === chosen || p.samples >= limits.minSamples || p.penalty > 1 || p.us > 1000 * limits.maxMs) continue;
      // The device that seems best is always known better than those tried beside it.
      if (p.samples >= samples) continue;
      // The more is known of it, the closer it must come to be worth another try.
      if (p.us > us * (1 + (limits.maxRatio - 1) / (1 + p.samples))) continue;
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
