// Dtypes that WebGPU cannot hold: refused where it is the only device, done by another where there is one.

import { expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import { needsWebGpu } from '../support/webgpu.ts';

needsWebGpu();

/** 2⁵³ + 1: no f64, and no 32-bit type, can hold it. */
const odd = 2n ** 53n + 1n;

it.each(['f64', 'i64', 'u64'] as const)(
  '%s runs on the CPU beside a GPU that has none, results of the GPU included',
  async (dtype) => {
    await using rt = await createRuntime({ devices: ['webgpu', 'cpu'], routing: { cache: false } });
    const where = new Set<string>();
    rt.on('launch', (e) => where.add(e.device));
    const half = await rt.tensor([0.5, 1.5], [2], { device: 'webgpu' }).to('webgpu');
    const onGpu = rt.scope({ device: 'webgpu' }, () => half.mul(2).compute());
    expect([...where]).toEqual(['webgpu:0']);
    where.clear();
    const big =
      dtype === 'f64'
        ? rt.tensor([1e300, 1], [2], { dtype })
        : rt.tensor(dtype === 'i64' ? new BigInt64Array([odd, 1n]) : new BigUint64Array([odd, 1n]));
    const sum = big.add(onGpu.cast(dtype));
    expect(sum.dtype).toBe(dtype);
    expect(rt.explain(sum).device).toBe('cpu');
    expect([...(await sum.data())]).toEqual(dtype === 'f64' ? [1e300, 4] : [odd + 1n, 4n]);
    expect([...where]).toEqual(['cpu']);
  },
);

it('a runtime on WebGPU alone says what is missing, and how to have it', async () => {
  await using rt = await createRuntime({ devices: ['webgpu'] });
  expect(() => rt.tensor([1], [1], { dtype: 'f64' })).toThrow(/f64/);
  await expect(async () => rt.ones([2]).cast('f64').data()).rejects.toThrow(/f64/);
  expect([...(await rt.ones([2]).data())]).toEqual([1, 1]);
});

it('counts bools there, and says of integers which op needs what it has not', async () => {
  await using rt = await createRuntime({ devices: ['webgpu'] });
  const mask = rt.tensor([1, 5, 3]).greater(2);
  expect([...(await mask.sum().data())]).toEqual([2]);
  expect((await mask.mean().data())[0]).toBeCloseTo(2 / 3, 6);
  const whole = rt.arange(5);
  await expect(whole.div(5).data()).rejects.toThrow(/div makes f64 of i32[\s\S]*x\.cast\('f32'\)\.div/);
  await expect(whole.mean().data()).rejects.toThrow(/mean makes f64 of i32[\s\S]*x\.cast\('f32'\)\.mean/);
  await expect(whole.sum().data()).rejects.toThrow(/sum makes i64 of i32[\s\S]*sum\(\{ dtype: 'i32' \}\)/);
  expect([...(await whole.sum({ dtype: 'i32' }).data())]).toEqual([10]);
  expect([...(await whole.cast('f32').div(5).mul(5).round().data())]).toEqual([0, 1, 2, 3, 4]);
});

it('names operands of two dtypes whose common one it has not, and the op as it is called', async () => {
  await using rt = await createRuntime({ devices: ['webgpu'] });
  const [whole, half] = [rt.arange(4), rt.tensor([0.5, 1, 2, 3])];
  const fix = /fix: Cast the operands to one dtype that the device has/;
  for (const [made, said] of [
    [whole.add(half), 'add of i32 and f32 takes f64'],
    [half.greater(whole), 'a comparison of i32 and f32 takes f64'],
    [whole.equal(half.unsqueeze(1)), 'equal of i32 and f32 takes f64'],
    [whole.reshape([1, 4]).matmul(half), 'matmul of i32 and f32 takes f64'],
    [whole.maximum(whole.cast('u32')), 'maximum of i32 and u32 takes i64'],
    [rt.where(half.greater(1), whole, half), 'where of i32 and f32 takes f64'],
  ] as const) {
    await expect(made.data()).rejects.toThrow(said);
    await expect(made.data()).rejects.toThrow(fix);
  }
});

it('names them also where an operand was computed before, and no longer knows from what', async () => {
  await using rt = await createRuntime({ devices: ['webgpu'] });
  const total = rt.tensor([1, 2, 3]).sum({ keepdims: true });
  expect([...(await total.data())]).toEqual([6]);
  await expect(rt.arange(4).lessEqual(total).data()).rejects.toThrow('a comparison of i32 and f32 takes f64');
  await expect(
    rt
      .arange(4)
      .add(total.expand([4]))
      .data(),
  ).rejects.toThrow('add of i32 and f32 takes f64');
});
