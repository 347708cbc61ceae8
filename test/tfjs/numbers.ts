// Numbers from a seed.

/** Evenly in [-1, 1), the same for the same seed. */
export function seeded(seed: number): () => number {
  let s = (seed * 2654435761) >>> 0;
  return () => {
    s = (Math.imul(s ^ (s >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    s ^= s >>> 13;
    return ((s >>> 0) / 2 ** 32) * 2 - 1;
  };
}
