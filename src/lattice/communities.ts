// Communities: groups of vertices with more edges inside than chance would give, found in three ways. Each covers every vertex
// once and is the same for the same seed. Q, the modularity, is recomputed from the partition.

import { type Adjacency, edgeCount } from './adjacency.ts';
import { Brandes } from './brandes.ts';
import { LatticeTooLargeError } from './errors.ts';
import { louvain } from './louvain.ts';
import { components } from './search.ts';
import { Draws } from './threefry.ts';

export const communityMethods = ['modularity', 'edge_betweenness', 'label_propagation'] as const;
export type CommunityMethod = (typeof communityMethods)[number];

export interface CommunityOptions {
  /** Default 0. */
  readonly seed?: number | undefined;
  /** For `edge_betweenness`: how long it may take. Default 10,000. */
  readonly limitMs?: number | undefined;
}

export interface Partition {
  readonly method: CommunityMethod;
  /** The community of each vertex, numbered from 0 by their lowest vertex; -1 for blocked vertices. */
  readonly of: Int32Array;
  readonly count: number;
  /** Σ over communities of (edges inside / all edges − (degrees / 2 · all edges)²). */
  readonly modularity: number;
}

export interface Communities {
  readonly graph: Adjacency;
  /** Vertices that belong to no community. */
  readonly skip?: Uint8Array | undefined;
  /** Partitions that are good by construction, to start from as well. */
  readonly starts?: (() => Iterable<Int32Array>) | undefined;
}

export function findCommunities(of: Communities, method: CommunityMethod, o: CommunityOptions = {}): Partition {
  return partition(of, method, methods[method](of, o.seed ?? 0, o.limitMs ?? 10_000));
}

const methods: Readonly<Record<CommunityMethod, (of: Communities, seed: number, limitMs: number) => Int32Array>> = {
  modularity: ({ graph, starts }, seed) => {
    const found = [
      louvain(graph, new Draws(seed)),
      ...[...(starts?.() ?? [])].map((s) => louvain(graph, new Draws(seed), s)),
    ];
    return found.reduce((best, one) => (modularity(graph, one) > modularity(graph, best) ? one : best));
  },
  edge_betweenness: ({ graph, skip }, _, limitMs) => girvanNewman(graph, limitMs, skip),
  label_propagation: ({ graph }, seed) => propagate(graph, new Draws(seed)),
};

function partition({ graph, skip }: Communities, method: CommunityMethod, labels: Int32Array): Partition {
  const numbers = new Map<number, number>();
  const of = labels.map((label, v) => {
    if (skip?.[v]) return -1;
    if (!numbers.has(label)) numbers.set(label, numbers.size);
    return numbers.get(label)!;
  });
  return { method, of, count: numbers.size, modularity: modularity(graph, of) };
}

/** Q of a partition; 0 for a graph without edges. */
export function modularity(graph: Adjacency, of: Int32Array): number {
  const { offsets, neighbors, weights } = graph;
  const inside = new Map<number, number>();
  const degree = new Map<number, number>();
  let total = 0;
  for (let v = 0; v < graph.vertices; v++) {
    const c = of[v]!;
    let [own, all] = [0, 0];
    for (let e = offsets[v]!; e < offsets[v + 1]!; e++) {
      const w = weights ? weights[e]! : 1;
      all += w;
      if (of[neighbors[e]!] === c) own += w;
    }
    total += all;
    inside.set(c, (inside.get(c) ?? 0) + own);
    degree.set(c, (degree.get(c) ?? 0) + all);
  }
  if (total === 0) return 0;
  let q = 0;
  for (const [c, d] of degree) q += inside.get(c)! / total - (d / total) ** 2;
  return q;
}

/** Each vertex takes the label most frequent among its neighbours, in random order, until nothing changes or 100 rounds are over. */
function propagate(graph: Adjacency, draws: Draws): Int32Array {
  const { offsets, neighbors, weights } = graph;
  const labels = Int32Array.from({ length: graph.vertices }, (_, v) => v);
  for (let round = 0; round < 100; round++) {
    let changed = false;
    for (const v of draws.order(graph.vertices)) {
      const votes = new Map<number, number>();
      for (let e = offsets[v]!; e < offsets[v + 1]!; e++) {
        const label = labels[neighbors[e]!]!;
        votes.set(label, (votes.get(label) ?? 0) + (weights ? weights[e]! : 1));
      }
      const most = Math.max(0, ...votes.values());
      if (most === 0 || (votes.get(labels[v]!) ?? 0) === most) continue;
      const tied = [...votes].flatMap(([label, n]) => (n === most ? [label] : []));
      labels[v] = tied[draws.below(tied.length)]!;
      changed = true;
    }
    if (!changed) break;
  }
  return labels;
}

const mostEdges = 2000;

/** Girvan and Newman: take away the edge most paths pass through, again and again; keep the parts with the best Q. */
function girvanNewman(graph: Adjacency, limitMs: number, skip?: Uint8Array): Int32Array {
  const edges = edgeCount(graph);
  // Every removal is a pass over all edges from every vertex; about a nanosecond and a half each, of fewer and fewer edges.
  const estimate = (edges * graph.vertices * edges * 1.5e-6) / 2;
  const refuse = (why: string): never => {
    throw new LatticeTooLargeError({
      where: 'communities',
      problem: `edge_betweenness of ${graph.vertices} vertices and ${edges} edges would take about ${Math.ceil(estimate)} ms; ${why}`,
      fix: "Use 'modularity' or 'label_propagation', or a higher limitMs.",
    });
  };
  if (edges > mostEdges) refuse(`the most is ${mostEdges} edges`);
  if (estimate > limitMs) refuse(`the limit is ${limitMs} ms`);
  const end = performance.now() + limitMs;
  let left = graph;
  let { of: best, count: parts } = components(left, skip);
  let bestQ = modularity(graph, best);
  while (left.neighbors.length > 0) {
    if (performance.now() > end) refuse(`it took longer than ${limitMs} ms`);
    left = without(left, busiest(left));
    const now = components(left, skip);
    if (now.count <= parts) continue;
    parts = now.count;
    const q = modularity(graph, now.of);
    // A tie stays with the coarser partition; sums differ in their last bits.
    if (q > bestQ + 1e-12) [best, bestQ] = [now.of, q];
  }
  return best;
}

/** The edge with the highest betweenness; of equal ones the lowest (vertex, vertex). */
function busiest(graph: Adjacency): readonly [number, number] {
  const through = new Float64Array(graph.neighbors.length);
  const brandes = new Brandes(graph);
  for (let s = 0; s < graph.vertices; s++) if (graph.offsets[s]! < graph.offsets[s + 1]!) brandes.from(s, through);
  let best: readonly [number, number] = [-1, -1];
  let most = -1;
  for (let v = 0; v < graph.vertices; v++) {
    for (let e = graph.offsets[v]!; e < graph.offsets[v + 1]!; e++) {
      const u = graph.neighbors[e]!;
      if (u < v) continue;
      const both = through[e]! + through[entry(graph, u, v)]!;
      if (both > most * (1 + 1e-9)) [best, most] = [[v, u], both];
    }
  }
  return best;
}

/** Where v stands in the row of u. */
function entry(graph: Adjacency, u: number, v: number): number {
  return graph.neighbors.indexOf(v, graph.offsets[u]!);
}

function without(graph: Adjacency, [a, b]: readonly [number, number]): Adjacency {
  const gone = [entry(graph, a, b), entry(graph, b, a)].sort((x, y) => x - y) as [number, number];
  const keep = (_: number, i: number): boolean => i !== gone[0] && i !== gone[1];
  return {
    vertices: graph.vertices,
    offsets: graph.offsets.map((o) => o - (o > gone[0] ? 1 : 0) - (o > gone[1] ? 1 : 0)),
    neighbors: graph.neighbors.filter(keep),
    weights: graph.weights?.filter(keep) ?? null,
  };
}
