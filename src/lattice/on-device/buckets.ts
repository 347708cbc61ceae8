// Rows of a graph grouped by length, so that each group is a full rectangle with little padding.
//
// A rectangle of index tensors is read without looking up where a row begins, and its sums are one kernel. On a GPU widths grow by a
// quarter at most (… 8, 10, 12, 14, 16, 20 …). A CPU adds eight at a time: there, widths above eight are multiples of it, and what
// pads them is always in its caches. A group so small that its padding would not be noticed joins the next wider one.

import type { Adjacency } from '../adjacency.ts';

export interface Bucket {
  /** The vertices of its rows, ascending. */
  readonly vertices: Int32Array;
  /** Places per row. */
  readonly width: number;
}

/** The width of the group that a row of this length belongs to. */
export function widthFor(length: number, host: boolean): number {
  const step = length <= 8 ? 1 : host ? Math.max(8, quarter(length)) : quarter(length);
  return step * Math.ceil(length / step);
}

/** A power of two that divides the widths about a length into steps of a quarter at most. */
const quarter = (length: number): number => 2 ** (Math.floor(Math.log2(length - 1)) - 2);

/** Padding, as a part of all entries, that is worth a kernel of its own. */
const noticed = 1 / 100;

/** Every vertex in exactly one group, narrow groups first. `host`: for a CPU. */
export function bucketsOf({ vertices, offsets, neighbors }: Adjacency, host: boolean): Bucket[] {
  const widths = new Map<number, number[]>();
  for (let v = 0; v < vertices; v++) {
    const width = widthFor(offsets[v + 1]! - offsets[v]!, host);
    const members = widths.get(width);
    if (members) members.push(v);
    else widths.set(width, [v]);
  }
  const buckets: Bucket[] = [];
  const ascending = [...widths.keys()].sort((a, b) => a - b);
  let waiting: number[] = [];
  // Places that the waiting ones need by themselves.
  let places = 0;
  ascending.forEach((width, i) => {
    const members = [...waiting, ...widths.get(width)!];
    places += width * widths.get(width)!.length;
    const next = ascending[i + 1];
    const padding = next === undefined ? Number.POSITIVE_INFINITY : members.length * next - places;
    if (padding <= noticed * neighbors.length) {
      waiting = members;
      return;
    }
    [waiting, places] = [[], 0];
    buckets.push({ vertices: Int32Array.from(members).sort(), width });
  });
  return buckets;
}
