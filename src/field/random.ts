// Random numbers of a field: one seed, one key for each use (stream), and the number of the cycle.
//
// The device draws with `rt.random`, from the keys made here. The host draws the few numbers it needs itself, by the same
// generator (Threefry-2x32 with 20 rounds), so that they are the same wherever the field lives.

/** What numbers are drawn for. */
export const streams = {
  start: 0,
  startOfDynamics: 1,
  spontaneous: 2,
  exploration: 3,
  place: 4,
  waves: 5,
  novelty: 6,
} as const;
export type StreamName = keyof typeof streams;

const rotations = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;

/** Two random words for a key of two words and a counter of two. */
export function threefry(key0: number, key1: number, low: number, high: number): [number, number] {
  const keys = [key0 | 0, key1 | 0, key0 ^ key1 ^ 0x1bd11bda];
  let x = (low + keys[0]!) | 0;
  let y = (high + keys[1]!) | 0;
  for (let block = 0; block < 5; block++) {
    for (const r of rotations[block % 2]!) {
      x = (x + y) | 0;
      y = ((y << r) | (y >>> (32 - r))) ^ x;
    }
    x = (x + keys[(block + 1) % 3]!) | 0;
    y = (y + keys[(block + 2) % 3]! + block + 1) | 0;
  }
  return [x >>> 0, y >>> 0];
}

/** The key of a stream. */
export function streamKey(seed: number, stream: StreamName): [number, number] {
  return threefry(seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, streams[stream], 0x6c656966);
}

/** The keys of all streams of a seed, in order: what a cycle on the device is given. */
export function allKeys(seed: number): Uint32Array {
  const words = Object.keys(streams).flatMap((name) => streamKey(seed, name as StreamName));
  return Uint32Array.from(words);
}

/** Numbers of one stream in one cycle, one after the other. */
export class HostRandom {
  readonly #key: readonly [number, number];
  #count = 0;

  constructor(seed: number, stream: StreamName, cycle = 0) {
    const [a, b] = streamKey(seed, stream);
    this.#key = [(a + (cycle % 2 ** 24)) >>> 0, (b + Math.floor(cycle / 2 ** 24)) >>> 0];
  }

  words(): [number, number] {
    return threefry(this.#key[0], this.#key[1], this.#count++, 0);
  }

  /** In [0, 1). */
  uniform(): number {
    return this.words()[0] / 2 ** 32;
  }

  normal(): number {
    const [x, y] = this.words();
    return Math.sqrt(-2 * Math.log(1 - x / 2 ** 32)) * Math.cos((2 * Math.PI * y) / 2 ** 32);
  }
}
