// A device that has become slower and stays so (heat, contention): chunks are made smaller, so that callers get their turn,
// and it is reported; when it is well again, chunks grow back. Changes are at least ten seconds apart in either direction.

import type { Clock } from './clock.ts';
import { CostModel } from './cost-model.ts';
import { median } from './statistics.ts';

export interface DegradationState {
  readonly device: string;
  /** Size of chunks against normal: 1, 1/2, 1/4 … */
  readonly scale: number;
  /** How many times longer work takes than it used to. */
  readonly slowdown: number;
  readonly action: 'smaller chunks' | 'larger chunks';
}

/** Slow-downs from which something is done, and below which it is over. */
const slow = 1.5;
const well = 1.2;
const sustainedMs = 3000;
const apartMs = 10_000;
/** After this long the new speed is the normal one. */
const acceptMs = 10 * 60_000;
const smallest = 1 / 8;
const recentCount = 8;
/** Measurements before a slow-down can be told. */
const learnCount = 16;

interface Watched {
  readonly model: CostModel;
  readonly ratios: number[];
  /** Since when it has been slow, or well; null while it is neither. */
  slowSince: number | null;
  wellSince: number | null;
  degradedSince: number | null;
}

export class DegradationHandler {
  readonly #clock: Clock;
  readonly #changed: (state: DegradationState) => void;
  readonly #watched = new Map<string, Watched>();
  readonly #scales = new Map<string, number>();
  readonly #lastChange = new Map<string, number>();

  constructor(clock: Clock, changed: (state: DegradationState) => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  scale(device: string): number {
    return this.#scales.get(device) ?? 1;
  }

  /** Work of a kind and size took this long. */
  note(device: string, kind: string, bytes: number, ms: number): void {
    const now = this.#clock.now();
    const w = this.#of(`${device} ${kind}`);
    const expected = w.model.count >= learnCount ? w.model.predict(bytes) : null;
    if (!expected || expected.ms <= 0) {
      w.model.add(bytes, ms);
      return;
    }
    w.ratios.push(ms / expected.ms);
    if (w.ratios.length > recentCount) w.ratios.shift();
    if (w.ratios.length < recentCount) return;
    const ratio = median(w.ratios);
    // The spread of normal times is no slow-down.
    const limit = Math.max(slow, 1 + 2 * expected.error);
    if (ratio >= limit) {
      w.slowSince ??= now;
      w.wellSince = null;
    } else if (ratio <= well) {
      w.wellSince ??= now;
      w.slowSince = null;
      // What is normal is learned from normal times only.
      if (this.scale(device) === 1) w.model.add(bytes, ms);
    } else {
      w.slowSince = null;
      w.wellSince = null;
    }
    this.#react(device, w, ratio, now);
  }

  #react(device: string, w: Watched, ratio: number, now: number): void {
    if (now - (this.#lastChange.get(device) ?? Number.NEGATIVE_INFINITY) < apartMs) return;
    const scale = this.scale(device);
    if (w.slowSince !== null && now - w.slowSince >= sustainedMs) {
      w.degradedSince ??= now;
      if (now - w.degradedSince >= acceptMs) {
        w.model.clear();
        w.ratios.length = 0;
        w.slowSince = null;
        w.degradedSince = null;
        if (scale < 1) this.#change({ device, scale: 1, slowdown: ratio, action: 'larger chunks' }, now);
      } else if (scale > smallest) {
        this.#change({ device, scale: scale / 2, slowdown: ratio, action: 'smaller chunks' }, now);
      }
    } else if (w.wellSince !== null && now - w.wellSince >= sustainedMs && scale < 1) {
      w.degradedSince = null;
      this.#change({ device, scale: Math.min(1, scale * 2), slowdown: ratio, action: 'larger chunks' }, now);
    }
  }

  #change(state: DegradationState, now: number): void {
    this.#scales.set(state.device, state.scale);
    this.#lastChange.set(state.device, now);
    this.#changed(state);
  }

  #of(key: string): Watched {
    let w = this.#watched.get(key);
    if (!w) {
      w = { model: new CostModel(), ratios: [], slowSince: null, wellSince: null, degradedSince: null };
      if (this.#watched.size >= 256) this.#watched.delete(this.#watched.keys().next().value!);
      this.#watched.set(key, w);
    }
    return w;
  }
}
