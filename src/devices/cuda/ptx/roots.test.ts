import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import { Random } from '../../../../test/gpu/data.ts';
import { emulate } from '../../../../test/gpu/emulate.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { kernelRecipe } from '../recipe.ts';
import type { Target } from './target.ts';

const tiny: Target = { sm: 90, ptx: 78, processors: 1, fastMath: false };
const [rows, columns] = [512, 64];

/** Largest roots of rows, each of another multiple. */
function roots(count: number): Kernel {
  const k = new KernelBuilder([rows], [columns]);
  const x = k.whole('f32');
  for (let i = 1; i <= count; i++) k.output(k.reduce('max', k.op('sqrt', k.op('mul', x, k.b.const('f32', i)))));
  return k.done('roots');
}

function outputsOf(kernel: Kernel, data: Float32Array): Float32Array[] {
  const outputs = kernel.outputs.map(() => new Float32Array(rows).fill(Number.NaN));
  const places = [data, ...outputs].map((d, i) => ({ address: (i + 1) * 2 ** 33, data: d }));
  emulate(kernelRecipe(kernel, tiny), places, 'early', new Random(5));
  return outputs;
}

describe('many roots of a thread', () => {
  it('ask once for numbers that the plain step does not serve', () => {
    const { ptx } = kernelRecipe(roots(4), tiny);
    expect(ptx).toContain('bra $roots');
    // The plain step for all, and the careful one behind the branch.
    expect(ptx.match(/rsqrt/g)!.length % 2).toBe(0);
    expect(kernelRecipe(roots(1), tiny).ptx).not.toContain('bra $roots');
    expect(kernelRecipe(roots(4), { ...tiny, fastMath: true }).ptx).not.toContain('bra $roots');
  });

  it('are right for ordinary numbers, for 0, infinity and the smallest, and for rows that have all of them', () => {
    const odd = [0, 1e-45, 1e-40, 1.2e-38, 7.9e-31, 2 ** -100, 2 ** -99, 1, 2, 3e38, Number.POSITIVE_INFINITY];
    const value = (row: number): number => odd[row] ?? 0.37 * row;
    const data = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row++) data.fill(value(row), row * columns, (row + 1) * columns);
    // An odd number in one place of every fourth row: 0 is never the largest.
    for (let row = 12; row < rows; row += 4) data[row * columns + (row % columns)] = 0;
    outputsOf(roots(4), data).forEach((made, i) => {
      for (let row = 0; row < rows; row++) {
        const number = Math.fround(Math.fround(value(row)) * (i + 1));
        expect(made[row], `root of ${number}`).toBe(Math.fround(Math.sqrt(number)));
      }
    });
  });
});
