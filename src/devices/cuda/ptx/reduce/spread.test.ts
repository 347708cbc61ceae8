import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../../test/gpu/assemble.ts';
import { KernelBuilder } from '../../../../../test/gpu/build.ts';
import { Random } from '../../../../../test/gpu/data.ts';
import { emulate } from '../../../../../test/gpu/emulate.ts';
import { manySums, stencil } from '../../../../../test/gpu/stencils.ts';
import { sizeOf } from '../../../../base/shape.ts';
import type { Kernel } from '../../../../kernel/kernel.ts';
import { kernelRecipe } from '../../recipe.ts';
import { neighboursOf } from '../neighbours.ts';
import { planReduction } from '../plan.ts';
import type { Target } from '../target.ts';

const tiny: Target = { sm: 90, ptx: 78, processors: 1, fastMath: false };

/** Whole numbers, so that sums are exact in any order. */
const numbers = (n: number): Float32Array => Float32Array.from({ length: n }, (_, i) => ((i * 37) % 19) - 9);

function outputsOf(kernel: Kernel, data: Float32Array, rows: number): Float32Array[] {
  const outputs = kernel.outputs.map(() => new Float32Array(rows).fill(Number.NaN));
  const places = [data, ...outputs].map((d, i) => ({ address: (i + 1) * 2 ** 33, data: d }));
  emulate(kernelRecipe(kernel, tiny), places, 'early', new Random(5));
  return outputs;
}

describe('sums of neighbours that threads hand out among themselves', () => {
  it.each([
    [[8, 8, 16], 64],
    [[4, 8, 8], 128],
    [[8, 16, 8], 16],
    // Fewer threads a row than neighbours, more than one part of a row, a part that is not whole.
    [[8, 8, 8], 20],
    [[4, 8, 8], 256],
    [[3, 6, 4], 72],
    // The last rows do not fill a block.
    [[5, 4, 12], 32],
  ])('over the cells around, of %j cells and %i channels, are those of each cell', (space, channels) => {
    const kernel = stencil(space, [channels]);
    expect(neighboursOf(kernel, tiny)!.count).toBeGreaterThan(1);
    const [d, h, w] = space as [number, number, number];
    const cells = sizeOf(space);
    const data = numbers(cells * channels);
    const [around, slope] = outputsOf(kernel, data, cells);
    const sums = new Float64Array(cells);
    for (let i = 0; i < data.length; i++) sums[Math.floor(i / channels)]! += data[i]!;
    const at = (x: number, y: number, z: number): number =>
      sums[(((x + d) % d) * h + ((y + h) % h)) * w + ((z + w) % w)]!;
    const sides = [-1, 0, 1];
    for (let i = 0; i < cells; i++) {
      const [z, y, x] = [i % w, Math.floor(i / w) % h, Math.floor(i / (w * h))];
      const want = sides.flatMap((a) => sides.flatMap((b) => sides.map((c) => at(x + a, y + b, z + c))));
      expect(around![i], `sum at ${[x, y, z]}`).toBe(want.reduce((a, b) => a + b));
      expect(slope![i], `slope at ${[x, y, z]}`).toBe(at(x, y, z + 1) - at(x, y, z - 1));
    }
  });

  it.each([
    [[1 << 10], 64, 6],
    [[6, 300], 32, 5],
    [[2048], 16, 4],
    [[1000], 128, 8],
  ])('of rows of many accumulators are those of each row: %j of %i, %i sums', (space, columns, sums) => {
    const kernel = manySums(space, columns, sums);
    expect(neighboursOf(kernel, tiny)!.count).toBe(4);
    const rows = sizeOf(space);
    const data = Float32Array.from({ length: rows * columns }, (_, i) => ((i * 5) % 7) - 3);
    const made = outputsOf(kernel, data, rows);
    for (let row = 0; row < rows; row++) {
      const values = [...data.subarray(row * columns, (row + 1) * columns)];
      made.forEach((output, i) => {
        const powers = values.map((v) => v ** (i + 1));
        const want = i === 1 ? Math.max(...powers) : powers.reduce((a, b) => a + b);
        expect(output[row], `sum ${i} of row ${row}`).toBe(want);
      });
    }
  });

  it('are finished where they lie: an epilogue that reads an array by position gets its own element', () => {
    const k = new KernelBuilder([256], [64]);
    const x = k.whole('f32');
    const list = k.input('f32', 256);
    let value = x;
    for (let i = 0; i < 4; i++) {
      k.output(k.op('add', k.reduce('sum', value), k.at(list, k.axis(0))));
      value = k.op('mul', value, x);
    }
    const kernel = k.done('shifted');
    expect(neighboursOf(kernel, tiny)!.count).toBe(4);
    const [data, shifts] = [numbers(256 * 64), Float32Array.from({ length: 256 }, (_, i) => i * 1000)];
    const outputs = kernel.outputs.map(() => new Float32Array(256).fill(Number.NaN));
    const places = [data, shifts, ...outputs].map((d, i) => ({ address: (i + 1) * 2 ** 33, data: d }));
    emulate(kernelRecipe(kernel, tiny), places, 'early', new Random(6));
    for (let row = 0; row < 256; row++) {
      const sum = data.subarray(row * 64, (row + 1) * 64).reduce((a, b) => a + b);
      expect(outputs[0]![row]).toBe(sum + row * 1000);
    }
  });

  it('keep to one state for all lanes of many accumulators, and one for each lane of few', () => {
    expect(planReduction(manySums([1 << 16], 64, 6), tiny)).toMatchObject({ folds: true, vector: 4 });
    expect(planReduction(manySums([1 << 16], 64, 2), tiny)).toMatchObject({ folds: false });
  });

  it.skipIf(!hasPtxas)('assemble for every type and op that can be handed out', () => {
    for (const type of ['f32', 'f64', 'i64', 'u32', 'f16', 'bool'] as const)
      for (const op of type === 'bool' ? (['any', 'all', 'argmax'] as const) : (['sum', 'max', 'argmin'] as const)) {
        const k = new KernelBuilder([1 << 16], [64]);
        for (let i = 0; i < 4; i++) k.output(k.reduce(op, k.whole(type)));
        const kernel = k.done(`${op}_${type}`);
        expect(neighboursOf(kernel, tiny)!.count).toBe(4);
        expect(assemble(kernelRecipe(kernel, tiny).ptx, tiny), `${op} ${type}`).toBe('');
      }
  });
});
