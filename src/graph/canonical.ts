// The graph a compilation works on: a private copy of the traced nodes in which equal computations are one vertex.
//
// A concatenation may have more parts than a kernel can read; it becomes one of fewer parts, some of which are
// concatenations themselves. No other op has more than a handful of sources.

import type { DType } from '../base/dtype.ts';
import type { Ints } from './intern.ts';
import { args, type Node, type NodeOp } from './node.ts';
import { scalarsOf, type Trace } from './trace.ts';

export interface Vertex {
  readonly id: number;
  readonly op: NodeOp;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly size: number;
  readonly arg: Ints;
  readonly sources: readonly Vertex[];
  readonly users: Set<Vertex>;
  /** Of a leaf: its number among the leaves. Of others: the number of its first launch scalar, or -1 if it has none. */
  readonly slot: number;
  readonly value: number | bigint;
  /** Positions in the trace of the nodes this vertex stands for. */
  readonly numbers: number[];
  /** A tensor still holds one of those nodes. */
  held: boolean;
}

export interface Graph {
  /** Sources before users. */
  readonly vertices: readonly Vertex[];
  readonly outputs: readonly Vertex[];
}

/** `parts`: the most sources of a concatenation, at least 2. */
export function canonicalize(trace: Trace, outputs: readonly Node[], parts = Number.POSITIVE_INFINITY): Graph {
  const table = new Map<string, Vertex>();
  const vertices: Vertex[] = [];
  const of: Vertex[] = [];
  let leaf = 0;
  let scalar = 0;
  const add = (what: Described): Vertex => {
    const made: Vertex = { ...what, id: vertices.length, users: new Set(), numbers: [], held: false };
    vertices.push(made);
    for (const s of made.sources) s.users.add(made);
    return made;
  };
  for (const node of trace.nodes) {
    const isLeaf = node.storage !== null || node.op === 'leaf';
    const sources = isLeaf ? [] : node.sources.map((s) => of[s.number]!);
    const told = isLeaf ? 0 : scalarsOf(node, node.number, trace.opened).length;
    const slot = isLeaf ? leaf++ : told > 0 ? scalar : -1;
    scalar += told;
    const key = isLeaf || slot >= 0 ? '' : keyOf(node, sources);
    let vertex = key ? table.get(key) : undefined;
    if (!vertex) {
      const { dtype, size, arg, value } = node;
      const op = isLeaf ? 'leaf' : node.op;
      const what: Described = { op, dtype, shape: node.shape.values, size, arg, sources, slot, value };
      vertex = add(op === 'concat' ? narrowed(what, parts, add) : what);
      if (key) table.set(key, vertex);
    }
    vertex.numbers.push(node.number);
    vertex.held ||= node.handles > 0;
    of[node.number] = vertex;
  }
  return { vertices, outputs: outputs.map((o) => of[o.number]!) };
}

type Described = Omit<Vertex, 'id' | 'users' | 'numbers' | 'held'>;

/** The same concatenation of at most `parts` sources: neighbours are joined, always those with the fewest elements. */
function narrowed(whole: Described, parts: number, add: (what: Described) => Vertex): Described {
  const sources = [...whole.sources];
  const axis = args.axisOf(whole);
  while (sources.length > parts) {
    const run = Math.min(parts, sources.length - parts + 1);
    let size = 0;
    let [first, least] = [0, Number.POSITIVE_INFINITY];
    sources.forEach((s, i) => {
      size += s.size - (sources[i - run]?.size ?? 0);
      if (i >= run - 1 && size < least) [first, least] = [i - run + 1, size];
    });
    const few = sources.slice(first, first + run);
    const length = few.reduce((n, s) => n + s.shape[axis]!, 0);
    const shape = whole.shape.map((d, i) => (i === axis ? length : d));
    sources.splice(first, run, add({ ...whole, shape, size: least, sources: few }));
  }
  return { ...whole, sources };
}

function keyOf(node: Node, sources: readonly Vertex[]): string {
  const value = Object.is(node.value, -0) ? '-0' : `${node.value}`;
  return `${node.code}:${node.shape.id}:${node.arg.id}:${value}:${sources.map((s) => s.id).join()}`;
}
