// The grid graph L(d, n): vertices {0 … n-1}^d, neighbours one step apart on one axis, no wrap-around. Everything here is
// arithmetic: nothing is stored per vertex, so it works on lattices far too large to build.
//
// The index is row-major, last axis fastest.

import { shown } from '../base/arguments.ts';
import { CoordinateError, LatticeConfigError, LatticeTooLargeError, VertexRangeError } from './errors.ts';

export const limits = {
  dimensions: { least: 1, most: 10, standard: 4 },
  size: { least: 2, most: 100, standard: 10 },
} as const;

export interface Reach {
  /** Vertices reached, the start included. */
  readonly reached: number;
  /** The last level that found any. */
  readonly levels: number;
}

export class Grid {
  readonly dimensions: number;
  readonly size: number;
  /** size^dimensions: all positions, blocked ones included. */
  readonly vertices: number;
  /** d (n-1) n^(d-1); exact up to 2^53. */
  readonly edges: number;
  /** Index distance of neighbours, per axis. */
  readonly strides: readonly number[];

  constructor(dimensions: number, size: number, where = 'Lattice') {
    for (const [name, value] of Object.entries({ dimensions, size }) as ['dimensions' | 'size', number][]) {
      const { least, most } = limits[name];
      if (Number.isInteger(value) && value >= least && value <= most) continue;
      throw new LatticeConfigError({
        where,
        problem: `${name} is ${String(value)}`,
        fix: `Use a whole number from ${least} to ${most}.`,
      });
    }
    const exact = BigInt(size) ** BigInt(dimensions);
    if (exact > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new LatticeTooLargeError({
        where,
        problem: `${dimensions} dimensions of size ${size} have ${exact} vertices, more than the ${Number.MAX_SAFE_INTEGER} that can be numbered`,
        fix: 'Use fewer dimensions or a smaller size.',
      });
    }
    this.dimensions = dimensions;
    this.size = size;
    this.vertices = Number(exact);
    this.edges = dimensions * (size - 1) * size ** (dimensions - 1);
    this.strides = Array.from({ length: dimensions }, (_, k) => size ** (dimensions - 1 - k));
  }

  get shape(): number[] {
    return this.strides.map(() => this.size);
  }

  get diameter(): number {
    return this.dimensions * (this.size - 1);
  }

  /** Steps to the vertex that is farthest away. */
  farthest(vertex: number): number {
    return this.coords(vertex).reduce((sum, x) => sum + Math.max(x, this.size - 1 - x), 0);
  }

  toString(): string {
    return `(${this.dimensions}, ${this.size})`;
  }

  /** Refuses what is no vertex. */
  check(vertex: unknown, where: string): number {
    if (Number.isSafeInteger(vertex) && (vertex as number) >= 0 && (vertex as number) < this.vertices)
      return vertex as number;
    const range = `Use a whole number from 0 to ${this.vertices - 1}.`;
    throw new VertexRangeError({
      where,
      problem: `${shown(vertex)} is no vertex of the lattice ${this}`,
      fix: Array.isArray(vertex) ? `${range} Of coordinates: lattice.coordsToIndex(${shown(vertex)}).` : range,
    });
  }

  coords(vertex: number): number[] {
    let rest = vertex;
    return this.strides.map((stride) => {
      const x = Math.floor(rest / stride);
      rest -= x * stride;
      return x;
    });
  }

  index(coords: readonly number[], where: string): number {
    if (!this.valid(coords)) {
      throw new CoordinateError({
        where,
        problem: `[${String(coords)}] are no coordinates of the lattice ${this}`,
        fix: `Give ${this.dimensions} whole numbers from 0 to ${this.size - 1}.`,
      });
    }
    return coords.reduce((sum, x, k) => sum + x * this.strides[k]!, 0);
  }

  valid(coords: unknown): coords is readonly number[] {
    return (
      Array.isArray(coords) &&
      coords.length === this.dimensions &&
      coords.every((x) => Number.isInteger(x) && x >= 0 && x < this.size)
    );
  }

  /** Ascending. */
  neighbors(vertex: number): number[] {
    const x = this.coords(vertex);
    const found: number[] = [];
    for (let k = 0; k < x.length; k++) if (x[k]! > 0) found.push(vertex - this.strides[k]!);
    for (let k = x.length - 1; k >= 0; k--) if (x[k]! < this.size - 1) found.push(vertex + this.strides[k]!);
    return found;
  }

  /** Steps per axis between two vertices. */
  deltas(s: number, t: number): number[] {
    const y = this.coords(t);
    return this.coords(s).map((x, k) => Math.abs(x - y[k]!));
  }

  distance(s: number, t: number): number {
    let [a, b, sum] = [s, t, 0];
    for (const stride of this.strides) {
      const [x, y] = [Math.floor(a / stride), Math.floor(b / stride)];
      sum += Math.abs(x - y);
      a -= x * stride;
      b -= y * stride;
    }
    return sum;
  }

  /** One shortest path, first axis first. */
  path(s: number, t: number): number[] {
    const [x, y] = [this.coords(s), this.coords(t)];
    const path = [s];
    let at = s;
    for (let k = 0; k < x.length; k++) {
      const step = x[k]! < y[k]! ? this.strides[k]! : -this.strides[k]!;
      for (let left = Math.abs(x[k]! - y[k]!); left > 0; left--) path.push((at += step));
    }
    return path;
  }

  /** L! / Π δ_k!: as a product of binomials, each step exact. */
  shortestPaths(s: number, t: number): bigint {
    let [count, total] = [1n, 0n];
    for (const delta of this.deltas(s, t)) {
      for (let i = 1n; i <= BigInt(delta); i++) count = (count * (total + i)) / i;
      total += BigInt(delta);
    }
    return count;
  }

  /** The sum of distances from a vertex to all others, by axis. */
  distanceSum(vertex: number): number {
    const n = this.size;
    const others = n ** (this.dimensions - 1);
    return this.coords(vertex).reduce((sum, x) => sum + (others * (x * (x + 1) + (n - 1 - x) * (n - x))) / 2, 0);
  }

  /** Steps from a vertex to every other, axis by axis. */
  distances(vertex: number): Int32Array {
    const result = new Int32Array(this.vertices);
    const from = this.coords(vertex);
    this.strides.forEach((stride, k) => {
      for (let v = 0; v < result.length; v += stride) {
        const step = Math.abs(((v / stride) % this.size) - from[k]!);
        for (let end = v + stride, u = v; u < end; u++) result[u] = result[u]! + step;
      }
    });
    return result;
  }

  /** How many vertices lie at most so many steps away: at each distance a product over the axes, since distances add up. */
  reach(vertex: number, most: number): Reach {
    let counts = [1];
    for (const x of this.coords(vertex)) {
      const next = new Array<number>(counts.length + Math.max(x, this.size - 1 - x)).fill(0);
      for (let y = 0; y < this.size; y++)
        counts.forEach((c, i) => {
          next[i + Math.abs(x - y)]! += c;
        });
      counts = next;
    }
    const near = counts.slice(0, Math.min(most, counts.length - 1) + 1);
    return { reached: near.reduce((a, b) => a + b, 0), levels: near.length - 1 };
  }

  /** Vertices that mirroring and exchanging axes map onto each other have the same key. */
  orbit(vertex: number): number {
    const folded = this.coords(vertex).map((x) => Math.min(x, this.size - 1 - x));
    return folded.sort((a, b) => a - b).reduce((key, x) => key * this.size + x, 0);
  }
}
