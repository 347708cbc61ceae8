// A plain search and a seeded generator for the lattice's tests: written without the code that they check.

import { seededRandom } from '../../src/base/seeded.ts';
import { seed } from '../support/seed.ts';

/** A stream of numbers in [0, 1) from the tests' seed. */
export const numbers = (offset = 0): (() => number) => seededRandom(seed + offset);

export function coordsOf(v: number, d: number, n: number): number[] {
  return Array.from({ length: d }, (_, k) => Math.floor(v / n ** (d - 1 - k)) % n);
}

export function plainNeighbors(v: number, d: number, n: number): number[] {
  const x = coordsOf(v, d, n);
  const found: number[] = [];
  for (let k = 0; k < d; k++) {
    for (const by of [-1, 1]) {
      const y = x.map((c, i) => (i === k ? c + by : c));
      if (y[k]! >= 0 && y[k]! < n) found.push(y.reduce((sum, c) => sum * n + c, 0));
    }
  }
  return found.sort((a, b) => a - b);
}

/** Distances from s around blocked vertices; -1 where there is no way. */
export function plainDistances(d: number, n: number, blocked: ReadonlySet<number>, s: number): Int32Array {
  const distances = new Int32Array(n ** d).fill(-1);
  distances[s] = 0;
  let frontier = [s];
  for (let level = 1; frontier.length > 0; level++) {
    const next: number[] = [];
    for (const v of frontier) {
      for (const u of plainNeighbors(v, d, n)) {
        if (distances[u] !== -1 || blocked.has(u)) continue;
        distances[u] = level;
        next.push(u);
      }
    }
    frontier = next;
  }
  return distances;
}

export function randomMask(random: () => number, vertices: number, part: number): Set<number> {
  return new Set(Array.from({ length: vertices }, (_, v) => v).filter(() => random() < part));
}
