// What lattices and graphs should find, by loops that are as plain as the definitions: written without the code that they check.

import { coordsOf, plainDistances, plainNeighbors } from './plain.ts';

/** A grid with some of its vertices blocked. */
export interface Maze {
  readonly d: number;
  readonly n: number;
  readonly blocked: ReadonlySet<number>;
}

export const verticesOf = ({ d, n }: Maze): number[] => Array.from({ length: n ** d }, (_, v) => v);
export const freeOf = (m: Maze): number[] => verticesOf(m).filter((v) => !m.blocked.has(v));
export const nearOf = (m: Maze, v: number): number[] =>
  m.blocked.has(v) ? [] : plainNeighbors(v, m.d, m.n).filter((u) => !m.blocked.has(u));

/** Distances from every free vertex. */
export function allDistances(m: Maze): Map<number, Int32Array> {
  return new Map(freeOf(m).map((s) => [s, plainDistances(m.d, m.n, m.blocked, s)]));
}

export function analysisOf(m: Maze) {
  const free = freeOf(m);
  const edges = free.reduce((sum, v) => sum + nearOf(m, v).length, 0) / 2;
  const from = allDistances(m);
  const far = free.flatMap((s) => free.map((t) => from.get(s)![t]!));
  const isConnected = free.length > 0 && far.every((x) => x >= 0);
  const n = free.length;
  return {
    vertices: n,
    edges,
    dimensions: m.d,
    size: m.n,
    isConnected,
    diameter: isConnected ? far.reduce((a, b) => Math.max(a, b), 0) : -1,
    avgDegree: n === 0 ? 0 : (2 * edges) / n,
    clusteringCoefficient: 0,
    density: n < 2 ? 0 : (2 * edges) / (n * (n - 1)),
  };
}

/** Walks of a length from s to every vertex, exactly. */
export function walksOf(m: Maze, s: number, length: number): bigint[] {
  let x: bigint[] = verticesOf(m).map((v) => (v === s ? 1n : 0n));
  for (let i = 0; i < length; i++) {
    const now = x;
    x = verticesOf(m).map((v) => nearOf(m, v).reduce((sum, u) => sum + now[u]!, 0n));
  }
  return x;
}

/** By pairs: what part of the shortest paths from s to t passes v. */
export function betweennessOf(m: Maze): Float64Array {
  const free = freeOf(m);
  const from = allDistances(m);
  const paths = new Map(free.map((s) => [s, pathCounts(m, s, from.get(s)!)]));
  const result = new Float64Array(m.n ** m.d);
  for (const s of free)
    for (const t of free) {
      const whole = from.get(s)![t]!;
      if (t <= s || whole < 0) continue;
      for (const v of free) {
        if (v === s || v === t || from.get(s)![v]! + from.get(v)![t]! !== whole || from.get(s)![v]! < 0) continue;
        result[v]! += Number(paths.get(s)![v]! * paths.get(v)![t]!) / Number(paths.get(s)![t]!);
      }
    }
  return result;
}

/** Shortest paths from s to every vertex. */
export function pathCounts(m: Maze, s: number, distances: Int32Array): bigint[] {
  const counts: bigint[] = verticesOf(m).map((v) => (v === s ? 1n : 0n));
  const order = freeOf(m)
    .filter((v) => distances[v]! > 0)
    .sort((a, b) => distances[a]! - distances[b]!);
  for (const v of order)
    counts[v] = nearOf(m, v).reduce((sum, u) => sum + (distances[u] === distances[v]! - 1 ? counts[u]! : 0n), 0n);
  return counts;
}

export function closenessOf(m: Maze): Float64Array {
  const free = freeOf(m);
  const from = allDistances(m);
  return Float64Array.from(verticesOf(m), (v) => {
    const reached = free.map((u) => from.get(v)?.[u] ?? -1).filter((x) => x > 0);
    const sum = reached.reduce((a, b) => a + b, 0);
    return sum === 0 ? 0 : (reached.length / sum) * (reached.length / (free.length - 1));
  });
}

/** Steps of diffusion in doubles. */
export function diffusionOf(
  m: Maze,
  field: ArrayLike<number>,
  steps: number,
  rate: number,
  boundary: 'insulated' | 'periodic' | 'zero',
): Float64Array {
  const strides = Array.from({ length: m.d }, (_, k) => m.n ** (m.d - 1 - k));
  let x = Float64Array.from(field);
  for (let step = 0; step < steps; step++) {
    const now = x;
    x = now.map((value, v) => {
      if (m.blocked.has(v)) return value;
      let change = 0;
      coordsOf(v, m.d, m.n).forEach((c, k) => {
        for (const by of [-1, 1]) {
          const inside = c + by >= 0 && c + by < m.n;
          const at = inside ? v + by * strides[k]! : v - by * (m.n - 1) * strides[k]!;
          if (!inside && boundary === 'insulated') continue;
          if (!inside && boundary === 'zero') change -= value;
          else if (!m.blocked.has(at)) change += now[at]! - value;
        }
      });
      return value + rate * change;
    });
  }
  return x;
}

/** Q of a partition, from its definition; `edges` are [vertex, vertex, weight], each once. */
export function modularityOf(edges: readonly (readonly [number, number, number])[], of: ArrayLike<number>): number {
  const m = edges.reduce((sum, [, , w]) => sum + w, 0);
  if (m === 0) return 0;
  const inside = new Map<number, number>();
  const degree = new Map<number, number>();
  const add = (to: Map<number, number>, c: number, w: number): void => void to.set(c, (to.get(c) ?? 0) + w);
  for (const [a, b, w] of edges) {
    add(degree, of[a]!, w);
    add(degree, of[b]!, w);
    if (of[a] === of[b]) add(inside, of[a]!, w);
  }
  return [...degree].reduce((q, [c, k]) => q + (inside.get(c) ?? 0) / m - (k / (2 * m)) ** 2, 0);
}

export const edgesOf = (m: Maze): [number, number, number][] =>
  freeOf(m).flatMap((v) =>
    nearOf(m, v)
      .filter((u) => u > v)
      .map((u): [number, number, number] => [v, u, 1]),
  );

/** Simple paths from s to t by length, shorter ones first; within a length in no order. */
export function simplePaths(m: Maze, s: number, t: number, longest: number): number[][] {
  const found: number[][] = [];
  const go = (path: number[]): void => {
    const v = path[path.length - 1]!;
    if (v === t) found.push([...path]);
    if (v === t || path.length > longest) return;
    for (const u of nearOf(m, v)) if (!path.includes(u)) go([...path, u]);
  };
  go([s]);
  return found.filter((p) => p.length - 1 <= longest).sort((a, b) => a.length - b.length);
}

/** Least weights between all vertices (Floyd and Warshall). */
export function floyd(vertices: number, edges: readonly (readonly [number, number, number])[]): number[][] {
  const d = Array.from({ length: vertices }, (_, i) =>
    Array.from({ length: vertices }, (_, j) => (i === j ? 0 : Number.POSITIVE_INFINITY)),
  );
  for (const [a, b, w] of edges) d[a]![b] = d[b]![a] = Math.min(w, d[a]![b]!);
  for (let k = 0; k < vertices; k++)
    for (let i = 0; i < vertices; i++)
      for (let j = 0; j < vertices; j++) d[i]![j] = Math.min(d[i]![j]!, d[i]![k]! + d[k]![j]!);
  return d;
}

/** Betweenness by least weight, for whole weights: paths are counted by dynamic programming over exact sums. */
export function weightedBetweennessOf(
  vertices: number,
  edges: readonly (readonly [number, number, number])[],
): Float64Array {
  const d = floyd(vertices, edges);
  const near = Array.from({ length: vertices }, (_, v) =>
    edges.flatMap(([a, b, w]) => (a === v ? [[b, w] as const] : b === v ? [[a, w] as const] : [])),
  );
  const counts = Array.from({ length: vertices }, (_, s) => {
    const found = new Array<number>(vertices).fill(0);
    found[s] = 1;
    const order = [...d[s]!.keys()]
      .filter((v) => v !== s && Number.isFinite(d[s]![v]!))
      .sort((a, b) => d[s]![a]! - d[s]![b]!);
    for (const v of order)
      found[v] = near[v]!.reduce((sum, [u, w]) => sum + (d[s]![u]! + w === d[s]![v] ? found[u]! : 0), 0);
    return found;
  });
  const result = new Float64Array(vertices);
  for (let s = 0; s < vertices; s++)
    for (let t = s + 1; t < vertices; t++)
      for (let v = 0; v < vertices; v++)
        if (v !== s && v !== t && Number.isFinite(d[s]![t]!) && d[s]![v]! + d[v]![t]! === d[s]![t])
          result[v]! += (counts[s]![v]! * counts[v]![t]!) / counts[s]![t]!;
  return result;
}
