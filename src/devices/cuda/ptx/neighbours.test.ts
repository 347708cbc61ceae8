import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import { Random } from '../../../../test/gpu/data.ts';
import { emulate } from '../../../../test/gpu/emulate.ts';
import { manySums, stencil } from '../../../../test/gpu/stencils.ts';
import { sizeOf } from '../../../base/shape.ts';
import { alone } from '../../../kernel/together.ts';
import { kernelRecipe } from '../recipe.ts';
import { neighboursOf } from './neighbours.ts';
import { planReduction } from './plan.ts';
import type { Target } from './target.ts';
import { tileOf } from './tiles.ts';

const hopper: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };
const tiny: Target = { ...hopper, processors: 1 };

describe('neighbours that a thread computes together', () => {
  it('are four cells in each of two rows of two planes of a stencil, or fewer, if enough threads are left', () => {
    const [plane, row] = [64 * 64 * 32, 64 * 32];
    expect(neighboursOf(stencil([64, 64, 64, 32], []), hopper)).toMatchObject({
      count: 16,
      // Those along outer axes first.
      offsets: [0, 32, 64, 96].flatMap((cell) => [0, plane, row, plane + row].map((o) => o + cell)),
    });
    expect(neighboursOf(stencil([33, 32, 32, 64], []), hopper)).toMatchObject({ count: 8 });
    // Of what the cache holds, in four planes.
    expect(neighboursOf(stencil([32, 32, 32, 64], []), hopper)).toMatchObject({ count: 32 });
    expect(neighboursOf(stencil([32, 32, 24, 64], []), hopper)).toMatchObject({ count: 4, offsets: [0, 64, 128, 192] });
    expect(neighboursOf(stencil([16, 16, 16, 64], []), hopper)).toBeNull();
  });

  it('of a reduced stencil are eight cells in each of two rows where a thread has a vector of each, or fewer', () => {
    for (const columns of [32, 128])
      expect(neighboursOf(stencil([64, 64, 64], [columns]), hopper)).toMatchObject({
        count: 16,
        offsets: [0, 1, 2, 3, 4, 5, 6, 7].flatMap((cell) => [cell, 64 + cell]),
      });
    // Edges that only two divides, but one that four does.
    expect(neighboursOf(stencil([62, 62, 60], [128]), hopper)).toMatchObject({
      count: 8,
      offsets: [0, 60, 1, 61, 2, 62, 3, 63],
    });
    for (const columns of [24, 256])
      expect(neighboursOf(stencil([64, 64, 64], [columns]), hopper)).toMatchObject({ count: 4 });
    expect(neighboursOf(stencil([32, 32, 32], [32]), hopper)).toMatchObject({ count: 4 });
  });

  it('of a reduced stencil have long vectors and short blocks where enough threads are left', () => {
    const planOf = (space: number[], columns: number) => {
      const near = neighboursOf(stencil(space, [columns]), hopper)!;
      return planReduction(near.kernel, hopper, near.count);
    };
    expect(planOf([32, 32, 32], 64)).toMatchObject({ vector: 4, group: 16, threads: 128 });
    expect(planOf([62, 62, 60], 128)).toMatchObject({ vector: 4, group: 32, threads: 256 });
  });

  it('are rows of many accumulators, which then exchange fewer of them', () => {
    expect(neighboursOf(manySums([1 << 16], 64, 6), hopper)).toMatchObject({ count: 4, offsets: [0, 1, 2, 3] });
    expect(neighboursOf(manySums([1 << 16], 64, 3), hopper)).toBeNull();
    expect(neighboursOf(manySums([1 << 16], 64, 9), hopper)).toBeNull();
    expect(neighboursOf(manySums([1 << 12], 64, 6), hopper)).toBeNull();
    expect(neighboursOf(manySums([(1 << 16) + 2], 64, 6), hopper)).toBeNull();
  });

  it('are not the lanes of a vector, and none where they have little in common', () => {
    // The last axis is the lanes'; the others have 3 cells, which no count divides.
    expect(neighboursOf(stencil([3, 3, 1 << 16], []), tiny)).toBeNull();
    const k = new KernelBuilder([1 << 10, 64]);
    let sum = k.whole('f32');
    for (let i = 0; i < 12; i++) sum = k.op('add', sum, k.whole('f32'));
    k.output(sum);
    expect(neighboursOf(k.done('sum'), tiny)).toBeNull();
  });

  it('lie in boxes of the grid, which read less beyond themselves than rows do', () => {
    const of = (space: number[], reduced: number[] = []) => neighboursOf(stencil(space, reduced), hopper)!;
    const wish = { threads: 256, vector: 4, lanes: 8 };
    // Four cells along the third axis are one thread's.
    expect(tileOf(of([32, 32, 32, 64]), { ...wish, vector: 1, lanes: 32 })).toEqual([1, 4, 2, 32]);
    expect(tileOf(of([64, 64, 64], [32]), { threads: 16, vector: 1, lanes: 1 })).toEqual([4, 4, 1]);
    // Layers of boxes are thin where the planes between them would not stay in the device's cache.
    expect(tileOf(of([256, 128, 128, 64]), wish)![0]).toBeLessThanOrEqual(2);
    // Axes that no power of two divides stay as they are.
    expect(tileOf(of([27, 25, 36, 64]), wish)).toBeNull();
    expect(tileOf(alone(stencil([32, 32, 32, 64], [])), wish)).toBeNull();
  });

  it.each([[[4, 8, 16, 16]], [[8, 8, 16, 32]], [[1, 16, 8, 64]], [[6, 4, 14, 32]], [[8, 4, 6, 66]], [[5, 12, 7, 60]]])(
    'of %j end up where they belong, each once',
    (space) => {
      const kernel = stencil(space, []);
      const near = neighboursOf(kernel, tiny);
      expect(near).not.toBeNull();
      const n = sizeOf(space);
      const data = Float32Array.from({ length: n }, (_, i) => Math.fround(Math.sin(i * 3.7)));
      const buffers = [data, new Float32Array(n).fill(Number.NaN), new Float32Array(n).fill(Number.NaN)];
      const places = buffers.map((d, i) => ({ address: (i + 1) * 2 ** 33, data: d }));
      emulate(kernelRecipe(kernel, tiny), places, 'early', new Random(3));
      const [d, h, w, c] = space as [number, number, number, number];
      const f = Math.fround;
      const at = (x: number, y: number, z: number, ch: number): number =>
        data[((((x + d) % d) * h + ((y + h) % h)) * w + ((z + w) % w)) * c + ch]!;
      for (let i = 0; i < n; i++) {
        const [ch, z, y, x] = [i % c, Math.floor(i / c) % w, Math.floor(i / (c * w)) % h, Math.floor(i / (c * w * h))];
        const add = (list: number[]): number => list.reduce((a, b) => f(a + b));
        const sides = [-1, 0, 1];
        const want = add(sides.map((l) => add(sides.map((j) => add(sides.map((s) => at(x + s, y + j, z + l, ch)))))));
        expect(buffers[1]![i], `sum at ${[x, y, z, ch]}`).toBe(want);
        expect(buffers[2]![i], `slope at ${[x, y, z, ch]}`).toBe(f(at(x, y, z + 1, ch) - at(x, y, z - 1, ch)));
      }
    },
  );

  it.skipIf(!hasPtxas)('assemble, with positions of 64 bits too', () => {
    for (const [space, reduced] of [
      [[64, 64, 64, 32], []],
      [[64, 64, 64], [32]],
      [[1024, 1024, 512, 4], []],
    ] as const)
      expect(assemble(kernelRecipe(stencil(space, reduced), hopper).ptx, hopper)).toBe('');
  });
});
