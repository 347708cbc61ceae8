// Short rows without positions, side by side: each lane of a vector is a row, so one comparison of vectors compares a pair of each.
//
// A network of comparisons sorts as many columns as there are: Batcher's odd-even merges (AFIPS 1968), without those that touch a column
// beyond the last. Smaller and larger are taken of the values themselves, so what numbers do not tell apart, zeros of both signs, or have no
// order for, NaN, is left to the sort by keys.

import type { DType } from '../../../../base/dtype.ts';
import type { Sort } from '../../../../kernel/kernel.ts';
import { splatBytes } from '../../render/lanes.ts';
import type { Func, WasmModule } from '../../wasm/module.ts';
import type { MemoryLaneOp, PlainOp } from '../../wasm/ops.ts';

interface Machine {
  /** Rows side by side, and the bytes of a value. */
  readonly lanes: number;
  readonly bytes: number;
  readonly smaller: PlainOp;
  readonly larger: PlainOp;
  readonly load: MemoryLaneOp;
  readonly store: MemoryLaneOp;
  /** Of floats: what tells NaN, and equal bits. */
  readonly float?: { readonly lane: 'f32' | 'f64'; readonly differs: PlainOp; readonly equals: PlainOp };
}

const words = { lanes: 4, bytes: 4, load: 'v128.load32_lane', store: 'v128.store32_lane' } as const;
const longs = { lanes: 2, bytes: 8, load: 'v128.load64_lane', store: 'v128.store64_lane' } as const;

const machines: Readonly<Partial<Record<DType, Machine>>> = {
  i32: { ...words, smaller: 'i32x4.min_s', larger: 'i32x4.max_s' },
  u32: { ...words, smaller: 'i32x4.min_u', larger: 'i32x4.max_u' },
  f32: {
    ...words,
    smaller: 'f32x4.pmin',
    larger: 'f32x4.pmax',
    float: { lane: 'f32', differs: 'f32x4.ne', equals: 'i32x4.eq' },
  },
  f64: {
    ...longs,
    smaller: 'f64x2.pmin',
    larger: 'f64x2.pmax',
    float: { lane: 'f64', differs: 'f64x2.ne', equals: 'i64x2.eq' },
  },
};

/** Columns that stay in registers, and up to which this is quicker than keys all the same: that takes the engine longer to compile, for many rows only. */
const [inRegisters, mostColumns] = [16, 32];
const manyRows = 256;

/** Whether rows have so few columns. `most`: where there are many rows. */
export const isShort = ({ rows, columns }: Sort, most = mostColumns): boolean =>
  columns <= (rows < manyRows ? inRegisters : most);

/** Rows that are sorted at once; 0 if they are not sorted this way. */
export const rowsAtOnce = (r: Sort): number => (isShort(r) ? (machines[r.type]?.lanes ?? 0) : 0);

/** Pairs of columns to compare, in this order. */
export function comparisons(columns: number): readonly (readonly [number, number])[] {
  const pairs: [number, number][] = [];
  for (let merged = 1; merged < columns; merged *= 2)
    for (let apart = merged; apart >= 1; apart /= 2)
      for (let first = apart % merged; first + apart < columns; first += 2 * apart)
        for (let i = first; i < first + apart && i + apart < columns; i++)
          if (Math.floor(i / (2 * merged)) === Math.floor((i + apart) / (2 * merged))) pairs.push([i, i + apart]);
  return pairs;
}

/** (input, output): sorts that many rows, and says 1; 0 if they are left to the sort by keys, and nothing was written. */
export function sortShortRows(module: WasmModule, { type, columns, descending }: Sort): Func {
  const m = machines[type]!;
  const f = module.func(['i32', 'i32'], ['i32']);
  const [input, output] = [0, 1] as const;
  const c = f.code;
  const values = Array.from({ length: columns }, () => f.local('v128'));
  const kept = f.local('v128');
  const none = splatBytes('u8', 0);
  const place = (row: number, column: number): number => (row * columns + column) * m.bytes;
  values.forEach((v, column) => {
    c.v128(none).set(v);
    for (let row = 0; row < m.lanes; row++)
      c.get(input).get(v).memLane(m.load, row, place(row, column), Math.log2(m.bytes)).set(v);
  });
  if (m.float) {
    const { lane, differs, equals } = m.float;
    c.v128(none).set(kept);
    for (const v of values) {
      c.get(kept).get(v).get(v).ops(differs, 'v128.or').get(v).v128(splatBytes(lane, -0)).ops(equals, 'v128.or');
      c.set(kept);
    }
    c.get(kept).op('v128.any_true').if();
    c.i32(0).op('return').end();
  }
  const [first, second] = descending ? [m.larger, m.smaller] : [m.smaller, m.larger];
  for (const [i, j] of comparisons(columns)) {
    const [x, y] = [values[i]!, values[j]!];
    c.get(x).get(y).op(first).set(kept).get(x).get(y).op(second).set(y).get(kept).set(x);
  }
  values.forEach((v, column) => {
    for (let row = 0; row < m.lanes; row++)
      c.get(output).get(v).memLane(m.store, row, place(row, column), Math.log2(m.bytes));
  });
  c.i32(1);
  return f;
}
