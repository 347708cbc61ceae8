// Rows of a graph grouped by length, so that each group is a full rectangle with little padding.
//
// A rectangle of index tensors is read without looking up where a row begins, and its sums are one kernel. Widths grow by half at
// most (1, 2, 3, 4, 6, 8, 12 …); a group so small that its padding would not be noticed joins the next wider one.

import type { Adjacency } from '../adjacency.ts';

export interface Bucket {
  /** The vertices of its rows, ascending. */
  readonly vertices: Int32Array;
  /** Places per row. */
  readonly width: number;
}

/** The width of the group that a row of this length belongs to. */
export function widthFor(length: number): number {
  if (length <= 4) return length;
  const power = 2 ** Math.floor(Math.log2(length - 1));
  return length <= 1.5 * power ? 1.5 * power : 2 * power;
}

/** Padding, as a part of all entries, that is worth a kernel of its own. */
const noticed = 1 / 50;

/** Every vertex in exactly one group, narrow groups first. */
export function bucketsOf({ vertices, offsets, neighbors }: Adjacency): Bucket[] {
  const widths = new Map<number, number[]>();
  for (let v = 0; v < vertices; v++) {
    const width = widthFor(offsets[v + 1]! - offsets[v]!);
    const members = widths.get(width);
    if (members) members.push(v);
    else widths.set(width, [v]);
  }
  const buckets: Bucket[] = [];
  const ascending = [...widths.keys()].sort((a, b) => a - b);
  let waiting: number[] = [];
  ascending.forEach((width, i) => {
    const members = [...waiting, ...widths.get(width)!];
    const next = ascending[i + 1];
    const padding = next === undefined ? Number.POSITIVE_INFINITY : members.length * (next - width);
    if (padding <= noticed * neighbors.length) waiting = members;
    else {
      waiting = [];
      buckets.push({ vertices: Int32Array.from(members).sort(), width });
    }
  });
  return buckets;
}
