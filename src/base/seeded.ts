// Numbers that follow from a seed, for plans of faults, resampling and tests. Tensors draw theirs elsewhere, the same on every device.

/** Whole numbers below 2³², by mulberry32: small, quick, and good enough to pick by. */
export function seededBits(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/** The same from 0 to 1, without 1. */
export function seededRandom(seed: number): () => number {
  const bits = seededBits(seed);
  return () => bits() / 2 ** 32;
}
