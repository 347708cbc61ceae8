import { describe, expect, it } from 'vitest';
import { decomposed, rowsCases } from '../../../../../test/gpu/rows.ts';
import { dtypes } from '../../../../base/dtype.ts';
import type { Rows } from '../../../../kernel/kernel.ts';
import { nativeOps } from '../../ptx/alu.ts';
import type { Target } from '../../ptx/target.ts';
import { rowsRecipe } from './index.ts';
import { layoutOf } from './layout.ts';

const target: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };
const native = Object.fromEntries(dtypes.map((d) => [d, nativeOps(d, target)]));
const caseOf = (name: string): Rows =>
  decomposed(rowsCases().find((c) => c.routine.name === name)!.routine as Rows, native);

describe('how rows lie over threads', () => {
  it('long ones of which much is computed are taken one after the other by blocks that stay', () => {
    const long = layoutOf(caseOf('softmax_f32_128x4096'), target);
    expect(long).toMatchObject({ threads: 256, places: 4, vector: 4, resident: 3 });
    expect(layoutOf(caseOf('softmax_f32_128x12000'), target)).toMatchObject({ threads: 1024, places: 3, resident: 1 });
  });

  it('the longest have blocks of their own, whose threads have registers for a hundred elements', () => {
    expect(layoutOf(caseOf('softmax_f32_129x50257'), target)).toMatchObject({ threads: 512, places: 99, resident: 0 });
    expect(layoutOf(caseOf('softmax_f64_128x16000'), target)).toMatchObject({ threads: 512, places: 16, resident: 0 });
  });

  it('those of which little is computed have blocks of their own', () => {
    expect(layoutOf(caseOf('spread_f32_128x4096'), target)).toMatchObject({ threads: 512, places: 2, resident: 0 });
    expect(layoutOf(caseOf('spread_f64_128x4096'), target)).toMatchObject({ threads: 512, places: 4, resident: 0 });
  });

  it('short ones, and those without vectors, have blocks of their own', () => {
    expect(layoutOf(caseOf('softmax_f32_140x1024'), target)).toMatchObject({ threads: 256, places: 1, resident: 0 });
    expect(layoutOf(caseOf('softmax_f32_129x4099'), target)).toMatchObject({ vector: 1, resident: 0 });
  });

  it('rows that a warp has too many threads for share one, if there are enough of them', () => {
    const rows = (count: number, columns: number): Rows => ({
      ...caseOf('softmax_f32_140x1024'),
      rows: count,
      columns,
    });
    expect(layoutOf(rows(1 << 20, 64), target)).toMatchObject({ group: 8, threads: 128, places: 2, vector: 4 });
    expect(layoutOf(rows(1 << 20, 200), target)).toMatchObject({ group: 8, places: 7 });
    expect(layoutOf(rows(40_000, 200), target)).toMatchObject({ group: 16, places: 4 });
    expect(layoutOf(rows(200, 64), target)).toMatchObject({ group: 32, places: 1 });
  });

  it('no more blocks are launched than stay, nor than there are rows', () => {
    const stack = caseOf('softmax_f32_128x4096');
    const blocks = (processors: number): number => rowsRecipe(stack, { ...target, processors }).launches[0]!.grid[0];
    expect(blocks(2)).toBe(6);
    expect(blocks(132)).toBe(128);
  });
});
