// How new the field looks: its values at a few positions, compared with those of earlier looks.

import { valuesOf } from '../cycle/shape.ts';
import type { ResolvedField } from '../options.ts';
import { HostRandom } from '../random.ts';
import { loadedArray, type SavedTensor, savedArray } from '../snapshot.ts';
import { dotOf } from './cosine.ts';
import { sampleCount } from './tables.ts';

/** One look. */
interface Sample {
  readonly values: Float32Array;
  /** Their squares, summed. */
  readonly square: number;
  readonly cycle: number;
}

export const mostSamples = 200;
export const sampleEvery = 10;
/** Cycles after which a look counts 1/e. */
const fadesIn = 500;
/** A cosine, with what rounding may add to it. */
const atMostOne = 1 + 1e-9;

export class Novelty {
  #samples: Sample[] = [];

  get count(): number {
    return this.#samples.length;
  }

  /** Novelty from 0 to 1, and one more look to compare with later. Takes `values` over. */
  look(values: Float32Array, cycle: number): number {
    const square = dotOf(values, values);
    let most = 0;
    // The newest first: once older looks have faded below the best so far, none of them can be better.
    for (let i = this.#samples.length - 1; i >= 0; i--) {
      const s = this.#samples[i]!;
      const weight = Math.exp((s.cycle - cycle) / fadesIn);
      if (weight * atMostOne <= most) break;
      const squares = s.square * square;
      const cosine = squares > 0 ? dotOf(s.values, values) / Math.sqrt(squares) : 0;
      most = Math.max(most, cosine * weight);
    }
    const first = this.#samples.length === 0;
    this.#samples.push({ values, square, cycle });
    if (this.#samples.length > mostSamples) this.#samples.shift();
    return first ? 1 : 1 - most;
  }

  save(): { cycles: number[]; values: SavedTensor } {
    const flat = Float32Array.from(this.#samples.flatMap((s) => [...s.values]));
    return {
      cycles: this.#samples.map((s) => s.cycle),
      values: savedArray(flat, [this.#samples.length, sampleCount]),
    };
  }

  restore(cycles: readonly number[], saved: SavedTensor): void {
    const flat = loadedArray<Float32Array>(saved);
    this.#samples = cycles.map((cycle, i) => {
      const values = flat.slice(i * sampleCount, (i + 1) * sampleCount);
      return { values, square: dotOf(values, values), cycle };
    });
  }
}

/** Where novelty looks: positions in the field's values, from the seed. */
export function noveltyPositions(options: ResolvedField, seed: number): Int32Array {
  const random = new HostRandom(seed, 'novelty');
  const n = valuesOf(options.shape);
  return Int32Array.from({ length: sampleCount }, () => Math.floor(random.uniform() * n));
}
