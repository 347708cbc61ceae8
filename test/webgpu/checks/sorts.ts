// Sorts of rows: stable, NaN last, with the positions of what they sort.

import { type DType, isFloat } from '../../../src/base/dtype.ts';
import type { Device } from '../../../src/devices/device.ts';
import type { Sort } from '../../../src/kernel/kernel.ts';
import { bytesOf, type Check, check, compare, mixed, noEstimate, valuesOf } from '../support.ts';
import { run } from './routine.ts';

const sortOf = (type: DType, rows: number, columns: number, descending: boolean): Sort => ({
  kind: 'routine',
  op: 'sort',
  name: `sort_${type}_${rows}x${columns}`,
  type,
  rows,
  columns,
  descending,
  estimate: noEstimate,
});

async function sortAgrees(device: Device, w: Sort, values: readonly number[]): Promise<void> {
  const bytes = bytesOf(w.type, values);
  const data = valuesOf(w.type, bytes);
  const [sorted, at] = await run(device, w, [bytes], [bytes.length, w.rows * w.columns * 4]);
  const wantAt: number[] = [];
  for (let r = 0; r < w.rows; r++) {
    const row = data.slice(r * w.columns, (r + 1) * w.columns);
    const order = row.map((_, i) => i);
    order.sort((p, q) => {
      const [x, y] = [row[p]!, row[q]!];
      if (Number.isNaN(x) || Number.isNaN(y))
        return Number.isNaN(x) === Number.isNaN(y) ? p - q : Number.isNaN(x) ? 1 : -1;
      return (w.descending ? y - x : x - y) || p - q;
    });
    wantAt.push(...order);
  }
  const label = `${w.name}${w.descending ? ' descending' : ''}`;
  compare('i32', at!, bytesOf('i32', wantAt), {}, `${label} positions`);
  const want = wantAt.map((p, i) => data[Math.floor(i / w.columns) * w.columns + p]!);
  compare(w.type, sorted!, bytesOf(w.type, want), {}, label);
}

/** Rows that one workgroup sorts, and rows that take many passes, which a software GPU is slow at. */
const sortSizes: Readonly<Record<'short' | 'long', readonly (readonly [rows: number, columns: number])[]>> = {
  short: [
    [1, 1],
    [1, 2],
    [3, 5],
    [7, 64],
    [2, 1000],
    [1, 1024],
    [2, 1025],
  ],
  long: [
    [3, 3001],
    [1, 20_000],
  ],
};

/** Rows that are sorted both ways, one of each kind: within a thread, a workgroup, and beyond it. */
const bothWays = new Set([5, 64, 1025, 3001]);

async function sorted(device: Device, type: DType, rows: number, columns: number, descending: boolean): Promise<void> {
  const values = mixed(type, rows * columns, columns).map((v, i) => (i % 3 === 0 && isFloat(type) ? Math.round(v) : v));
  await sortAgrees(device, sortOf(type, rows, columns, descending), values);
}

const sortCheck = (type: DType, length: 'short' | 'long'): Check =>
  check(
    `sort of ${type}: stable, NaN last, ${length} rows`,
    async (device) => {
      for (const [rows, columns] of sortSizes[length]) {
        for (const descending of bothWays.has(columns) ? [false, true] : [columns % 2 === 0])
          await sorted(device, type, rows, columns, descending);
      }
    },
    type,
    type !== 'f32' && !(length === 'long' && type === 'u8'),
  );

export const sorts: Check[] = [
  ...(['f32', 'i32', 'u32', 'u8', 'bool', 'f16'] as const).flatMap((type) => [
    sortCheck(type, 'short'),
    sortCheck(type, 'long'),
  ]),
  check(
    'sort of f32: rows of every length the other way round',
    async (device) => {
      for (const [rows, columns] of [...sortSizes.short, ...sortSizes.long])
        if (!bothWays.has(columns)) await sorted(device, 'f32', rows, columns, columns % 2 === 1);
    },
    'f32',
    true,
  ),
];
