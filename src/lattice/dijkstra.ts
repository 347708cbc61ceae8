// Shortest paths by weight (Dijkstra, 1959) with a binary heap.

import type { Adjacency } from './adjacency.ts';
import { VertexHeap } from './heap.ts';

export interface ShortestTree {
  /** Infinity where there is no way. */
  readonly distances: Float64Array;
  /** The vertex before each on a shortest path; -1 for the source and what is not reached. */
  readonly before: Int32Array;
  /** Settled vertices, nearest first. */
  readonly order: readonly number[];
}

/** From `source` to every vertex, or until `target` is settled. */
export function shortestTree(graph: Adjacency, source: number, target = -1): ShortestTree {
  const { offsets, neighbors, weights, vertices } = graph;
  const distances = new Float64Array(vertices).fill(Number.POSITIVE_INFINITY);
  const before = new Int32Array(vertices).fill(-1);
  const settled = new Uint8Array(vertices);
  const order: number[] = [];
  const heap = new VertexHeap();
  distances[source] = 0;
  heap.push(0, source);
  while (heap.size > 0) {
    const v = heap.pop();
    if (settled[v]) continue;
    settled[v] = 1;
    order.push(v);
    if (v === target) break;
    for (let e = offsets[v]!; e < offsets[v + 1]!; e++) {
      const u = neighbors[e]!;
      const through = distances[v]! + (weights ? weights[e]! : 1);
      if (through >= distances[u]!) continue;
      distances[u] = through;
      before[u] = v;
      heap.push(through, u);
    }
  }
  return { distances, before, order };
}
