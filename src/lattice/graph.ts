// Any undirected graph, with or without weights: shortest paths, components, PageRank, centralities, communities. It lives in
// host memory as compressed sparse rows and opens no device; `on` puts it on one. Grids have faster ways of their own: see Lattice.

import { shown } from '../base/arguments.ts';
import { checkMethods } from '../base/signatures.ts';
import type { Runtime } from '../index.ts';
import { type Adjacency, edgeCount, mostEntries } from './adjacency.ts';
import { betweenness, weightedBetweenness } from './brandes.ts';
import {
  betweennessDivisor,
  type CentralityKind,
  centralityKinds,
  closeness,
  degrees,
  eigenvector,
} from './centrality.ts';
import {
  type CommunityMethod,
  type CommunityOptions,
  communityMethods,
  findCommunities,
  type Partition,
} from './communities.ts';
import { shortestTree } from './dijkstra.ts';
import {
  invalidArgument,
  LatticeTooLargeError,
  oneOf,
  PathNotFoundError,
  VertexRangeError,
  wholeNumber,
} from './errors.ts';
import { DeviceGraph, type DeviceGraphOptions } from './on-device/graph.ts';
import { type PageRankOptions, pageRank, resolvePageRank } from './page-rank.ts';
import { components, Search } from './search.ts';
import { graphMakers, graphSignatures, latticeKinds } from './signatures.ts';

/** Two vertices, and what the way between them costs (1 where it is left out). */
export type Edge = readonly [number, number] | readonly [number, number, number];

export interface GraphPath {
  readonly path: readonly number[];
  /** The sum of its weights; without weights, the steps. */
  readonly length: number;
}

export class Graph {
  readonly #adjacency: Adjacency;
  #search: Search | null = null;

  private constructor(adjacency: Adjacency) {
    this.#adjacency = adjacency;
  }

  /**
   * From a list of edges. An edge may be given in one direction or both, but only with one weight; loops are refused.
   *
   * ```ts
   * import { Graph } from 'gpuforge/lattice';
   * const graph = Graph.fromEdges(4, [[0, 1], [1, 2], [2, 3], [3, 0]]);
   * graph.distance(0, 2); // 2
   * ```
   */
  static fromEdges(vertices: number, edges: Iterable<Edge>): Graph {
    const where = 'Graph.fromEdges';
    checkCount(vertices, where);
    const list = [...edges];
    if (2 * list.length > mostEntries) throw tooLarge(vertices, list.length, where);
    const bad = list.findIndex((e) => !Array.isArray(e) || e.length < 2 || e.length > 3);
    if (bad >= 0)
      throw invalidArgument({
        where,
        problem: `edge ${bad} is ${shown(list[bad])}`,
        fix: 'Give [from, to] or [from, to, weight].',
      });
    const weighted = list.some((e) => e.length === 3);
    const entries: [number, number, number][] = [];
    for (const [a, b, w = 1] of list) {
      checkVertex(a, vertices, where);
      checkVertex(b, vertices, where);
      if (a === b)
        throw invalidArgument({ where, problem: `vertex ${a} has an edge to itself`, fix: 'Leave loops out.' });
      checkWeight(w, where);
      entries.push([a, b, w], [b, a, w]);
    }
    entries.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
    const unique = entries.filter((e, i) => {
      const before = entries[i - 1];
      if (!before || before[0] !== e[0] || before[1] !== e[1]) return true;
      if (before[2] === e[2]) return false;
      throw invalidArgument({
        where,
        problem: `the edge ${e[0]}–${e[1]} has the weights ${before[2]} and ${e[2]}`,
        fix: 'Give each edge once, or with the same weight.',
      });
    });
    const offsets = new Int32Array(vertices + 1);
    for (const [a] of unique) offsets[a + 1] = offsets[a + 1]! + 1;
    for (let v = 0; v < vertices; v++) offsets[v + 1] = offsets[v + 1]! + offsets[v]!;
    return new Graph({
      vertices,
      offsets,
      neighbors: Int32Array.from(unique, (e) => e[1]),
      weights: weighted ? Float64Array.from(unique, (e) => e[2]) : null,
    });
  }

  /** From compressed sparse rows, which are copied: each row ascending, each edge in both rows with the same weight. */
  static fromCsr(offsets: ArrayLike<number>, neighbors: ArrayLike<number>, weights?: ArrayLike<number>): Graph {
    const where = 'Graph.fromCsr';
    const vertices = offsets.length - 1;
    checkCount(vertices, where);
    const made: Adjacency = {
      vertices,
      offsets: wholeNumbers(offsets, 'offset', where),
      neighbors: wholeNumbers(neighbors, 'neighbour', where),
      weights: weights ? Float64Array.from(weights) : null,
    };
    checkRows(made, neighbors.length, weights?.length ?? neighbors.length, where);
    return new Graph(made);
  }

  get vertices(): number {
    return this.#adjacency.vertices;
  }

  get edges(): number {
    return edgeCount(this.#adjacency);
  }

  get weighted(): boolean {
    return this.#adjacency.weights !== null;
  }

  /** The rows themselves: to be read, not changed. */
  get rows(): Adjacency {
    return this.#adjacency;
  }

  /** Ascending. */
  neighbors(vertex: number): number[] {
    this.checkVertex(vertex, 'neighbors');
    const { offsets, neighbors } = this.#adjacency;
    return [...neighbors.subarray(offsets[vertex]!, offsets[vertex + 1]!)];
  }

  /** From s to t: fewest steps, or least weight. */
  shortestPath(s: number, t: number): GraphPath {
    const where = 'shortestPath';
    this.checkVertex(s, where);
    this.checkVertex(t, where);
    if (this.weighted) {
      const { distances, before } = shortestTree(this.#adjacency, s, t);
      if (distances[t] === Number.POSITIVE_INFINITY) throw noPath(s, t, where);
      const path = [t];
      for (let v = t; v !== s; path.push(v)) v = before[v]!;
      return { path: path.reverse(), length: distances[t]! };
    }
    const search = this.#searchFrom(s, t);
    if (search.distances[t]! < 0) throw noPath(s, t, where);
    return { path: search.pathTo(t), length: search.distances[t]! };
  }

  distance(s: number, t: number): number {
    return this.shortestPath(s, t).length;
  }

  /** From s to every vertex; -1 where there is no way. */
  distancesFrom(s: number): Float64Array {
    this.checkVertex(s, 'distancesFrom');
    if (!this.weighted) return Float64Array.from(this.#searchFrom(s).distances);
    return shortestTree(this.#adjacency, s).distances.map((d) => (d === Number.POSITIVE_INFINITY ? -1 : d));
  }

  /** The component of each vertex, numbered by their lowest vertex. */
  components(): { readonly of: Int32Array; readonly count: number } {
    return components(this.#adjacency);
  }

  /** How often a walker is at each vertex; the ranks add up to 1. Vertices without edges jump anywhere. */
  pageRank(o: PageRankOptions = {}): Float64Array {
    return pageRank(this.#adjacency, resolvePageRank(o));
  }

  /**
   * The graph on a device of a runtime, for PageRank, distances and betweenness of large graphs. Dispose of it after use.
   *
   * ```ts
   * import { Graph } from 'gpuforge/lattice';
   * const graph = Graph.fromEdges(3, [[0, 1], [1, 2]]);
   * using there = graph.on(rt);
   * await there.distancesFrom(0); // → [0, 1, 2]
   * ```
   */
  on(rt: Runtime, o: DeviceGraphOptions = {}): DeviceGraph {
    return new DeviceGraph(this, rt, o);
  }

  /** As `Lattice.centrality`. With weights, betweenness and closeness go by least weight, degree and eigenvector add them up. */
  async centrality(kind: CentralityKind, o: { readonly normalized?: boolean | undefined } = {}): Promise<Float64Array> {
    oneOf('centrality', 'centrality', kind, centralityKinds);
    const graph = this.#adjacency;
    const by: Readonly<Record<CentralityKind, () => Float64Array>> = {
      degree: () => degrees(graph),
      closeness: () => closeness(graph, graph.vertices),
      eigenvector: () => eigenvector(graph),
      betweenness: () => (graph.weights ? weightedBetweenness(graph) : betweenness(graph)),
    };
    const n = graph.vertices;
    const divisor = { betweenness: betweennessDivisor(n), degree: n - 1, closeness: 1, eigenvector: 1 }[kind];
    const values = by[kind]();
    return o.normalized && divisor > 0 ? values.map((v) => v / divisor) : values;
  }

  async communities(method: CommunityMethod = 'modularity', o: CommunityOptions = {}): Promise<Partition> {
    oneOf('communities', 'method', method, communityMethods);
    if (o.seed !== undefined) wholeNumber('communities', 'seed', o.seed);
    return findCommunities({ graph: this.#adjacency }, method, o);
  }

  #searchFrom(s: number, t = -1): Search {
    this.#search ??= new Search(this.#adjacency);
    return this.#search.from(s, t);
  }

  /** @internal Refuses what is no vertex. */
  checkVertex(vertex: unknown, where: string): void {
    checkVertex(vertex, this.vertices, where);
  }
}

function checkCount(vertices: number, where: string): void {
  if (Number.isSafeInteger(vertices) && vertices >= 0 && vertices < mostEntries) return;
  throw invalidArgument({ where, problem: `there are ${String(vertices)} vertices`, fix: 'Use a whole number.' });
}

function checkVertex(vertex: unknown, vertices: number, where: string): void {
  if (Number.isSafeInteger(vertex) && (vertex as number) >= 0 && (vertex as number) < vertices) return;
  throw new VertexRangeError({
    where,
    problem: `${String(vertex)} is no vertex of a graph of ${vertices}`,
    fix: vertices > 0 ? `Use a whole number from 0 to ${vertices - 1}.` : 'The graph has no vertices.',
  });
}

function checkWeight(weight: number, where: string): void {
  if (typeof weight === 'number' && weight > 0 && weight < Number.POSITIVE_INFINITY) return;
  throw invalidArgument({ where, problem: `a weight is ${String(weight)}`, fix: 'Use weights above 0.' });
}

/** A copy, unless one of them is no whole number of 32 bits. */
function wholeNumbers(values: ArrayLike<number>, what: string, where: string): Int32Array {
  const copy = Int32Array.from(values);
  const bad = copy.findIndex((v, i) => v !== values[i]);
  if (bad < 0) return copy;
  throw invalidArgument({
    where,
    problem: `${what} ${bad} is ${String(values[bad])}`,
    fix: 'Use whole numbers from 0 to 2,147,483,647.',
  });
}

function checkRows(graph: Adjacency, entries: number, weights: number, where: string): void {
  const { vertices, offsets, neighbors } = graph;
  const bad = (problem: string): never => {
    throw invalidArgument({
      where,
      problem,
      fix: 'Give offsets that begin with 0, never fall and end with the number of neighbours.',
    });
  };
  if (offsets[0] !== 0 || offsets[vertices] !== entries || weights !== entries)
    bad(`offsets from ${offsets[0]} to ${offsets[vertices]}, ${entries} neighbours, ${weights} weights`);
  const at = offsets.slice();
  for (let v = 0; v < vertices; v++) {
    if (offsets[v]! > offsets[v + 1]!) bad(`the row of ${v} ends before it begins`);
    for (let e = offsets[v]!; e < offsets[v + 1]!; e++) {
      const u = neighbors[e]!;
      checkVertex(u, vertices, where);
      if (graph.weights) checkWeight(graph.weights[e]!, where);
      if (e > offsets[v]! && neighbors[e - 1]! >= u) bad(`the row of ${v} is not ascending`);
      // Rows are read in order, so v comes next in the row of u, if it is there.
      const back = at[u]!;
      at[u] = back + 1;
      if (u === v || back >= offsets[u + 1]! || neighbors[back] !== v || graph.weights?.[back] !== graph.weights?.[e])
        bad(`the edge ${v}–${u} is not in both rows alike`);
    }
  }
}

function tooLarge(vertices: number, edges: number, where: string): LatticeTooLargeError {
  return new LatticeTooLargeError({
    where,
    problem: `${vertices} vertices and ${edges} edges are more than ${mostEntries / 2} edges`,
    fix: 'Use a smaller graph.',
  });
}

function noPath(s: number, t: number, where: string): PathNotFoundError {
  return new PathNotFoundError({
    where,
    problem: `there is no path from ${s} to ${t}`,
    fix: 'Ask components() which vertices belong together.',
  });
}

checkMethods(Graph.prototype, graphSignatures, latticeKinds);
checkMethods(Graph, graphMakers, latticeKinds);
