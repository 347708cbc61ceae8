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
  const blocked = mask?.bytes;
  const offsets = new Int32Array(vertices + 1);
  const neighbors = new Int32Array(2 * grid.edges);
  const x = new Int32Array(d);
  let at = 0;
  for (let v = 0; v < vertices; v++) {
    if (!blocked?.[v]) {
      for (let k = 0; k < d; k++) {
        const u = v - strides[k]!;
        if (x[k]! > 0 && !blocked?.[u]) neighbors[at++] = u;
      }
      for (let k = d - 1; k >= 0; k--) {
        const u = v + strides[k]!;
        if (x[k]! < size - 1 && !blocked?.[u]) neighbors[at++] = u;
      }
    }
    offsets[v + 1] = at;
    for (let k = d - 1; k >= 0 && ++x[k]! === size; k--) x[k] = 0;
  }
  return { vertices, offsets, neighbors: mask ? neighbors.slice(0, at) : neighbors, weights: null };
}

export const edgeCount = (a: Adjacency): number => a.neighbors.length / 2;
