// Threefry-2x32 with 20 rounds (Salmon and others, 2011) on the host: random words as a function of a key and a counter, the
// same as `rt.random` computes on every device. Nothing is stored, so a word can be computed again whenever it is needed.

const rotations = [13, 15, 26, 6, 17, 29, 16, 24] as const;

/** The two words of (key0, key1) and (counter0, counter1). */
export function threefry(key0: number, key1: number, counter0: number, counter1: number): [number, number] {
  const keys = [key0 | 0, key1 | 0, (0x1bd11bda ^ key0 ^ key1) | 0] as const;
  let x = (counter0 + keys[0]) | 0;
  let y = (counter1 + keys[1]) | 0;
  for (let round = 0; round < 20; round++) {
    const r = rotations[round % 8]!;
    x = (x + y) | 0;
    y = ((y << r) | (y >>> (32 - r))) ^ x;
    if (round % 4 === 3) {
      const i = (round + 1) / 4;
      x = (x + keys[i % 3]!) | 0;
      y = (y + keys[(i + 1) % 3]! + i) | 0;
    }
  }
  return [x >>> 0, y >>> 0];
}

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
