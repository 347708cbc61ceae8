// Some of each sorted row, where the device finds them without sorting: a sort of which nothing but the same elements is read, the first
// ones or a few anywhere, becomes a `topk`.
//
// A tensor may hold the whole sort: if it is read later it is sorted then. Most such tensors are steps of an expression.

import type { Capabilities } from '../devices/device.ts';
import { args } from './args.ts';
import type { Graph, Vertex } from './canonical.ts';
import { noInts } from './intern.ts';

/** Shorter rows are sorted as fast. */
const shortest = 8;
/** First elements that are found are sorted within one block. */
const most = 1024;
/** Elsewhere each is searched for by itself, in rows that a block holds. */
const mostElsewhere = 4;
const longestElsewhere = 16_384;

export function keepSome(graph: Graph, caps: Pick<Capabilities, 'routines' | 'selectsAnywhere'>): void {
  if (!caps.routines.has('topk')) return;
  const outputs = new Set(graph.outputs);
  for (const sort of graph.vertices) {
    if (sort.op !== 'sort' || outputs.has(sort)) continue;
    const columns = sort.shape.at(-1)!;
    const found = slicesOf(sort, outputs);
    if (!found || columns < shortest) continue;
    const { slices, turned, first, count } = found;
    if (4 * count > columns || !(caps.selectsAnywhere || withinBlocks(first, count, columns))) continue;
    const shape = [...sort.shape.slice(0, -1), count];
    const size = (sort.size / columns) * count;
    Object.assign(sort, { op: 'topk', shape, size, first, held: false } satisfies Partial<Vertex>);
    for (const result of sort.users) Object.assign(result, { shape, size, held: false } satisfies Partial<Vertex>);
    for (const t of turned) {
      const order = args.listOf(t);
      Object.assign(t, { shape: order.map((axis) => shape[axis]!), size, held: false } satisfies Partial<Vertex>);
    }
    // What was cut out is the whole now.
    for (const s of slices) Object.assign(s, { op: 'reshape', arg: noInts } satisfies Partial<Vertex>);
  }
}

/** Whether a device that works in blocks finds them. */
function withinBlocks(first: number, count: number, columns: number): boolean {
  if (first === 0) return count <= most;
  return count <= mostElsewhere && columns <= longestElsewhere;
}

interface Slices {
  readonly slices: readonly Vertex[];
  /** Permutations between the sort and its slices: of a sort along another axis than the last. */
  readonly turned: readonly Vertex[];
  readonly first: number;
  readonly count: number;
}

/** Everything that reads the results of a sort, if all of it takes the same neighbours of every row; else null. */
function slicesOf(sort: Vertex, outputs: ReadonlySet<Vertex>): Slices | null {
  const [slices, turned]: [Vertex[], Vertex[]] = [[], []];
  const last = sort.shape.length - 1;
  let range: Range | undefined;
  const takes = (reader: Vertex, axis: number): boolean => {
    const own = rangeOf(reader, axis);
    if (!own) return false;
    range ??= own;
    slices.push(reader);
    return own.first === range.first && own.count === range.count;
  };
  for (const result of sort.users) {
    if (outputs.has(result) || (result.op !== 'first' && result.op !== 'second')) return null;
    for (const reader of result.users) {
      if (reader.op !== 'permute') {
        if (!takes(reader, last)) return null;
        continue;
      }
      const axis = args.listOf(reader).indexOf(last);
      if (outputs.has(reader) || reader.users.some((u) => !takes(u, axis))) return null;
      turned.push(reader);
    }
  }
  return range && range.count > 0 ? { slices, turned, ...range } : null;
}

interface Range {
  readonly first: number;
  readonly count: number;
}

/** Which part of an axis a slice takes, if it takes all of the others; else null. */
function rangeOf(reader: Vertex, axis: number): Range | null {
  if (reader.op !== 'slice' || reader.slot >= 0) return null;
  const { starts, steps } = args.sliceOf(reader);
  const [of] = reader.sources as [Vertex];
  const whole =
    steps.every((s) => s === 1) && starts.every((s, i) => i === axis || (s === 0 && reader.shape[i] === of.shape[i]));
  return whole ? { first: starts[axis]!, count: reader.shape[axis]! } : null;
}
