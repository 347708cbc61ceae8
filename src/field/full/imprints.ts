// Which sensor patterns were imprinted where: the next one like them goes there, or beside.

import { cosineOf } from './cosine.ts';

/** A cell, and the cycle in which its pattern was last matched. */
export interface ImprintPlace {
  readonly cell: readonly number[];
  readonly matched: number;
}

interface Imprint extends ImprintPlace {
  readonly sensors: Float32Array;
}

export const mostImprints = 100;
/** A pattern is the same above this, and similar above the other. */
const [same, alike] = [0.9, 0.5];
/** A remembered place is full from this activity on. */
const full = 2;

export class Imprints {
  readonly #blockOf: (cell: readonly number[]) => number;
  readonly #edges: readonly number[];
  #known: Imprint[] = [];

  constructor(blockOf: (cell: readonly number[]) => number, edges: readonly number[]) {
    this.#blockOf = blockOf;
    this.#edges = edges;
  }

  get count(): number {
    return this.#known.length;
  }

  get sensors(): Float32Array[] {
    return this.#known.map((k) => k.sensors);
  }

  get places(): ImprintPlace[] {
    return this.#known.map(({ cell, matched }) => ({ cell, matched }));
  }

  /** Where to imprint: the cell of a remembered pattern, or one near a similar pattern. `activity` is that of each block. */
  placesFor(
    sensors: Float32Array,
    activity: Float32Array,
  ): { remembered: readonly number[] | null; similar: readonly number[] | null } {
    let remembered: readonly number[] | null = null;
    let similar: Imprint | null = null;
    let best = same;
    let next = alike;
    for (let i = 0; i < this.#known.length; i++) {
      const known = this.#known[i]!;
      const cosine = cosineOf(known.sensors, sensors);
      if (cosine > best && activity[this.#blockOf(known.cell)]! < full) {
        best = cosine;
        remembered = known.cell;
      } else if (cosine > next && cosine <= same) {
        next = cosine;
        similar = known;
      }
    }
    return { remembered, similar: similar ? this.#beside(similar.cell, activity) : null };
  }

  /** Three cells further along the axis where there is least activity. */
  #beside(cell: readonly number[], activity: Float32Array): readonly number[] {
    const moved = [0, 1, 2].map((axis) => cell.map((x, a) => (a === axis ? (x + 3) % this.#edges[a]! : x)));
    const level = (c: readonly number[]): number => activity[this.#blockOf(c)]!;
    return moved.reduce((least, c) => (level(c) < level(least) ? c : least));
  }

  remember(sensors: Float32Array, cell: readonly number[], cycle: number): void {
    const at = this.#known.findIndex((k) => cosineOf(k.sensors, sensors) > same);
    if (at >= 0) {
      this.#known[at] = { sensors: this.#known[at]!.sensors, cell, matched: cycle };
      return;
    }
    if (this.#known.length >= mostImprints) {
      const oldest = this.#known.reduce((least, k, i) => (k.matched < this.#known[least]!.matched ? i : least), 0);
      this.#known.splice(oldest, 1);
    }
    this.#known.push({ sensors: sensors.slice(), cell, matched: cycle });
  }

  restore(sensors: readonly Float32Array[], places: readonly ImprintPlace[]): void {
    this.#known = sensors.map((s, i) => ({ sensors: s, ...places[i]! }));
  }
}
