// Random graphs as compressed sparse rows, the same for every library.

import { seededBits } from '../../src/base/seeded.ts';

export interface Rows {
  readonly offsets: Int32Array;
  readonly neighbors: Int32Array;
}

/** A symmetric graph of `vertices` with about `edges` random edges; twice drawn ones count once. */
export function randomRows(vertices: number, edges: number, seed = 1): Rows {
  const bits = seededBits(seed);
  const draw = (): number => bits() % vertices;
  const [from, to] = [new Int32Array(edges), new Int32Array(edges)];
  const starts = new Int32Array(vertices + 1);
  for (let e = 0; e < edges; e++) {
    const a = draw();
    let b = draw();
    while (b === a) b = draw();
    [from[e], to[e]] = [a, b];
    starts[a + 1] = starts[a + 1]! + 1;
    starts[b + 1] = starts[b + 1]! + 1;
  }
  for (let v = 0; v < vertices; v++) starts[v + 1] = starts[v + 1]! + starts[v]!;
  const at = starts.slice();
  const all = new Int32Array(2 * edges);
  const put = (a: number, b: number): void => {
    all[at[a]!] = b;
    at[a] = at[a]! + 1;
  };
  for (let e = 0; e < edges; e++) {
    put(from[e]!, to[e]!);
    put(to[e]!, from[e]!);
  }
  const offsets = new Int32Array(vertices + 1);
  let next = 0;
  for (let v = 0; v < vertices; v++) {
    let last = -1;
    for (const u of all.subarray(starts[v]!, starts[v + 1]!).sort()) {
      if (u === last) continue;
      all[next++] = u;
      last = u;
    }
    offsets[v + 1] = next;
  }
  return { offsets, neighbors: all.slice(0, next) };
}
