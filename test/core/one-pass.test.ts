// Variances of what no device keeps on the chip, as CUDA would compute them: in the pass that computes the mean.

import { afterAll, describe, expect, it } from 'vitest';
import { openCudaPlans } from '../devices/cuda-plans.ts';

const rt = await openCudaPlans();
afterAll(() => rt.close());

const noise = (i: number): number => Math.sin(i * i * 0.7 + 1);

/** By the definition, in f64, from what f32 holds. */
function varianceOf(values: ArrayLike<number>): number {
  const x = Float64Array.from(values, Math.fround);
  const mean = x.reduce((sum, v) => sum + v, 0) / x.length;
  return x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / x.length;
}

const n = 60_000;

describe('a variance of long rows', () => {
  it('is one launch', () => {
    expect(rt.explain(rt.zeros([n]).add(1).std()).kernels).toHaveLength(1);
    const x = rt.tensor(new Float32Array(n));
    expect(rt.explain(x.std()).kernels).toHaveLength(1);
    expect(rt.explain(x.reshape([100, 600]).var()).kernels).toHaveLength(1);
    expect(rt.explain(x.reshape([10_000, 6]).var({ axis: 0 })).kernels).toHaveLength(1);
  });

  it.each([
    ['around zero', 0, 1, 1e-6],
    ['far from zero', 1000, 1, 1e-5],
    ['whose mean f32 hardly tells from its neighbours', 1e5, 0.5, 1e-3],
    ['small', 1e-14, 1e-15, 1e-5],
  ])('is right for values %s', async (_, middle, width, error) => {
    const data = Float32Array.from({ length: n }, (_, i) => middle + width * noise(i));
    const want = varianceOf(data);
    const got = Number((await rt.tensor(data).var().data())[0]);
    expect(Math.abs(got - want)).toBeLessThanOrEqual(error * want);
  });

  it('begins with the first value, which may be the only one far away', async () => {
    const data = Float32Array.from({ length: n }, (_, i) => (i === 0 ? 0 : 4096 + noise(i)));
    const want = varianceOf(data);
    expect(Math.abs(Number((await rt.tensor(data).var().data())[0]) - want)).toBeLessThan(1e-5 * want);
  });

  it('of one value everywhere is zero, of none that is a number is none', async () => {
    expect(await rt.full([n], 0.75).compute().std().data()).toEqual(Float32Array.of(0));
    const data = new Float32Array(n).fill(2);
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY]) {
      data[n - 5] = odd;
      expect(await rt.tensor(data).var().data()).toEqual(Float32Array.of(Number.NaN));
    }
  });

  it('along axes, of narrow types, with a mean that something else reads', async () => {
    const data = Float32Array.from({ length: n }, (_, i) => 3 + noise(i));
    const table = rt.tensor(data, [10_000, 6]);
    const columns = await table.var({ axis: 0, ddof: 1 }).data();
    for (let c = 0; c < 6; c++) {
      const want = varianceOf(data.filter((_, i) => i % 6 === c)) * (10_000 / 9999);
      expect(Math.abs(Number(columns[c]) - want)).toBeLessThan(1e-5 * want);
    }
    const half = rt.tensor(data).cast('bf16');
    const rounded = (await half.cast('f32').data()) as Float32Array;
    expect(Number((await half.cast('f32').var().data())[0])).toBeCloseTo(varianceOf(rounded), 5);
    const x = rt.tensor(data);
    const mean = x.mean();
    const score = x.sub(mean).div(x.std());
    const middle = data.reduce((sum, v) => sum + v, 0) / n;
    const want = (data[7]! - middle) / Math.sqrt(varianceOf(data));
    expect(Number((await score.data())[7])).toBeCloseTo(want, 4);
  });

  it('whose sum is divided by something else is that sum', async () => {
    const data = Float32Array.from({ length: n }, (_, i) => 3 + noise(i));
    const x = rt.tensor(data);
    for (const by of [n, n / 2]) {
      const d = x.sub(x.sum({ keepdims: true }).div(by));
      const middle = data.reduce((sum, v) => sum + v, 0) / by;
      const want = data.reduce((sum, v) => sum + (v - middle) ** 2, 0);
      expect(Number((await d.mul(d).sum().data())[0]) / want).toBeCloseTo(1, 4);
    }
  });
});
