// PageRank on the host, by rounds: every vertex reads what its neighbours give along its own row.

import type { Adjacency } from './adjacency.ts';
import { invalidArgument, wholeNumber } from './errors.ts';

export interface PageRankOptions {
  /** The part that follows edges; the rest jumps anywhere. Default 0.85. */
  readonly damping?: number | undefined;
  /** Ends when the ranks change by less, added up. Default 1e-10. */
  readonly tolerance?: number | undefined;
  /** Default 1,000. */
  readonly maxRounds?: number | undefined;
}

export type PageRankSettings = { readonly [K in keyof PageRankOptions]-?: number };

export function resolvePageRank(o: PageRankOptions): PageRankSettings {
  const where = 'pageRank';
  const { damping = 0.85, tolerance = 1e-10 } = o;
  if (!(damping >= 0 && damping < 1) || !(tolerance > 0)) {
    throw invalidArgument({
      where,
      problem: `damping is ${String(damping)}, tolerance ${String(tolerance)}`,
      fix: 'Use a damping from 0 to below 1 and a tolerance above 0.',
    });
  }
  return { damping, tolerance, maxRounds: wholeNumber(where, 'maxRounds', o.maxRounds ?? 1000, 1) };
}

/** The weight of all edges of each vertex. */
export function strengths({ vertices, offsets, weights }: Adjacency): Float64Array {
  const out = new Float64Array(vertices);
  for (let v = 0; v < vertices; v++) {
    let sum = 0;
    for (let e = offsets[v]!, end = offsets[v + 1]!; e < end; e++) sum += weights ? weights[e]! : 1;
    out[v] = sum;
  }
  return out;
}

export function pageRank(graph: Adjacency, { damping, tolerance, maxRounds }: PageRankSettings): Float64Array {
  const { vertices: n, offsets, neighbors, weights } = graph;
  if (n === 0) return new Float64Array(0);
  const out = strengths(graph);
  let rank = new Float64Array(n).fill(1 / n);
  let next = new Float64Array(n);
  // What each vertex gives per unit of weight; rows are symmetric, so what comes in is read along a vertex's own row.
  const share = new Float64Array(n);
  for (let round = 0; round < maxRounds; round++) {
    let idle = 0;
    for (let v = 0; v < n; v++) {
      if (out[v] === 0) idle += rank[v]!;
      share[v] = out[v] === 0 ? 0 : rank[v]! / out[v]!;
    }
    const base = (1 - damping + damping * idle) / n;
    let change = 0;
    for (let v = 0; v < n; v++) {
      let sum = 0;
      for (let e = offsets[v]!, end = offsets[v + 1]!; e < end; e++)
        sum += share[neighbors[e]!]! * (weights ? weights[e]! : 1);
      const value = base + damping * sum;
      change += Math.abs(value - rank[v]!);
      next[v] = value;
    }
    [rank, next] = [next, rank];
    if (change < tolerance) break;
  }
  return rank;
}
