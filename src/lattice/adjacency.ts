// Adjacency in host memory as compressed sparse rows: the neighbours of v are neighbors[offsets[v] … offsets[v+1]-1], ascending.
// The algorithms that visit vertices one by one (searches, centralities, communities) work on it, for grids and for any graph.

import { blank } from './arrays.ts';
import { LatticeTooLargeError } from './errors.ts';
import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';
import { sharedBy } from './shared.ts';

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
  return mask ? around(grid, mask) : sharedBy('rows', grid, whole);
}

/**
 * Slabs across an axis look alike unless they lie at a border: the first, the second and the last are filled, axis by axis; those between
 * are copies of the second, moved.
 */
function whole({ vertices, strides, size, dimensions: d, edges }: Grid): Adjacency {
  const offsets = blank(Int32Array, vertices + 1);
  const neighbors = blank(Int32Array, 2 * edges);
  offsets[0] = 0;
  /** Index distances of the neighbours on the axes that are decided: in front of a vertex, and behind it. */
  const below: number[] = [];
  const above: number[] = [];
  const fill = (axis: number, from: number): void => {
    if (axis === d - 1) {
      writeRow(offsets, neighbors, below, above, from, size);
      return;
    }
    const stride = strides[axis]!;
    const slab = (x: number): void => {
      if (x > 0) below.push(stride);
      if (x < size - 1) above.unshift(stride);
      fill(axis + 1, from + x * stride);
      if (x > 0) below.pop();
      if (x < size - 1) above.shift();
    };
    slab(0);
    if (size > 2) slab(1);
    for (let x = 2; x < size - 1; x++) copySlab(offsets, neighbors, from + stride, from + x * stride, stride);
    slab(size - 1);
  };
  fill(0, 0);
  return { vertices, offsets, neighbors, weights: null };
}

/** The rows of the vertices along the last axis. */
function writeRow(
  offsets: Int32Array,
  neighbors: Int32Array,
  below: readonly number[],
  above: readonly number[],
  row: number,
  size: number,
): void {
  let at = offsets[row]!;
  for (let v = row, end = row + size; v < end; v++) {
    for (const s of below) neighbors[at++] = v - s;
    if (v > row) neighbors[at++] = v - 1;
    if (v < end - 1) neighbors[at++] = v + 1;
    for (const s of above) neighbors[at++] = v + s;
    offsets[v + 1] = at;
  }
}

/** The rows of `count` vertices once more, for those that lie at `to`. */
function copySlab(offsets: Int32Array, neighbors: Int32Array, from: number, to: number, count: number): void {
  const [start, end] = [offsets[from]!, offsets[from + count]!];
  const begin = offsets[to]!;
  copyMoved(neighbors.subarray(start, end), neighbors.subarray(begin, begin + end - start), to - from);
  copyMoved(offsets.subarray(from + 1, from + count + 1), offsets.subarray(to + 1, to + count + 1), begin - start);
}

/** Four at a time: the loop takes longer than what it copies. */
function copyMoved(source: Int32Array, target: Int32Array, by: number): void {
  const four = source.length & ~3;
  let i = 0;
  for (; i < four; i += 4) {
    target[i] = source[i]! + by;
    target[i + 1] = source[i + 1]! + by;
    target[i + 2] = source[i + 2]! + by;
    target[i + 3] = source[i + 3]! + by;
  }
  for (; i < source.length; i++) target[i] = source[i]! + by;
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
