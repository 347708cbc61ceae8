// Roots of unity, and transforms in f64 to make tables with: for devices that have the `fourier` routine.

import { isSmooth } from './fourier.ts';

/** What a transform is as a convolution of another length (Bluestein, 1970). */
export interface Chirp {
  /** A power of two. */
  readonly size: number;
  /** exp(-πi·j²/length), by which values and frequencies are multiplied. */
  readonly chirp: readonly (readonly [number, number])[];
  /** The frequencies of its conjugates, at distances in both directions, divided by the size. */
  readonly spectrum: readonly (readonly [number, number])[];
}

/** Null for a length that is split into its factors. */
export function chirpOf(length: number): Chirp | null {
  if (isSmooth(length)) return null;
  const size = 2 ** Math.ceil(Math.log2(2 * length - 1));
  // j² modulo 2·length stays exact.
  const chirp = Array.from({ length }, (_, j) => rootOf((j * j) % (2 * length), 2 * length));
  const [re, im] = [new Float64Array(size), new Float64Array(size)];
  for (let j = 0; j < length; j++) {
    const [c, s] = chirp[j]!;
    for (const at of [j, (size - j) % size]) [re[at], im[at]] = [c, 0 - s];
  }
  const [x, y] = frequenciesOf([re, im]);
  return { size, chirp, spectrum: Array.from(x, (v, k) => [v / size, y[k]! / size]) };
}

/** exp(-2πi · a / n): exact at quarters of the circle. */
export function rootOf(a: number, n: number): readonly [number, number] {
  // Up to half a quarter away from the nearest one: sines and cosines of small angles are the most accurate ones.
  const turns = 4 * (a % n);
  const quarter = Math.round(turns / n);
  const angle = (Math.PI / 2) * ((turns - quarter * n) / n);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const there = [
    [c, 0 - s],
    [0 - s, 0 - c],
    [0 - c, s],
    [s, c],
  ] as const;
  return there[quarter % 4]!;
}

type Parts = readonly [re: Float64Array, im: Float64Array];

/** All frequencies of a row, in f64. */
export function frequenciesOf(row: Parts): Parts {
  const n = row[0].length;
  const [cos, sin] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0; i < n; i++) [cos[i], sin[i]] = rootOf(i, n);
  return splitRow(row, [cos, sin]);
}

/** By the smallest prime factor: transforms of every p-th value, put together with roots of the whole row. */
function splitRow([re, im]: Parts, roots: Parts): Parts {
  const n = re.length;
  if (n === 1) return [re, im];
  let p = 2;
  while (n % p !== 0) p++;
  const m = n / p;
  const step = roots[0].length / n;
  const made: Parts = [new Float64Array(n), new Float64Array(n)];
  for (let j = 0; j < p; j++) {
    const every = (x: Float64Array): Float64Array => {
      const some = new Float64Array(m);
      for (let i = 0; i < m; i++) some[i] = x[i * p + j]!;
      return some;
    };
    const [a, b] = splitRow([every(re), every(im)], roots);
    for (let k = 0; k < n; k++) {
      const at = ((j * k) % n) * step;
      const [c, s] = [roots[0][at]!, roots[1][at]!];
      made[0][k]! += a[k % m]! * c - b[k % m]! * s;
      made[1][k]! += a[k % m]! * s + b[k % m]! * c;
    }
  }
  return made;
}
