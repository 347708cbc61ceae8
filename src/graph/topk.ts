// The first few of each sorted row, where the device finds them without sorting: a sort of which nothing but the same first elements is
// read becomes a `topk`.
//
// A tensor may hold the whole sort: if it is read later it is sorted then. Most such tensors are steps of an expression.

import type { Capabilities } from '../devices/device.ts';
import { args } from './args.ts';
import type { Graph, Vertex } from './canonical.ts';
import { noInts } from './intern.ts';

/** Shorter rows are sorted as fast. */
const shortest = 8;
/** Found elements are sorted within one block. */
const most = 1024;

export function keepFirst(graph: Graph, caps: Pick<Capabilities, 'routines'>): void {
  if (!caps.routines.has('topk')) return;
  const outputs = new Set(graph.outputs);
  for (const sort of graph.vertices) {
    if (sort.op !== 'sort' || outputs.has(sort)) continue;
    const columns = sort.shape.at(-1)!;
    const slices = slicesOf(sort, outputs);
    const count = slices?.[0]?.shape.at(-1) ?? 0;
    if (!slices || count === 0 || slices.some((s) => s.shape.at(-1) !== count)) continue;
    if (columns < shortest || count > most || 4 * count > columns) continue;
    const { shape, size } = slices[0]!;
    Object.assign(sort, { op: 'topk', shape, size, held: false } satisfies Partial<Vertex>);
    for (const result of sort.users) Object.assign(result, { shape, size, held: false } satisfies Partial<Vertex>);
    // What was cut out is the whole now.
    for (const s of slices) Object.assign(s, { op: 'reshape', arg: noInts } satisfies Partial<Vertex>);
  }
}

/** Everything that reads the results of a sort, if all of it takes the first elements of every row; else null. */
function slicesOf(sort: Vertex, outputs: ReadonlySet<Vertex>): Vertex[] | null {
  const slices: Vertex[] = [];
  for (const result of sort.users) {
    if (outputs.has(result) || (result.op !== 'sorted' && result.op !== 'positions')) return null;
    for (const reader of result.users) {
      if (reader.op !== 'slice' || reader.slot >= 0) return null;
      const { starts, steps } = args.sliceOf(reader);
      const last = sort.shape.length - 1;
      const first = starts.every((s) => s === 0) && steps.every((s) => s === 1);
      if (!first || reader.shape.some((d, i) => i < last && d !== sort.shape[i])) return null;
      slices.push(reader);
    }
  }
  return slices;
}
