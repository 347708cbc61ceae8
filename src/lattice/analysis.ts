// What a lattice is like as a graph: by closed forms without a mask, by searching with one.

import { type Adjacency, adjacencyBytes, edgeCount } from './adjacency.ts';
import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';
import { components, diameter } from './search.ts';

export interface Analysis {
  /** Those that are not blocked. */
  readonly vertices: number;
  readonly edges: number;
  readonly dimensions: number;
  readonly size: number;
  readonly isConnected: boolean;
  /** The largest distance; -1 if the mask leaves nothing, or parts that cannot reach each other. */
  readonly diameter: number;
  readonly avgDegree: number;
  /** 0: a grid is bipartite and has no triangles. */
  readonly clusteringCoefficient: number;
  /** 2E / (N (N-1)). */
  readonly density: number;
}

/** Bytes by part, of the lattice without its mask. */
export interface MemoryEstimate {
  readonly csr: number;
  readonly mask: number;
  readonly distances: number;
  readonly betweenness: number;
  readonly dense: number;
}

export function estimateMemory({ vertices, edges }: Grid): MemoryEstimate {
  return {
    csr: adjacencyBytes(vertices, edges),
    mask: vertices,
    distances: 4 * vertices,
    betweenness: 40 * vertices + 16 * edges,
    dense: 8 * vertices ** 2,
  };
}

export function closedForm(grid: Grid): Analysis {
  return analysis(grid, grid.vertices, grid.edges, grid.diameter);
}

/** The lattice without its blocked vertices. */
export function masked(grid: Grid, mask: Mask, graph: Adjacency): Analysis {
  const vertices = grid.vertices - mask.blocked;
  const start = mask.bytes.indexOf(0);
  const connected = vertices > 0 && components(graph, mask.bytes).count === 1;
  return analysis(grid, vertices, edgeCount(graph), connected ? diameter(graph, start) : -1);
}

/** From what was counted; `farthest` is -1 where not all can reach each other. */
export function analysis(grid: Grid, vertices: number, edges: number, farthest: number): Analysis {
  return {
    vertices,
    edges,
    dimensions: grid.dimensions,
    size: grid.size,
    isConnected: farthest >= 0,
    diameter: farthest,
    avgDegree: vertices === 0 ? 0 : (2 * edges) / vertices,
    clusteringCoefficient: 0,
    density: vertices < 2 ? 0 : (2 * edges) / (vertices * (vertices - 1)),
  };
}
