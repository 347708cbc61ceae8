// The graph a compilation works on: a private copy of the traced nodes in which equal computations are one vertex.

import type { DType } from '../base/dtype.ts';
import type { Ints } from './intern.ts';
import type { Node, NodeOp } from './node.ts';
import { bakedId, type Trace } from './trace.ts';

export interface Vertex {
  readonly id: number;
  readonly op: NodeOp;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly size: number;
  readonly arg: Ints;
  readonly sources: readonly Vertex[];
  readonly users: Set<Vertex>;
  /** Of a leaf: its number among the leaves. Of a constant: its number among the launch scalars, or -1 if baked in. */
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

export function canonicalize(trace: Trace, outputs: readonly Node[]): Graph {
  const table = new Map<string, Vertex>();
  const vertices: Vertex[] = [];
  const of: Vertex[] = [];
  let leaf = 0;
  let scalar = 0;
  for (const node of trace.nodes) {
    const isLeaf = node.storage !== null || node.op === 'leaf';
    const sources = isLeaf ? [] : node.sources.map((s) => of[s.number]!);
    const slot = isLeaf ? leaf++ : node.op === 'const' && bakedId(node) === 0 ? scalar++ : -1;
    const key = isLeaf || slot >= 0 ? '' : keyOf(node, sources);
    let vertex = key ? table.get(key) : undefined;
    if (!vertex) {
      vertex = {
        id: vertices.length,
        op: isLeaf ? 'leaf' : node.op,
        dtype: node.dtype,
        shape: node.shape.values,
        size: node.size,
        arg: node.arg,
        sources,
        users: new Set(),
        slot,
        value: node.value,
        numbers: [],
        held: false,
      };
      vertices.push(vertex);
      for (const s of sources) s.users.add(vertex);
      if (key) table.set(key, vertex);
    }
    vertex.numbers.push(node.number);
    vertex.held ||= node.handles > 0;
    of[node.number] = vertex;
  }
  return { vertices, outputs: outputs.map((o) => of[o.number]!) };
}

function keyOf(node: Node, sources: readonly Vertex[]): string {
  const value = Object.is(node.value, -0) ? '-0' : `${node.value}`;
  return `${node.code}:${node.shape.id}:${node.arg.id}:${value}:${sources.map((s) => s.id).join()}`;
}
