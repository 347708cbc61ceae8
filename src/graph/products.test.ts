import { describe, expect, it } from 'vitest';
import { values } from '../../bench/compute/setup.ts';
import { createRuntime, type Tensor } from '../index.ts';

const open = () => createRuntime({ devices: ['reference'] });
const matrix = (rt: Awaited<ReturnType<typeof open>>, m: number, n: number, seed: number): Tensor =>
  rt.tensor(values(m * n, seed), [m, n]) as Tensor;

describe('small products of one shape', () => {
  it('become one launch, with the bits that each has alone', async () => {
    await using rt = await open();
    const pairs = [1, 2, 3, 4].map((i) => [matrix(rt, 5, 7, i), matrix(rt, 7, 3, 10 + i)] as const);
    const all = rt.compile((...t: readonly Tensor[]) => [0, 2, 4, 6].map((i) => t[i]!.matmul(t[i + 1]!)));
    const got = all(...pairs.flat());
    expect(all.kernels).toEqual(['matmul_4of_f32_5x7x3']);
    for (const [i, [a, b]] of pairs.entries()) expect(await got[i]!.data()).toEqual(await a.matmul(b).data());
  });

  it('also where they share an operand, or are transposed alike', async () => {
    await using rt = await open();
    const [x, y, z] = [matrix(rt, 4, 6, 1), matrix(rt, 4, 6, 2), matrix(rt, 4, 5, 3)];
    const all = rt.compile((a: Tensor, b: Tensor, c: Tensor) => [a.transpose().matmul(c), b.transpose().matmul(c)]);
    const got = all(x, y, z);
    expect(all.kernels).toHaveLength(1);
    expect(await got[1]!.data()).toEqual(await y.transpose().matmul(z).data());
  });

  it('stay apart where one needs another, shapes differ, or something follows', async () => {
    await using rt = await open();
    const [a, b, c] = [matrix(rt, 4, 4, 1), matrix(rt, 4, 4, 2), matrix(rt, 4, 5, 3)];
    const chain = rt.compile((x: Tensor, y: Tensor) => x.matmul(y).matmul(y));
    const value = await chain(a, b).data();
    expect(chain.kernels).toHaveLength(2);
    expect(value).toEqual(await a.matmul(b).matmul(b).data());
    const shapes = rt.compile((x: Tensor, y: Tensor, z: Tensor) => [x.matmul(y), x.matmul(z)]);
    shapes(a, b, c);
    expect(shapes.kernels).toHaveLength(2);
    const twice = rt.compile((x: Tensor, y: Tensor) => [x.matmul(y), y.matmul(x), x.matmul(x).matmul(y)]);
    const got = twice(a, b);
    expect(await got[2]!.data()).toEqual(await a.matmul(a).matmul(b).data());
    expect(await got[1]!.data()).toEqual(await b.matmul(a).data());
  });

  it('are at most as many as a launch has buffers for, and none that is large', async () => {
    await using rt = await open();
    const { maxBuffers } = rt.device('reference').caps;
    const most = Math.floor(maxBuffers / 3);
    const few = Math.min(most, 50);
    const list = Array.from({ length: few }, (_, i) => matrix(rt, 2, 2, i));
    const all = rt.compile((...t: readonly Tensor[]) => t.map((x) => x.matmul(x)));
    const got = all(...list);
    expect(all.kernels).toHaveLength(1);
    expect(await got.at(-1)!.data()).toEqual(await list.at(-1)!.matmul(list.at(-1)!).data());
  });

  it('of nothing stay what they are', async () => {
    await using rt = await open();
    const [a, b] = [rt.zeros([3, 0]), rt.zeros([0, 2])];
    const all = rt.compile((x: Tensor, y: Tensor) => [x.matmul(y), x.add(1).matmul(y)]);
    for (const t of all(a, b))
      expect(await t.array()).toEqual([
        [0, 0],
        [0, 0],
        [0, 0],
      ]);
  });
});
