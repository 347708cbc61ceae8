// How central vertices are, by four definitions, on any adjacency. Vertices without edges (blocked ones too) get 0.

import type { Adjacency } from './adjacency.ts';
import { shortestTree } from './dijkstra.ts';
import { Search } from './search.ts';

export const centralityKinds = ['betweenness', 'closeness', 'degree', 'eigenvector'] as const;
export type CentralityKind = (typeof centralityKinds)[number];

/** Pairs of other vertices: what normalised betweenness is divided by. */
export const betweennessDivisor = (vertices: number): number => ((vertices - 1) * (vertices - 2)) / 2;

export function degrees({ vertices, offsets, weights }: Adjacency): Float64Array {
  return Float64Array.from({ length: vertices }, (_, v) => {
    const [from, to] = [offsets[v]!, offsets[v + 1]!];
    return weights ? weights.subarray(from, to).reduce((a, b) => a + b, 0) : to - from;
  });
}

/** (n-1)/Σ distance within the component of n vertices, scaled by (n-1)/(N-1) of `vertices` in all. */
export function closeness(graph: Adjacency, vertices: number): Float64Array {
  const search = new Search(graph);
  return Float64Array.from({ length: graph.vertices }, (_, v) => {
    if (graph.offsets[v] === graph.offsets[v + 1]) return 0;
    const { distances, order } = graph.weights ? shortestTree(graph, v) : search.from(v);
    const reached = graph.weights ? order.length : search.reached;
    let sum = 0;
    for (let i = 1; i < reached; i++) sum += distances[order[i]!]!;
    return ((reached - 1) / sum) * ((reached - 1) / (vertices - 1));
  });
}

/** The eigenvector of the largest eigenvalue, largest component 1. The matrix is shifted: a bipartite graph would swing for ever. */
export function eigenvector(graph: Adjacency, rounds = 100_000, tolerance = 1e-14): Float64Array {
  const { offsets, neighbors, weights } = graph;
  let x = Float64Array.from({ length: graph.vertices }, (_, v) => (offsets[v + 1]! > offsets[v]! ? 1 : 0));
  let next = new Float64Array(graph.vertices);
  for (let round = 0; round < rounds; round++) {
    let most = 0;
    for (let v = 0; v < x.length; v++) {
      let sum = x[v]!;
      for (let e = offsets[v]!; e < offsets[v + 1]!; e++) sum += x[neighbors[e]!]! * (weights ? weights[e]! : 1);
      next[v] = sum;
      if (sum > most) most = sum;
    }
    if (most === 0) return next;
    let change = 0;
    for (let v = 0; v < x.length; v++) {
      next[v] = next[v]! / most;
      change = Math.max(change, Math.abs(next[v]! - x[v]!));
    }
    [x, next] = [next, x];
    if (change <= tolerance) break;
  }
  return x;
}
