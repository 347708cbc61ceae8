// Orders of lanes: vectors of neighbours in turns, backwards, picked.

import type { Func } from '../wasm/module.ts';

/** Shuffles of vectors in locals, whose lanes have so many bytes. */
export class Shuffles {
  readonly lanes: number;
  readonly #f: Func;
  readonly #bytes: number;

  constructor(f: Func, laneBytes: number) {
    this.#f = f;
    this.#bytes = laneBytes;
    this.lanes = 16 / laneBytes;
  }

  /** Lanes of two vectors, by their numbers over both. */
  picked(a: number, b: number, lanes: readonly number[]): number {
    const bytes = lanes.flatMap((lane) => Array.from({ length: this.#bytes }, (_, i) => lane * this.#bytes + i));
    const made = this.#f.local('v128');
    this.#f.code.get(a).get(b).shuffle(bytes).set(made);
    return made;
  }

  /** The lanes of a vector in the opposite order. */
  reversed(a: number): number {
    return this.picked(
      a,
      a,
      this.#order((i) => this.lanes - 1 - i),
    );
  }

  /** Every second lane of two vectors, from the first or from the second on. */
  everySecond(a: number, b: number, first: 0 | 1): number {
    return this.picked(
      a,
      b,
      this.#order((i) => 2 * i + first),
    );
  }

  /** The lanes of some vectors in turns: the first of each, then the second of each, and so on. As many vectors as lanes are transposed. */
  interleaved(vectors: readonly number[]): readonly number[] {
    const count = vectors.length;
    if (count === 1) return vectors;
    if (count % 2 === 0) {
      const halves = [0, 1].map((odd) => this.interleaved(vectors.filter((_, i) => i % 2 === odd)));
      return halves[0]!.flatMap((a, i) => this.#zipped(a, halves[1]![i]!));
    }
    return vectors.map((_, i) => this.#gathered(vectors, i * this.lanes));
  }

  #order(at: (i: number) => number): number[] {
    return Array.from({ length: this.lanes }, (_, i) => at(i));
  }

  #zipped(a: number, b: number): readonly [number, number] {
    const half = (first: number): number =>
      this.picked(
        a,
        b,
        this.#order((i) => first + (i >> 1) + (i % 2) * this.lanes),
      );
    return [half(0), half(this.lanes / 2)];
  }

  /** One vector of those in turns, from its first element on: a lane more with each shuffle. */
  #gathered(vectors: readonly number[], first: number): number {
    const vector = (i: number): number => vectors[(first + i) % vectors.length]!;
    const lane = (i: number): number => Math.floor((first + i) / vectors.length);
    let made = vector(0);
    for (let i = 1; i < this.lanes; i++) {
      const before = (at: number): number => (i === 1 && at === 0 ? lane(0) : at);
      made = this.picked(
        made,
        vector(i),
        this.#order((at) => (at === i ? this.lanes + lane(i) : before(at))),
      );
    }
    return made;
  }
}
