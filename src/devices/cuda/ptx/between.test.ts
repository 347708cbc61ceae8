// Every other element of a line is read in vectors, together with those between, and never beyond the buffer. The emulator refuses a
// read outside, or of a vector where none may be.

import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import { Random } from '../../../../test/gpu/data.ts';
import { emulate } from '../../../../test/gpu/emulate.ts';
import type { Expr } from '../../../kernel/expr.ts';
import { kernelRecipe } from '../recipe.ts';
import type { Target } from './target.ts';

const target: Target = { sm: 90, ptx: 78, processors: 1, fastMath: false };

/** Sums of elements (2·row + a, 2·column + b) of lines of `pitch` elements, of which the buffer has so many in all. */
function sums(
  space: readonly [number, number],
  pitch: number,
  elements: number,
  taps: readonly (readonly [number, number])[],
) {
  const k = new KernelBuilder([...space]);
  const slot = k.input('f32', elements);
  const twice = (axis: number, more: number): Expr => k.op('add', k.op('mul', k.axis(axis), k.index(2)), k.index(more));
  const terms = taps.map(([a, b]) => k.at(slot, k.op('add', k.op('mul', twice(0, a), k.index(pitch)), twice(1, b))));
  k.output(terms.reduce((p, q) => k.op('add', p, q)));
  const recipe = kernelRecipe(k.done('sums'), target);
  const x = Float32Array.from({ length: elements }, (_, i) => ((i * 37) % 101) + 1);
  const out = new Float32Array(space[0] * space[1]).fill(Number.NaN);
  const buffers = [x, out].map((data, i) => ({ address: (i + 1) * 2 ** 33, data }));
  emulate(recipe, buffers, 'early', new Random(3));
  const wanted = out.map((_, i) => {
    const [row, column] = [Math.floor(i / space[1]), i % space[1]];
    return taps.reduce((sum, [a, b]) => sum + x[(2 * row + a) * pitch + 2 * column + b]!, 0);
  });
  return { right: out.every((v, i) => v === wanted[i]), loads: recipe.ptx.match(/ld\.global[^;]*/g) ?? [] };
}

const window = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
] as const;

describe('every other element', () => {
  it('of windows of 2 is read once, in vectors', () => {
    const { right, loads } = sums([16, 128], 256, 32 * 256, window);
    expect(right).toBe(true);
    expect(loads).toHaveLength(4);
    expect(loads.every((l) => l.startsWith('ld.global.nc.v4'))).toBe(true);
  });

  it('is read in narrower vectors where lines are not aligned to wide ones', () => {
    const { right, loads } = sums([8, 64], 130, 16 * 130, window);
    expect(right).toBe(true);
    expect(loads.map((l) => l.slice(0, 15))).toContain('ld.global.nc.v2');
    expect(loads.every((l) => /nc\.v[24]/.test(l))).toBe(true);
  });

  it.each([
    [128, 16 * 128, [[0, 0]]],
    // The one behind the last is outside: nothing is read along.
    [128, 15 * 128 - 1, [[0, 0]]],
    [128, 15 * 128, [[0, 1]]],
    [129, 16 * 129, window],
    [
      132,
      16 * 132,
      [
        [0, 0],
        [0, 1],
        [0, 2],
        [0, 3],
      ],
    ],
    [
      132,
      17 * 132,
      [
        [0, 1],
        [1, 2],
        [2, 0],
      ],
    ],
  ] as const)('is right in lines of %i, of %i elements in all, at %j', (pitch, elements, taps) => {
    expect(sums([8, 64], pitch, elements, taps).right).toBe(true);
  });
});
