// Evenly spaced elements out of a few vectors: each vector is read as it lies in memory, and shuffles bring the lanes together.
//
// A load of one lane takes as long as a load of a vector, and has to wait for the lane before it.

import type { Code } from '../wasm/code.ts';

/** A vector as it lies in memory, and which lanes of the result are in it, with the bytes at which they begin. */
export interface Window {
  readonly at: number;
  readonly lanes: ReadonlyMap<number, number>;
}

/** As few windows as hold all lanes. None goes beyond the last lane: there the buffer may end. */
export function windowsOf(offsets: readonly number[], bytes: number): Window[] {
  const order = offsets.map((_, lane) => lane).sort((a, b) => offsets[a]! - offsets[b]!);
  const end = Math.max(...offsets) + bytes;
  const windows: Window[] = [];
  for (let i = 0; i < order.length; ) {
    const first = offsets[order[i]!]!;
    const at = Math.min(first, end - 16);
    const lanes = new Map<number, number>();
    for (; i < order.length && offsets[order[i]!]! + bytes <= first + 16; i++)
      lanes.set(order[i]!, offsets[order[i]!]! - at);
    windows.push({ at, lanes });
  }
  return windows;
}

/** Pushes the lanes of all windows, the first of which may hold any. `v` is a local to work in. */
export function emitWindows(
  c: Code,
  windows: readonly Window[],
  address: number,
  v: number,
  bytes: number,
  shift: number,
): void {
  const [first, ...others] = windows as [Window, ...Window[]];
  c.get(address).mem('v128.load', first.at, shift).set(v);
  let known = first.lanes;
  for (const { at, lanes } of others) {
    const from = Array.from({ length: 16 / bytes }, (_, lane) => {
      const own = lanes.get(lane);
      return own === undefined ? (known.get(lane) ?? 0) : 16 + own;
    });
    c.get(v).get(address).mem('v128.load', at, shift);
    c.shuffle(from.flatMap((byte) => Array.from({ length: bytes }, (_, k) => byte + k))).set(v);
    known = new Map(from.map((_, lane) => [lane, lane * bytes]));
  }
  c.get(v);
}
