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
  const { vertices, strides, size, dimensions: d } = grid;
  const blocked = mask?.bytes ?? null;
  const offsets = new Int32Array(vertices + 1);
  const neighbors = new Int32Array(2 * grid.edges);
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
      if (blocked === null) {
        for (let i = 0; i < lower; i++) neighbors[at++] = v + below[i]!;
        if (v > row) neighbors[at++] = v - 1;
        if (v < end - 1) neighbors[at++] = v + 1;
        for (let i = 0; i < upper; i++) neighbors[at++] = v + above[i]!;
      } else if (blocked[v] === 0) {
        for (let i = 0; i < lower; i++) if (blocked[v + below[i]!] === 0) neighbors[at++] = v + below[i]!;
        if (v > row && blocked[v - 1] === 0) neighbors[at++] = v - 1;
        if (v < end - 1 && blocked[v + 1] === 0) neighbors[at++] = v + 1;
        for (let i = 0; i < upper; i++) if (blocked[v + above[i]!] === 0) neighbors[at++] = v + above[i]!;
      }
      offsets[v + 1] = at;
    }
    for (let k = d - 2; k >= 0 && ++x[k]! === size; k--) x[k] = 0;
  }
  return { vertices, offsets, neighbors: mask ? neighbors.slice(0, at) : neighbors, weights: null };
}

export const edgeCount = (a: Adjacency): number => a.neighbors.length / 2;
