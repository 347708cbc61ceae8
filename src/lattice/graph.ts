// Any undirected graph, with or without weights: shortest paths, components, PageRank, centralities, communities. It lives in
// host memory as compressed sparse rows and opens no device; `on` puts it on one. Grids have faster ways of their own: see Lattice.

import { notMade } from '../base/arguments.ts';
import { checkMethods } from '../base/signatures.ts';
import type { Runtime } from '../index.ts';
import { type Adjacency, edgeCount } from './adjacency.ts';
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
import { oneOf, PathNotFoundError, wholeNumber } from './errors.ts';
import { checkVertex, type Edge, rowsOfCsr, rowsOfEdges } from './graph-rows.ts';
import { DeviceGraph, type DeviceGraphOptions } from './on-device/graph.ts';
import { type PageRankOptions, pageRank, resolvePageRank } from './page-rank.ts';
import { components, Search } from './search.ts';
import { graphMakers, graphSignatures, latticeKinds } from './signatures.ts';

export interface GraphPath {
  readonly path: readonly number[];
  /** The sum of its weights; without weights, the steps. */
  readonly length: number;
}

export class Graph {
  readonly #adjacency: Adjacency;
  #search: Search | null = null;

  private constructor(adjacency: Adjacency) {
    if (!adjacency?.offsets) notMade('Graph', 'Graph.fromEdges(vertices, edges)');
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
    return new Graph(rowsOfEdges(vertices, edges, 'Graph.fromEdges'));
  }

  /** From compressed sparse rows, which are copied: each row ascending, each edge in both rows with the same weight. */
  static fromCsr(offsets: ArrayLike<number>, neighbors: ArrayLike<number>, weights?: ArrayLike<number>): Graph {
    return new Graph(rowsOfCsr(offsets, neighbors, weights, 'Graph.fromCsr'));
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

  toString(): string {
    return `Graph(${this.vertices} vertices, ${this.edges} edges)`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** @internal Refuses what is no vertex. */
  checkVertex(vertex: unknown, where: string): void {
    checkVertex(vertex, this.vertices, where);
  }
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
