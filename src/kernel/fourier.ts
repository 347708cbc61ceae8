// Which lengths the `fourier` routine takes.

/** The largest factor that a transform is split by. */
export const largestRadix = 13;

/** Roots of unity are kept for each length: this many at most. */
const longest = 2 ** 20;

/** Whether rows of this length can be transformed: no prime factor is above `largestRadix`, and there is something to do. */
export function transformed(length: number): boolean {
  let rest = length;
  for (let p = 2; p <= largestRadix; p++) while (rest > 1 && rest % p === 0) rest /= p;
  return rest === 1 && length > 1 && length <= longest;
}
