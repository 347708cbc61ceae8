// Searches on the host: each vertex is visited once, from a queue.

import type { Adjacency } from './adjacency.ts';

/** Room for one search after another on one graph. */
export abstract class VertexSearch {
  /** Steps from the source; -1 where it cannot get. Valid until the next search. */
  readonly distances: Int32Array;
  /** The vertices reached, nearest first. */
  readonly order: Int32Array;
  reached = 0;
  /** Where the last search began; -1 before the first. */
  source = -1;
  /** The last search went to the end. */
  whole = false;

  constructor(vertices: number) {
    this.distances = new Int32Array(vertices).fill(-1);
    this.order = new Int32Array(vertices);
  }

  /** Searches from `source`, to the end or until `target` is found. */
  abstract from(source: number, target?: number): this;

  /** Ascending. */
  abstract neighbors(vertex: number): ArrayLike<number> & Iterable<number>;

  /** The source is reached, nothing else; gives the number of vertices in `order`. */
  protected begin(source: number): number {
    const { distances, order } = this;
    // What the last search reached is all that is not -1.
    if (this.reached > distances.length / 4) distances.fill(-1);
    else for (let i = 0; i < this.reached; i++) distances[order[i]!] = -1;
    this.source = source;
    this.whole = true;
    distances[source] = 0;
    order[0] = source;
    return 1;
  }

  /** The farthest distance of the last search. */
  get eccentricity(): number {
    return this.distances[this.order[this.reached - 1]!]!;
  }

  /** A shortest path to the source of the last search, which must have reached `target`; the lowest vertex goes first. */
  pathTo(target: number): number[] {
    const { distances } = this;
    const path = new Array<number>(distances[target]! + 1);
    let v = target;
    for (let left = distances[target]!; left > 0; left--) {
      path[left] = v;
      const near = this.neighbors(v);
      let i = 0;
      while (distances[near[i]!] !== left - 1) i++;
      v = near[i]!;
    }
    path[0] = v;
    return path;
  }
}

/** Along the rows of any graph. */
export class Search extends VertexSearch {
  readonly graph: Adjacency;

  constructor(graph: Adjacency) {
    super(graph.vertices);
    this.graph = graph;
  }

  override neighbors(v: number): Int32Array {
    return this.graph.neighbors.subarray(this.graph.offsets[v]!, this.graph.offsets[v + 1]!);
  }

  override from(source: number, target = -1): this {
    const { distances, order } = this;
    const { offsets, neighbors } = this.graph;
    let tail = this.begin(source);
    search: for (let head = 0; head < tail; head++) {
      const v = order[head]!;
      const next = distances[v]! + 1;
      for (let e = offsets[v]!, end = offsets[v + 1]!; e < end; e++) {
        const u = neighbors[e]!;
        if (distances[u] !== -1) continue;
        distances[u] = next;
        order[tail++] = u;
        if (u !== target) continue;
        this.whole = false;
        break search;
      }
    }
    this.reached = tail;
    return this;
  }
}

/** Shortest paths from s to t, counted along a search from s. */
export function countPaths(search: VertexSearch, t: number): bigint {
  const { distances, order, reached } = search;
  const counts = new Map<number, bigint>([[order[0]!, 1n]]);
  for (let i = 1; i < reached; i++) {
    const v = order[i]!;
    if (distances[v]! > distances[t]!) break;
    let sum = 0n;
    for (const u of search.neighbors(v)) if (distances[u] === distances[v]! - 1) sum += counts.get(u) ?? 0n;
    counts.set(v, sum);
  }
  return distances[t]! < 0 ? 0n : counts.get(t)!;
}

/** Which component each vertex belongs to (numbered by its lowest vertex), and how many there are. `skip`: vertices of none, -1. */
export function components(graph: Adjacency, skip?: Uint8Array): { readonly of: Int32Array; readonly count: number } {
  const of = new Int32Array(graph.vertices).fill(-1);
  const stack = new Int32Array(graph.vertices);
  let count = 0;
  for (let s = 0; s < graph.vertices; s++) {
    if (of[s] !== -1 || skip?.[s]) continue;
    let depth = 0;
    stack[depth++] = s;
    of[s] = count;
    while (depth > 0) {
      const v = stack[--depth]!;
      for (let e = graph.offsets[v]!; e < graph.offsets[v + 1]!; e++) {
        const u = graph.neighbors[e]!;
        if (of[u] !== -1) continue;
        of[u] = count;
        stack[depth++] = u;
      }
    }
    count++;
  }
  return { of, count };
}

/**
 * The largest distance within the component of `start`, exactly (iFUB; Crescenzi and others, 2013): levels around a central
 * vertex from the outside in, until no vertex further in can do better.
 */
export function diameter(graph: Adjacency, start: number): number {
  const search = new Search(graph);
  const far = search.from(start).order[search.reached - 1]!;
  const end = search.from(far).order[search.reached - 1]!;
  let best = search.eccentricity;
  const path = search.pathTo(end);
  const center = path[path.length >> 1]!;
  const around = new Search(graph).from(center);
  best = Math.max(best, around.eccentricity);
  for (let i = around.reached - 1; i >= 0; i--) {
    const v = around.order[i]!;
    if (best >= 2 * around.distances[v]!) break;
    best = Math.max(best, search.from(v).eccentricity);
  }
  return best;
}
