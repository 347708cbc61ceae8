// Adjacency in host memory as compressed sparse rows: the neighbours of v are neighbors[offsets[v] … offsets[v+1]-1], ascending.
// The algorithms that visit vertices one by one (searches, centralities, communities) work on it, for grids and for any graph.

import { LatticeTooLargeError } from './errors.ts';
import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';

export interface Adjacency {
  readonly vertices: number;
  readonly offsets: Int32Array;
  readonly neighbors: Int32Array;
  /** One per entry of `neighbors`; null where every edge weighs 1. */
  readonly weights: Float64Array | null;
}

/** Entries that the 32-bit offsets can number. */
export const mostEntries = 2 ** 31 - 1;

/** What the structure takes. */
export const adjacencyBytes = (vertices: number, edges: number): number => 4 * (vertices + 1) + 8 * edges;

/** The grid without its blocked vertices: those stay as vertices without edges, so that indices mean the same. */
export function gridAdjacency(grid: Grid, mask: Mask | null, where: string): Adjacency {
  if (grid.vertices > mostEntries || 2 * grid.edges > mostEntries) {
    throw new LatticeTooLargeError({
      where,
      problem: `the adjacency of the lattice ${grid} takes ${adjacencyBytes(grid.vertices, grid.edges)} bytes, the most that can be addressed is ${4 * mostEntries}`,
      fix: 'Use a smaller lattice, or methods with a closed form: distance, shortestPath without a mask, analyzeClosedForm.',
    });
  }
  return mask ? around(grid, mask) : whole(grid);
}

/**
 * Rows along the last axis that lie at the same borders look alike: the first of each kind is written vertex by vertex, the others are
 * copies of it, moved.
 */
function whole({ vertices, strides, size, dimensions: d, edges }: Grid): Adjacency {
  const offsets = new Int32Array(vertices + 1);
  const neighbors = new Int32Array(2 * edges);
  /** The first row of each kind. */
  const first = new Map<number, number>();
  const x = new Int32Array(d);
  for (let row = 0; row < vertices; row += size) {
    let borders = 0;
    for (let k = 0; k < d - 1; k++) borders = 4 * borders + (x[k]! > 0 ? 1 : 0) + (x[k]! < size - 1 ? 2 : 0);
    const like = first.get(borders);
    if (like === undefined) {
      first.set(borders, row);
      writeRow(offsets, neighbors, strides, size, x, row);
    } else copyRow(offsets, neighbors, size, like, row);
    for (let k = d - 2; k >= 0 && ++x[k]! === size; k--) x[k] = 0;
  }
  return { vertices, offsets, neighbors, weights: null };
}

function writeRow(
  offsets: Int32Array,
  neighbors: Int32Array,
  strides: readonly number[],
  size: number,
  x: Int32Array,
  row: number,
): void {
  const outer = strides.slice(0, -1);
  const below = outer.filter((_, k) => x[k]! > 0);
  const above = outer.filter((_, k) => x[k]! < size - 1).reverse();
  let at = offsets[row]!;
  for (let v = row, end = row + size; v < end; v++) {
    for (const s of below) neighbors[at++] = v - s;
    if (v > row) neighbors[at++] = v - 1;
    if (v < end - 1) neighbors[at++] = v + 1;
    for (const s of above) neighbors[at++] = v + s;
    offsets[v + 1] = at;
  }
}

/** Four at a time: the loop takes longer than what it copies. */
function copyRow(offsets: Int32Array, neighbors: Int32Array, size: number, from: number, to: number): void {
  const [start, away] = [offsets[from]!, to - from];
  const moved = offsets[to]! - start;
  const end = offsets[from + size]!;
  let i = start;
  for (; i + 3 < end; i += 4) {
    neighbors[i + moved] = neighbors[i]! + away;
    neighbors[i + moved + 1] = neighbors[i + 1]! + away;
    neighbors[i + moved + 2] = neighbors[i + 2]! + away;
    neighbors[i + moved + 3] = neighbors[i + 3]! + away;
  }
  for (; i < end; i++) neighbors[i + moved] = neighbors[i]! + away;
  for (let k = 1; k <= size; k++) offsets[to + k] = offsets[from + k]! + moved;
}

function around({ vertices, strides, size, dimensions: d, edges }: Grid, { bytes: blocked }: Mask): Adjacency {
  const offsets = new Int32Array(vertices + 1);
  const neighbors = new Int32Array(2 * edges);
  const x = new Int32Array(d);
  // Along a row of the last axis the neighbours on the other axes lie equally far away: below in front, above behind.
  const below = new Int32Array(d);
  const above = new Int32Array(d);
  let at = 0;
  for (let row = 0; row < vertices; row += size) {
    let [lower, upper] = [0, 0];
    for (let k = 0; k < d - 1; k++) if (x[k]! > 0) below[lower++] = -strides[k]!;
    for (let k = d - 2; k >= 0; k--) if (x[k]! < size - 1) above[upper++] = strides[k]!;
    for (let v = row, end = row + size; v < end; v++) {
      if (blocked[v] === 0) {
        for (let i = 0; i < lower; i++) if (blocked[v + below[i]!] === 0) neighbors[at++] = v + below[i]!;
        if (v > row && blocked[v - 1] === 0) neighbors[at++] = v - 1;
        if (v < end - 1 && blocked[v + 1] === 0) neighbors[at++] = v + 1;
        for (let i = 0; i < upper; i++) if (blocked[v + above[i]!] === 0) neighbors[at++] = v + above[i]!;
      }
      offsets[v + 1] = at;
    }
    for (let k = d - 2; k >= 0 && ++x[k]! === size; k--) x[k] = 0;
  }
  return { vertices, offsets, neighbors: neighbors.slice(0, at), weights: null };
}

export const edgeCount = (a: Adjacency): number => a.neighbors.length / 2;
