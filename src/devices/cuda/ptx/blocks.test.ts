import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { Random } from '../../../../test/gpu/data.ts';
import { drawn } from '../../../../test/gpu/draws.ts';
import { emulate } from '../../../../test/gpu/emulate.ts';
import { sizeOf } from '../../../base/shape.ts';
import { createReferenceDevice } from '../../reference/device.ts';
import { kernelRecipe } from '../recipe.ts';
import type { Target } from './target.ts';

const tiny: Target = { sm: 90, ptx: 78, processors: 1, fastMath: false };

describe('stretches of a block', () => {
  it.each<[number[], number?]>([
    [[512]],
    [[128]],
    [[3, 256]],
    [[6, 64]],
    [[4, 2, 64]],
    [[500]],
    [[100]],
    [[3, 70]],
    // Rows in which vectors do not lie where they may.
    [[2, 67], 67],
    [[2, 2049], 2049],
    [[3, 2, 66], 66],
  ])('of %j end up where they belong, each once', (space, stretch = 64) => {
    const kernel = drawn(space, { stretch });
    const n = sizeOf(space);
    const data = Float32Array.from({ length: n }, (_, i) => Math.fround(Math.sin(i * 3.7)));
    const device = createReferenceDevice();
    const [x, y] = [device.allocate(4 * n), device.allocate(4 * n)];
    device.write(x, new Uint8Array(data.buffer));
    device.launch(device.prepare(kernel), [x, y], []);
    const want = new Float32Array(device.readSync!(y).slice().buffer);
    const got = new Float32Array(n).fill(Number.NaN);
    const places = [data, got].map((d, i) => ({ address: (i + 1) * 2 ** 33, data: d }));
    emulate(kernelRecipe(kernel, tiny), places, 'early', new Random(3));
    expect(got).toEqual(want);
  });

  it('are half as many threads: each makes a draw once', () => {
    const grid = (length: number): number => kernelRecipe(drawn([length]), tiny).launches[0]!.grid[0];
    expect(grid(1 << 20)).toBe((1 << 20) / 2 / 1024);
    expect(grid((1 << 20) + 4)).toBe(Math.ceil(((1 << 20) + 4) / 1024));
  });

  it.skipIf(!hasPtxas)('assemble, with positions of 64 bits too', () => {
    for (const space of [[1 << 20], [1 << 10, 64], [1 << 24, 256]])
      expect(assemble(kernelRecipe(drawn(space), tiny).ptx, tiny)).toBe('');
  });
});
