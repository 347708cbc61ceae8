// Random numbers of lattices and graphs on the host, by Threefry-2x32 with 20 rounds: what the stored weights of lattices are made of.

import { threefry as words } from '../base/threefry.ts';

/** The two words of (key0, key1) and (counter0, counter1). */
export const threefry = (key0: number, key1: number, counter0: number, counter1: number): [number, number] =>
  words(key0, key1, counter0, counter1, 20);

/** A sequence of random numbers from a seed. */
export class Draws {
  readonly #seed: number;
  #count = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** 32 random bits. */
  word(): number {
    return threefry(this.#seed, Math.floor(this.#seed / 2 ** 32), this.#count++, 0)[0];
  }

  /** A whole number below `n`. */
  below(n: number): number {
    return Math.floor((this.word() / 2 ** 32) * n);
  }

  /** The numbers below `n` in random order. */
  order(n: number): Int32Array {
    const list = Int32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = this.below(i + 1);
      const held = list[i]!;
      list[i] = list[j]!;
      list[j] = held;
    }
    return list;
  }
}
