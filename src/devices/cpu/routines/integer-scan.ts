// Running sums of integers along a row, a vector at a time.
//
// Whole numbers wrap, so they may be added in any order: a vector adds itself, moved up by one lane, then by two, and what came before.
// Several vectors do the first part side by side.

import type { DType } from '../../../base/dtype.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import { shuffleOf, type Width } from '../render/lanes.ts';
import type { Func } from '../wasm/module.ts';
import { machines, rising } from './emit.ts';

/** Vectors of one turn. */
const together = 4;

const shapes = { 4: 'i32x4', 8: 'i64x2' } as const;
const integers: ReadonlySet<DType> = new Set(['i32', 'u32', 'i64', 'u64']);

/** Whether the rows of a scan are running sums that vectors can take, and long enough for them. */
export const isVectorScan = ({ type, combine, reverse, inner, length }: Scan): boolean =>
  integers.has(type) && combine === 'sum' && !reverse && inner === 1 && length >= 2 * together * machines[type].lanes;

/** Adds up the row from the address in `from` into that in `to`, with `i` to count. */
export function vectorScan(f: Func, r: Scan, from: number, to: number, i: number): void {
  const { bytes, lanes, value, load, store } = machines[r.type];
  const shape = shapes[bytes as 4 | 8];
  const width = (8 * bytes) as Width;
  const c = f.code;
  const parts = Array.from({ length: together }, () => f.local('v128'));
  const [before, zero, last] = [f.local('v128'), f.local('v128'), f.local(value)];
  const advance = (step: number): void => {
    for (const pointer of [from, to]) c.get(pointer).i32(step).op('i32.add').set(pointer);
  };
  const count = r.length - (r.length % (together * lanes));
  c.v128(new Uint8Array(16)).tee(zero).set(before).i32(0).set(i);
  rising(
    c,
    i,
    () => c.i32(count),
    together * lanes,
    () => {
      parts.forEach((part, k) => {
        c.get(from)
          .mem('v128.load', 16 * k)
          .set(part);
        for (let up = 1; up < lanes; up *= 2) {
          // The lanes of zeros are numbered first.
          const moved = Array.from({ length: lanes }, (_, lane) => (lane < up ? lane : lanes + lane - up));
          c.get(part).get(zero).get(part).shuffle(shuffleOf(width, moved)).op(`${shape}.add`).set(part);
        }
      });
      parts.forEach((part, k) => {
        c.get(to).get(part).get(before).op(`${shape}.add`).tee(part);
        c.mem('v128.store', 16 * k);
        c.get(part)
          .get(part)
          .shuffle(shuffleOf(width, new Array<number>(lanes).fill(lanes - 1)))
          .set(before);
      });
      advance(16 * together);
    },
  );
  c.get(before).lane(`${shape}.extract_lane`, 0).set(last).i32(count).set(i);
  rising(
    c,
    i,
    () => c.i32(r.length),
    1,
    () => {
      c.get(to)
        .get(last)
        .get(from)
        .mem(load)
        .op(`${value as 'i32' | 'i64'}.add`)
        .tee(last)
        .mem(store);
      advance(bytes);
    },
  );
}
