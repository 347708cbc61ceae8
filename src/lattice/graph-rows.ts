// The rows of a graph, from what users give: lists of edges, or rows of their own. What makes no sense is refused by name.

import { shown } from '../base/arguments.ts';
import { type Adjacency, mostEntries } from './adjacency.ts';
import { invalidArgument, LatticeTooLargeError, VertexRangeError } from './errors.ts';

/** Two vertices, and what the way between them costs (1 where it is left out). */
export type Edge = readonly [number, number] | readonly [number, number, number];

/** Edges in one direction or both, each with one weight. In time proportional to vertices and edges. */
export function rowsOfEdges(vertices: number, edges: Iterable<Edge>, where: string): Adjacency {
  checkCount(vertices, where);
  const list = [...edges];
  if (2 * list.length > mostEntries) throw tooLarge(vertices, list.length, where);
  const [from, to] = [new Int32Array(2 * list.length), new Int32Array(2 * list.length)];
  const by = new Float64Array(2 * list.length);
  list.forEach((edge, i) => {
    const [a, b, w] = checkEdge(edge, i, vertices, where);
    [from[2 * i], to[2 * i], by[2 * i]] = [a, b, w];
    [from[2 * i + 1], to[2 * i + 1], by[2 * i + 1]] = [b, a, w];
  });
  // By their ends, then by their starts: in the end each row is ascending.
  const order = sorted(from, sorted(to, Int32Array.from(from.keys()), vertices), vertices);
  const unique = order.filter((e, i) => {
    const before = order[i - 1];
    if (before === undefined || from[before] !== from[e] || to[before] !== to[e]) return true;
    if (by[before] === by[e]) return false;
    throw invalidArgument({
      where,
      problem: `the edge ${from[e]}–${to[e]} has the weights ${by[before]} and ${by[e]}`,
      fix: 'Give each edge once, or with the same weight.',
    });
  });
  const weighted = list.some((e) => e.length === 3);
  return {
    vertices,
    offsets: starts(from, unique, vertices),
    neighbors: unique.map((e) => to[e]!),
    weights: weighted ? Float64Array.from(unique, (e) => by[e]!) : null,
  };
}

/** Copies of rows: each ascending, each edge in both rows with the same weight. */
export function rowsOfCsr(
  offsets: ArrayLike<number>,
  neighbors: ArrayLike<number>,
  weights: ArrayLike<number> | undefined,
  where: string,
): Adjacency {
  const vertices = offsets.length - 1;
  checkCount(vertices, where);
  const made: Adjacency = {
    vertices,
    offsets: wholeNumbers(offsets, 'offset', where),
    neighbors: wholeNumbers(neighbors, 'neighbour', where),
    weights: weights ? Float64Array.from(weights) : null,
  };
  checkRows(made, neighbors.length, weights?.length ?? neighbors.length, where);
  return made;
}

export function checkVertex(vertex: unknown, vertices: number, where: string): void {
  if (Number.isSafeInteger(vertex) && (vertex as number) >= 0 && (vertex as number) < vertices) return;
  throw new VertexRangeError({
    where,
    problem: `${String(vertex)} is no vertex of a graph of ${vertices}`,
    fix: vertices > 0 ? `Use a whole number from 0 to ${vertices - 1}.` : 'The graph has no vertices.',
  });
}

/** Where the entries of each vertex begin, if they lie in this order. */
function starts(keys: Int32Array, entries: Int32Array, vertices: number): Int32Array {
  const offsets = new Int32Array(vertices + 1);
  for (const e of entries) offsets[keys[e]! + 1] = offsets[keys[e]! + 1]! + 1;
  for (let v = 0; v < vertices; v++) offsets[v + 1] = offsets[v + 1]! + offsets[v]!;
  return offsets;
}

/** Entries by their keys; those of equal keys stay in their order. */
function sorted(keys: Int32Array, entries: Int32Array, vertices: number): Int32Array {
  const next = starts(keys, entries, vertices);
  const order = new Int32Array(entries.length);
  for (const e of entries) {
    const at = next[keys[e]!]!;
    order[at] = e;
    next[keys[e]!] = at + 1;
  }
  return order;
}

function checkEdge(edge: Edge, i: number, vertices: number, where: string): readonly [number, number, number] {
  if (!Array.isArray(edge) || edge.length < 2 || edge.length > 3) {
    throw invalidArgument({
      where,
      problem: `edge ${i} is ${shown(edge)}`,
      fix: 'Give [from, to] or [from, to, weight].',
    });
  }
  const [a, b, w = 1] = edge as Edge;
  checkVertex(a, vertices, where);
  checkVertex(b, vertices, where);
  if (a === b) throw invalidArgument({ where, problem: `vertex ${a} has an edge to itself`, fix: 'Leave loops out.' });
  checkWeight(w, where);
  return [a, b, w];
}

function checkCount(vertices: number, where: string): void {
  if (Number.isSafeInteger(vertices) && vertices >= 0 && vertices < mostEntries) return;
  throw invalidArgument({ where, problem: `there are ${String(vertices)} vertices`, fix: 'Use a whole number.' });
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
