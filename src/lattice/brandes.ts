// Betweenness (Brandes, 2001): for every source the shortest paths are counted outwards, and what passes through each vertex
// or edge is added up on the way back. Counts are doubles: exact up to 2^53 paths, to about 1e-13 beyond.

import type { Adjacency } from './adjacency.ts';
import { shortestTree } from './dijkstra.ts';
import { Search } from './search.ts';

/** Room for one source after another. */
export class Brandes {
  readonly #search: Search;
  readonly #paths: Float64Array;
  /** What depends on each vertex, after `from`: zero where the source does not get. */
  readonly dependency: Float64Array;

  constructor(graph: Adjacency) {
    this.#search = new Search(graph);
    this.#paths = new Float64Array(graph.vertices);
    this.dependency = new Float64Array(graph.vertices);
  }

  /** The part of all pairs that start at `source`. `edges`, if given, gets what passes through each entry of the rows. */
  from(source: number, edges?: Float64Array): Float64Array {
    const { dependency } = this;
    const paths = this.#paths;
    const { graph, distances, order, reached } = this.#search.from(source);
    const { offsets, neighbors } = graph;
    dependency.fill(0);
    paths.fill(0);
    paths[source] = 1;
    for (let i = 1; i < reached; i++) {
      const v = order[i]!;
      const before = distances[v]! - 1;
      let sum = 0;
      for (let e = offsets[v]!, end = offsets[v + 1]!; e < end; e++) {
        const u = neighbors[e]!;
        if (distances[u] === before) sum += paths[u]!;
      }
      paths[v] = sum;
    }
    for (let i = reached - 1; i > 0; i--) {
      const v = order[i]!;
      const before = distances[v]! - 1;
      const share = (1 + dependency[v]!) / paths[v]!;
      for (let e = offsets[v]!, end = offsets[v + 1]!; e < end; e++) {
        const u = neighbors[e]!;
        if (distances[u] !== before) continue;
        const through = paths[u]! * share;
        dependency[u] = dependency[u]! + through;
        if (edges) edges[e] = edges[e]! + through;
      }
    }
    dependency[source] = 0;
    return dependency;
  }
}

/** Unordered pairs, ends not counted. */
export function betweenness(graph: Adjacency): Float64Array {
  const brandes = new Brandes(graph);
  const total = new Float64Array(graph.vertices);
  for (let s = 0; s < graph.vertices; s++) {
    if (graph.offsets[s] === graph.offsets[s + 1]) continue;
    const part = brandes.from(s);
    for (let v = 0; v < total.length; v++) total[v] = total[v]! + part[v]!;
  }
  return total.map((x) => x / 2);
}

/** Vertices that a symmetry maps onto each other: one of each orbit as a source, how many it has, and which orbit each vertex is of. */
export interface Orbits {
  readonly of: Int32Array;
  readonly sources: Int32Array;
  readonly members: Float64Array;
}

/** `orbit` gives vertices that a symmetry maps onto each other the same key. */
export function orbitsOf(vertices: number, orbit: (vertex: number) => number): Orbits {
  const numbers = new Map<number, number>();
  const sources: number[] = [];
  const of = new Int32Array(vertices);
  for (let v = 0; v < vertices; v++) {
    const key = orbit(v);
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, (number = numbers.size));
      sources.push(v);
    }
    of[v] = number;
  }
  const members = new Float64Array(sources.length);
  for (const o of of) members[o] = members[o]! + 1;
  return { of, sources: Int32Array.from(sources), members };
}

/** What one source per orbit gives, shared evenly among the vertices of each orbit. */
export function sharedByOrbit({ of, members }: Orbits, values: Float64Array): Float64Array {
  const sums = new Float64Array(members.length);
  for (let v = 0; v < of.length; v++) sums[of[v]!] = sums[of[v]!]! + values[v]!;
  return Float64Array.from(of, (o) => sums[o]! / members[o]!);
}

/** The same for a graph with symmetries: one source per orbit is enough. For the lattice (4, 8) that is 35 sources of 4,096. */
export function symmetricBetweenness(graph: Adjacency, orbit: (vertex: number) => number): Float64Array {
  const orbits = orbitsOf(graph.vertices, orbit);
  const brandes = new Brandes(graph);
  const sums = new Float64Array(graph.vertices);
  orbits.sources.forEach((s, from) => {
    const part = brandes.from(s);
    for (let v = 0; v < part.length; v++) sums[v] = sums[v]! + part[v]! * orbits.members[from]!;
  });
  return sharedByOrbit(orbits, sums).map((x) => x / 2);
}

/** The same by least weight: sums that differ by rounding only count as equal. */
export function weightedBetweenness(graph: Adjacency): Float64Array {
  const { offsets, neighbors, vertices } = graph;
  const weights = graph.weights!;
  const total = new Float64Array(vertices);
  for (let s = 0; s < vertices; s++) {
    const { distances, order } = shortestTree(graph, s);
    const paths = new Float64Array(vertices);
    const dependency = new Float64Array(vertices);
    const isBefore = (u: number, v: number, e: number): boolean =>
      distances[u]! < distances[v]! && Math.abs(distances[u]! + weights[e]! - distances[v]!) <= 1e-12 * distances[v]!;
    paths[s] = 1;
    for (const v of order.slice(1))
      for (let e = offsets[v]!; e < offsets[v + 1]!; e++)
        if (isBefore(neighbors[e]!, v, e)) paths[v] = paths[v]! + paths[neighbors[e]!]!;
    for (const v of [...order].reverse()) {
      if (v === s) continue;
      for (let e = offsets[v]!; e < offsets[v + 1]!; e++) {
        const u = neighbors[e]!;
        if (isBefore(u, v, e)) dependency[u] = dependency[u]! + (paths[u]! / paths[v]!) * (1 + dependency[v]!);
      }
      total[v] = total[v]! + dependency[v]!;
    }
  }
  return total.map((x) => x / 2);
}
