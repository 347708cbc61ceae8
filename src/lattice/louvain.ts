// Modularity by moving vertices (Blondel and others, 2008): each vertex joins the neighbouring community that gains most, then
// communities become vertices, and so on. At the end single vertices are moved once more (Rotta and Noack, 2011). Q never falls,
// so a start from a good partition ends at least as good.

import type { Adjacency } from './adjacency.ts';
import type { Draws } from './threefry.ts';

/** A graph whose vertices may have edges to themselves: what is inside a community, counted from both ends. */
interface Level {
  readonly graph: Adjacency;
  readonly loops: Float64Array;
}

export function louvain(graph: Adjacency, draws: Draws, start?: Int32Array): Int32Array {
  const base: Level = { graph, loops: new Float64Array(graph.vertices) };
  const of = start?.slice() ?? Int32Array.from({ length: graph.vertices }, (_, v) => v);
  for (;;) {
    const moved = move(base, of, draws);
    const joined = join(base, of, draws);
    if (!moved && !joined) return of;
  }
}

/** Makes communities vertices and joins those, to the top; true if any joined. */
function join(base: Level, of: Int32Array, draws: Draws): boolean {
  let level = base;
  let labels = of;
  let any = false;
  // Which vertex of the present level each vertex of the first one belongs to.
  for (;;) {
    const count = renumber(labels);
    if (labels !== of) for (let v = 0; v < of.length; v++) of[v] = labels[of[v]!]!;
    level = contract(level, labels, count);
    labels = Int32Array.from({ length: count }, (_, c) => c);
    if (!move(level, labels, draws)) return any;
    any = true;
  }
}

/** Moves vertices until none gains; true if one did. */
function move({ graph, loops }: Level, of: Int32Array, draws: Draws): boolean {
  const { offsets, neighbors, weights } = graph;
  const size = graph.vertices;
  const degree = new Float64Array(size);
  for (let v = 0; v < size; v++) {
    let sum = loops[v]!;
    for (let e = offsets[v]!; e < offsets[v + 1]!; e++) sum += weights ? weights[e]! : 1;
    degree[v] = sum;
  }
  const total = degree.reduce((a, b) => a + b, 0);
  if (total === 0) return false;
  const inside = new Float64Array(Math.max(size, ...bounds(of)));
  for (let v = 0; v < size; v++) inside[of[v]!] = inside[of[v]!]! + degree[v]!;
  const links = new Float64Array(inside.length);
  const seen: number[] = [];
  let any = false;
  for (let round = 0; round < mostRounds; round++) {
    let changed = false;
    for (const v of draws.order(size)) {
      const own = of[v]!;
      const k = degree[v]!;
      for (let e = offsets[v]!; e < offsets[v + 1]!; e++) {
        const c = of[neighbors[e]!]!;
        if (links[c] === 0) seen.push(c);
        links[c] = links[c]! + (weights ? weights[e]! : 1);
      }
      inside[own] = inside[own]! - k;
      let best = own;
      let gain = links[own]! - (inside[own]! * k) / total;
      for (const c of seen) {
        const g = links[c]! - (inside[c]! * k) / total;
        if (g > gain + 1e-12) [best, gain] = [c, g];
      }
      inside[best] = inside[best]! + k;
      for (const c of seen) links[c] = 0;
      seen.length = 0;
      if (best === own) continue;
      of[v] = best;
      changed = any = true;
    }
    if (!changed) break;
  }
  return any;
}

/** Gains are compared with a margin, so a round without end is not to be feared; this is for certain. */
const mostRounds = 1000;

const bounds = (of: Int32Array): [number] => [of.reduce((most, c) => Math.max(most, c), -1) + 1];

/** Numbers communities from 0 in order of their first vertex; returns how many there are. */
function renumber(of: Int32Array): number {
  const numbers = new Map<number, number>();
  for (let v = 0; v < of.length; v++) {
    const known = numbers.get(of[v]!);
    if (known === undefined) numbers.set(of[v]!, numbers.size);
    of[v] = known ?? numbers.size - 1;
  }
  return numbers.size;
}

/** The graph of communities. */
function contract({ graph, loops }: Level, of: Int32Array, count: number): Level {
  const rows = Array.from({ length: count }, () => new Map<number, number>());
  const inner = new Float64Array(count);
  for (let v = 0; v < graph.vertices; v++) {
    const c = of[v]!;
    inner[c] = inner[c]! + loops[v]!;
    for (let e = graph.offsets[v]!; e < graph.offsets[v + 1]!; e++) {
      const w = graph.weights ? graph.weights[e]! : 1;
      const to = of[graph.neighbors[e]!]!;
      if (to === c) inner[c] = inner[c]! + w;
      else rows[c]!.set(to, (rows[c]!.get(to) ?? 0) + w);
    }
  }
  const offsets = new Int32Array(count + 1);
  rows.forEach((row, c) => {
    offsets[c + 1] = offsets[c]! + row.size;
  });
  const entries = rows.flatMap((row) => [...row]);
  return {
    graph: {
      vertices: count,
      offsets,
      neighbors: Int32Array.from(entries, ([to]) => to),
      weights: Float64Array.from(entries, ([, w]) => w),
    },
    loops: inner,
  };
}
