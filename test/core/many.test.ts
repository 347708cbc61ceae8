// Ops on more tensors than one kernel can bind.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, type Runtime, type RuntimeOptions, type Tensor } from '../../src/index.ts';
import { needsWebGpu, noWebGpu } from '../support/webgpu.ts';

const runtimes: readonly [string, RuntimeOptions, readonly (readonly [number, number])[]][] = [
  ['cpu', { devices: ['cpu'], cpu: { threads: 1 } }, [[64, 100_000]]],
  ['webgpu', { devices: ['webgpu'] }, [[64, 100_000]]],
  ['reference', { devices: ['reference'] }, []],
];

const value = (k: number, i: number): number => (7 * k + i) % 1009;

describe.each(runtimes)('%s', (name, options, more) => {
  let rt: Runtime;
  if (name === 'webgpu') needsWebGpu();
  beforeAll(async () => {
    if (name === 'webgpu' && noWebGpu) return;
    rt = await createRuntime(options);
  });
  afterAll(() => rt?.close());

  const parts = (sizes: readonly number[]): Tensor[] =>
    sizes.map((n, k) => {
      const data = new Float32Array(n);
      for (let i = 0; i < n; i++) data[i] = value(k, i);
      return rt.tensor(data);
    });
  const expectParts = (got: unknown, sizes: readonly number[]): void => {
    let [at, wrong] = [0, 0];
    sizes.forEach((n, k) => {
      for (let i = 0; i < n; i++) if ((got as Float32Array)[at++] !== value(k, i)) wrong++;
    });
    expect(wrong).toBe(0);
    expect(got).toHaveLength(at);
  };
  const cases: readonly (readonly [number, number])[] = [[10, 1], [64, 1], [300, 1], [100, 200], ...more];

  it.each(cases)('stacks %i tensors of %i elements', async (count, n) => {
    const sizes = new Array<number>(count).fill(n);
    const stacked = rt.stack(parts(sizes));
    expect(stacked.shape).toEqual([count, n]);
    expectParts(await stacked.data(), sizes);
  });

  it('joins pieces of many sizes, some of them empty or still to be computed', async () => {
    const sizes = Array.from({ length: 90 }, (_, k) => (k * k) % 13);
    const list = parts(sizes).map((t, k) => (k % 3 === 0 ? t.mul(2).sub(t) : t));
    expectParts(await rt.concat(list).data(), sizes);
  });

  it('joins many tensors along the last axis, and goes on with the result', async () => {
    const list = Array.from({ length: 70 }, (_, k) => rt.tensor(Float32Array.of(k, k + 100)).reshape([2, 1]));
    const sums = rt.concat(list, 1).add(1).sum({ axis: 1 });
    expect(Array.from((await sums.data()) as Float32Array)).toEqual([2485, 9485]);
  });
});
