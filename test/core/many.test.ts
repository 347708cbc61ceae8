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

describe('many large parts on the CPU', () => {
  let rt: Runtime;
  beforeAll(async () => {
    rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 2 } });
  });
  afterAll(() => rt.close());

  const rows = Array.from({ length: 40 }, (_, k) => 30 + ((k * k) % 17));
  const columns = 129;
  const part = (k: number, dtype: 'u8' | 'f16' | 'f32' | 'f64'): Tensor =>
    rt
      .arange(rows[k]! * columns)
      .mod(251 - k)
      .cast(dtype)
      .reshape([rows[k]!, columns])
      .compute();
  const right = rows.flatMap((n, k) => Array.from({ length: n * columns }, (_, i) => i % (251 - k)));

  it.each(['u8', 'f16', 'f32', 'f64'] as const)('are joined along the first axis: %s', async (dtype) => {
    const list = rows.map((_, k) => part(k, dtype));
    expect(Array.from((await rt.concat(list).data()) as Float32Array)).toEqual(right);
  });

  it('are joined along with what comes before and after', async () => {
    const list = rows.map((_, k) => (k % 3 === 0 ? part(k, 'f32').add(2).sub(2) : part(k, 'f32')));
    const scaled = rt.concat(list).mul(3).add(0.25);
    expect(Array.from((await scaled.data()) as Float32Array)).toEqual(right.map((v) => 3 * v + 0.25));
  });

  it('are padded and joined along the last axis', async () => {
    const list = rows.map((_, k) => rt.full([100, 5 + (k % 3)], k));
    const wide = rt.concat(list, 1).pad([
      [1, 1],
      [0, 0],
    ]);
    const line = rows.flatMap((_, k) => new Array<number>(5 + (k % 3)).fill(k));
    const zeros = line.map(() => 0);
    const got = Array.from((await wide.data()) as Float32Array);
    expect(got).toEqual([...zeros, ...new Array(100).fill(line).flat(), ...zeros]);
  });
});
