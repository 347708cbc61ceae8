import { describe, expect, it } from 'vitest';
import { Random } from '../../../../test/gpu/data.ts';
import { emulate } from '../../../../test/gpu/emulate.ts';
import type { Sort } from '../../../kernel/kernel.ts';
import type { Target } from '../ptx/target.ts';
import { rowSort } from './row-sort.ts';

const target: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };

const sortOf = (rows: number, columns: number, descending: boolean): Sort => ({
  kind: 'routine',
  op: 'sort',
  name: 'sort',
  type: 'u32',
  rows,
  columns,
  descending,
  estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
});

describe('rows sorted in registers', () => {
  it.each([
    [3, 1],
    [5, 20],
    [2, 64],
    [6, 100],
    [5, 256],
    [3, 300],
    [2, 1000],
  ])('%i rows of %i are in order, equal ones as they were', (rows, columns) => {
    const random = new Random(rows * columns);
    const values = Float32Array.from({ length: rows * columns }, () => random.below(Math.max(2, columns / 3)));
    const [sorted, positions] = [0, 1].map(() => new Float32Array(rows * columns).fill(Number.NaN)) as [
      Float32Array,
      Float32Array,
    ];
    const places = [values, sorted, positions].map((d, i) => ({ address: (i + 1) * 2 ** 33, data: d }));
    emulate(rowSort(sortOf(rows, columns, false), target), places, 'early', random);
    for (let r = 0; r < rows; r++) {
      const row = values.subarray(r * columns, (r + 1) * columns);
      const want = Array.from(row, (_, i) => i).sort((i, j) => row[i]! - row[j]! || i - j);
      expect([...positions.subarray(r * columns, (r + 1) * columns)]).toEqual(want);
      expect([...sorted.subarray(r * columns, (r + 1) * columns)]).toEqual(want.map((i) => row[i]!));
    }
  });
});
