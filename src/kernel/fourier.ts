// Which lengths the `fourier` routine takes. What devices need besides is in unit-roots.ts.

/** The largest factor that a transform is split by. */
export const largestRadix = 13;

/** Roots of unity are kept for each length: this many at most. */
const longest = 2 ** 20;

/** Lengths with other factors are done as convolutions, up to this one. */
const longestChirped = 2048;

/** Whether no prime factor of a length is above `largestRadix`. */
export function isSmooth(length: number): boolean {
  let rest = length;
  for (let p = 2; p <= largestRadix; p++) while (rest > 1 && rest % p === 0) rest /= p;
  return rest === 1;
}

/** Whether rows of this length can be transformed. */
export const transformed = (length: number): boolean =>
  length > 1 && length <= (isSmooth(length) ? longest : longestChirped);

/** Values that are transformed for a row: as a convolution about four times as many, twice. */
export const workingLength = (length: number): number => (isSmooth(length) ? length : 6 * length);
