// Random numbers of a field: one seed, one key for each use (stream), and the number of the cycle.
//
// The device draws with `rt.random`, from the keys made here. The host draws the few numbers it needs itself, by the same
// generator, so that they are the same wherever the field lives.

import { threefry } from '../base/threefry.ts';

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
