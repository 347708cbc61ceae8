// The graph a compilation works on: a private copy of the traced nodes in which equal computations are one vertex.
//
// Draws of random numbers, searches and reductions of small windows are written out (draws.ts, search.ts, write-out.ts). A
// concatenation may have more parts than a kernel can read; it becomes one of fewer parts, some of which are concatenations
// themselves. No other op has more than a handful of sources.

import type { DType } from '../base/dtype.ts';
import { args } from './args.ts';
import type { FusedAttention } from './attention.ts';
import { writtenDraw } from './draws.ts';
import type { Ints } from './intern.ts';
import { type Node, type NodeOp, partsOf } from './node.ts';
import { searched } from './search.ts';
import { scalarsOf, type Trace } from './trace.ts';
import { writtenOut } from './write-out.ts';

/** What a node does, with the number of an op and the steps of a draw or search as vertices of their own. */
type PlainOp = Exclude<NodeOp, 'aluNumber' | 'draw' | 'search'>;

export interface Vertex {
  readonly id: number;
  /** A node's, or `attention`, `topk` and `compact` in place of several (attention.ts, topk.ts, packed.ts). */
  readonly op: PlainOp | 'attention' | 'topk' | 'compact';
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly size: number;
  readonly arg: Ints;
  readonly sources: readonly Vertex[];
  /** Each once. */
  users: Vertex[];
  /** Of a leaf: its number among the leaves. Of others: the number of its first launch scalar, or -1 if it has none. */
  readonly slot: number;
  readonly value: number | bigint;
  /** Positions in the trace of the nodes this vertex stands for. */
  readonly numbers: number[];
  /** A tensor still holds one of those nodes. */
  held: boolean;
  /** Of an attention: what it computes. */
  readonly attention?: FusedAttention;
  /** Of a topk: the rank of the first one. */
  readonly first?: number;
}

export interface Graph {
  /** Sources before users. */
  readonly vertices: readonly Vertex[];
  readonly outputs: readonly Vertex[];
}

/** What takes the place of a reduction: the last vertex of it, the others added. */
export type Reduced = (reduction: Described, add: (what: Described) => Vertex) => Described;

/** `parts`: the most sources of a concatenation, at least 2. `holds`: whether it matters that tensors hold values. */
export function canonicalize(
  trace: Trace,
  outputs: readonly Node[],
  parts = Number.POSITIVE_INFINITY,
  holds = true,
  reduced: Reduced = writtenOut,
): Graph {
  const table = new Equals();
  const vertices: Vertex[] = [];
  const of: Vertex[] = [];
  let leaf = 0;
  let scalar = 0;
  const add = (what: Described): Vertex => {
    const { op, dtype, shape, size, arg, sources, slot, value } = what;
    const id = vertices.length;
    const made: Vertex = { id, op, dtype, shape, size, arg, sources, users: [], slot, value, numbers: [], held: false };
    vertices.push(made);
    for (const { users } of sources) if (users[users.length - 1] !== made) users.push(made);
    return made;
  };
  /** What has a slot is a vertex of its own. */
  const vertexOf = (node: Node, sources: readonly Vertex[], slot: number, op: PlainOp): Vertex => {
    const known = slot >= 0 ? undefined : table.find(node, sources);
    if (known) return known;
    const { dtype, size, arg, value } = node;
    const what: Described = { op, dtype, shape: node.shape.values, size, arg, sources, slot, value };
    const vertex = add(op === 'concat' ? narrowed(what, parts, add) : op === 'reduce' ? reduced(what, add) : what);
    if (slot < 0) table.add(vertex);
    return vertex;
  };
  /** The steps of a node as vertices: the last one. */
  const stepsOf = (node: Node, sources: readonly Vertex[]): Vertex => {
    const known = new Map(node.sources.map((source, i) => [source, sources[i]!]));
    const vertexFor = (step: Node): Vertex => {
      let vertex = known.get(step);
      if (!vertex) known.set(step, (vertex = vertexOf(step, step.sources.map(vertexFor), -1, step.op as PlainOp)));
      return vertex;
    };
    return vertexFor(node.op === 'draw' ? writtenDraw(node) : searched(node));
  };
  for (const node of trace.nodes) {
    const op = node.storage === null ? node.op : 'leaf';
    const isLeaf = op === 'leaf';
    const sources = isLeaf || node.sources.length === 0 ? none : node.sources.map((s) => of[s.number]!);
    const told = isLeaf ? 0 : scalarsOf(node, node.number, trace.opened).length;
    const slot = isLeaf ? leaf++ : told > 0 ? scalar : -1;
    scalar += told;
    let vertex: Vertex;
    if (op === 'aluNumber') {
      const [number, plain] = partsOf(node);
      vertex = vertexOf(plain, [...sources, vertexOf(number, none, slot, 'const')], -1, 'alu');
    } else if (op === 'draw' || op === 'search') vertex = stepsOf(node, sources);
    else vertex = vertexOf(node, sources, slot, op);
    vertex.numbers.push(node.number);
    vertex.held ||= holds && node.handles > 0;
    of[node.number] = vertex;
  }
  return { vertices, outputs: outputs.map((o) => of[o.number]!) };
}

/** A vertex before it has a place in the graph. */
export type Described = Omit<Vertex, 'id' | 'users' | 'numbers' | 'held'>;

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

const none: readonly Vertex[] = [];

/** Vertices by what they compute. */
class Equals {
  readonly #byHash = new Map<number, Vertex[]>();
  /** Of the node that was looked for last. */
  #hash = 0;

  /** The vertex that computes what a node does from these sources. */
  find(node: Node, sources: readonly Vertex[]): Vertex | undefined {
    let hash = Math.imul(node.code, 31) + node.shape.id;
    hash = Math.imul(hash, 31) + node.arg.id;
    if (node.op === 'const') hash = Math.imul(hash, 31) + Math.trunc(Number(node.value) * 8);
    for (let i = 0; i < sources.length; i++) hash = Math.imul(hash, 31) + sources[i]!.id;
    this.#hash = hash | 0;
    return this.#byHash.get(this.#hash)?.find((v) => equal(v, node, sources));
  }

  /** A vertex for the node that was just looked for in vain. */
  add(vertex: Vertex): void {
    const bucket = this.#byHash.get(this.#hash);
    if (bucket) bucket.push(vertex);
    else this.#byHash.set(this.#hash, [vertex]);
  }
}

function equal(v: Vertex, node: Node, sources: readonly Vertex[]): boolean {
  if (v.op !== node.op || v.dtype !== node.dtype || v.shape !== node.shape.values || v.arg !== node.arg) return false;
  if (!Object.is(v.value, node.value) || v.sources.length !== sources.length) return false;
  return sources.every((s, i) => s === v.sources[i]);
}
