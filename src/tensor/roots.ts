// Tables of roots of unity, kept for the next transform of the same size: sines and cosines take longer than the transform.
//
// Each runtime keeps its own, in host memory, up to `most` bytes; the one used longest ago goes first.

import type { DType } from '../base/dtype.ts';
import type { Node } from '../graph/node.ts';
import type { TensorHost } from './host.ts';

const most = 8 << 20;

type Numbers = Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

const tables = new WeakMap<TensorHost, Map<string, Numbers>>();

/** Quarters of the circle, exactly. */
const quarters = [
  [1, 0],
  [0, 1],
  [-1, 0],
  [0, -1],
] as const;

/** exp(±2πi · a / n), with the angle reduced in whole numbers first. */
export function root(a: number, n: number, sign: number): readonly [number, number] {
  const turns = (4 * (a % n)) / n;
  // A list asked for a fraction makes text of it first, which takes longer than all else here.
  if (Number.isInteger(turns)) return [quarters[turns]![0], sign * quarters[turns]![1]];
  return [Math.cos((Math.PI / 2) * turns), sign * Math.sin((Math.PI / 2) * turns)];
}

/** A matrix of numbers on the device. Its name tells it from all others of its size and dtype. */
export function rootTable(
  host: TensorHost,
  dtype: DType,
  name: string,
  [rows, columns]: readonly [number, number],
  at: (i: number, j: number) => number,
): Node {
  let kept = tables.get(host);
  if (!kept) tables.set(host, (kept = new Map()));
  const key = `${dtype} ${rows} ${columns} ${name}`;
  let table = kept.get(key);
  kept.delete(key);
  if (!table) {
    table = new (dtype === 'f64' ? Float64Array : Float32Array)(rows * columns);
    for (let i = 0; i < table.length; i++) table[i] = at(Math.floor(i / columns), i % columns);
  }
  if (table.byteLength <= most) {
    kept.set(key, table);
    makeRoom(kept);
  }
  return host.upload(new Uint8Array(table.buffer), dtype, [rows, columns]);
}

function makeRoom(kept: Map<string, Numbers>): void {
  let bytes = 0;
  for (const { byteLength } of kept.values()) bytes += byteLength;
  for (const [key, { byteLength }] of kept) {
    if (bytes <= most) return;
    kept.delete(key);
    bytes -= byteLength;
  }
}
