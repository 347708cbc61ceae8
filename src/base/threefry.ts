// Threefry-2x32 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011) on the host: two random words as a function
// of a key and a counter. Nothing is stored, so a word can be computed again whenever it is needed.

/** By how many bits the second word is turned in each round, over and over. */
export const rotations = [13, 15, 26, 6, 17, 29, 16, 24] as const;

/**
 * Rounds of what `rt.random` draws, on every device. The fewest that pass all tests of BigCrush are 13; these are three more, and
 * whole blocks.
 */
export const drawRounds = 16;

/** The two words of (key0, key1) and (counter0, counter1). */
export function threefry(
  key0: number,
  key1: number,
  counter0: number,
  counter1: number,
  rounds = drawRounds,
): [number, number] {
  const keys = [key0 | 0, key1 | 0, (0x1bd11bda ^ key0 ^ key1) | 0] as const;
  let x = (counter0 + keys[0]) | 0;
  let y = (counter1 + keys[1]) | 0;
  for (let round = 0; round < rounds; round++) {
    const r = rotations[round % rotations.length]!;
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
