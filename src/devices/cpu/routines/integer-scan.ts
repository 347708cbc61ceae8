// Running sums of integers along a row, a vector at a time.
//
// Whole numbers wrap, so they may be added in any order: a vector adds itself, moved up by one lane, then by two, and what came before.
// Several vectors do the first part side by side. Elements that are narrower than their sums are widened as they are loaded.

import type { DType } from '../../../base/dtype.ts';
import type { Scan } from '../../../kernel/kernel.ts';
import { shuffleOf, type Width } from '../render/lanes.ts';
import type { Func } from '../wasm/module.ts';
import type { MemoryOp } from '../wasm/ops.ts';
import { machines, rising } from './emit.ts';

/** Vectors of one turn. */
const together = 4;

const shapes = { 4: 'i32x4', 8: 'i64x2' } as const;
const integers: ReadonlySet<DType> = new Set(['i32', 'u32', 'i64', 'u64']);

/** Whether the rows of a scan are running sums that vectors can take, and long enough for them. */
export const isVectorScan = ({ type, combine, reverse, inner, length }: Scan): boolean =>
  integers.has(type) && combine === 'sum' && !reverse && inner === 1 && length >= 2 * together * machines[type].lanes;

/** Loads of one element of a narrower type as 64 bits. */
const widening: Readonly<Partial<Record<DType, MemoryOp>>> = {
  i32: 'i64.load32_s',
  u32: 'i64.load32_u',
  u8: 'i64.load8_u',
};

/** Loads the vectors of one turn. */
function loadParts(f: Func, type: DType, from: DType, at: number, parts: readonly number[]): void {
  const c = f.code;
  if (from === type || from !== 'u8') {
    const [load, step] =
      from === type ? (['v128.load', 16] as const) : ([`v128.load32x2_${from === 'i32' ? 's' : 'u'}`, 8] as const);
    parts.forEach((part, k) => {
      c.get(at)
        .mem(load, step * k)
        .set(part);
    });
    return;
  }
  const [words, half] = [f.local('v128'), f.local('v128')];
  c.get(at).mem('v128.load8x8_u').set(words);
  (['low', 'high'] as const).forEach((side, k) => {
    c.get(words).op(`i32x4.extend_${side}_i16x8_u`).set(half);
    c.get(half)
      .op('i64x2.extend_low_i32x4_u')
      .set(parts[2 * k]!);
    c.get(half)
      .op('i64x2.extend_high_i32x4_u')
      .set(parts[2 * k + 1]!);
  });
}

/** Adds up the row from the address in `from` into that in `to`, with `i` to count. */
export function vectorScan(
  f: Func,
  { type, from: element = type, length }: Scan,
  from: number,
  to: number,
  i: number,
): void {
  const { bytes, lanes, value, load, store } = machines[type];
  const shape = shapes[bytes as 4 | 8];
  const width = (8 * bytes) as Width;
  const c = f.code;
  const parts = Array.from({ length: together }, () => f.local('v128'));
  const [before, zero, last] = [f.local('v128'), f.local('v128'), f.local(value)];
  const advance = (elements: number): void => {
    c.get(from)
      .i32(elements * machines[element].bytes)
      .op('i32.add')
      .set(from);
    c.get(to)
      .i32(elements * bytes)
      .op('i32.add')
      .set(to);
  };
  const turn = together * lanes;
  const count = length - (length % turn);
  c.v128(new Uint8Array(16)).tee(zero).set(before).i32(0).set(i);
  rising(
    c,
    i,
    () => c.i32(count),
    turn,
    () => {
      loadParts(f, type, element, from, parts);
      for (const part of parts)
        for (let up = 1; up < lanes; up *= 2) {
          // The lanes of zeros are numbered first.
          const moved = Array.from({ length: lanes }, (_, lane) => (lane < up ? lane : lanes + lane - up));
          c.get(part).get(zero).get(part).shuffle(shuffleOf(width, moved)).op(`${shape}.add`).set(part);
        }
      // What came before waits for one addition a vector: last lanes are spread beside it.
      parts.forEach((part, k) => {
        c.get(to).get(part).get(before).op(`${shape}.add`);
        c.mem('v128.store', 16 * k);
        c.get(before).get(part).get(part);
        c.shuffle(shuffleOf(width, new Array<number>(lanes).fill(lanes - 1)))
          .op(`${shape}.add`)
          .set(before);
      });
      advance(turn);
    },
  );
  c.get(before).lane(`${shape}.extract_lane`, 0).set(last).i32(count).set(i);
  rising(
    c,
    i,
    () => c.i32(length),
    1,
    () => {
      c.get(to).get(last).get(from);
      c.mem(element === type ? load : widening[element]!)
        .op(`${value as 'i32' | 'i64'}.add`)
        .tee(last)
        .mem(store);
      advance(1);
    },
  );
}
