// Random numbers: the published ones, the same on every device, and distributed as they should be.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { threefry } from '../../src/field/random.ts';
import type { Runtime } from '../../src/index.ts';
import { difference } from './compare.ts';
import { openRuntime, targets } from './devices.ts';
import type { HostArray, HostTensor } from './format.ts';

type Data = Float32Array | Uint32Array | Int32Array | Uint8Array;

const moments = (data: ArrayLike<number>): readonly [mean: number, variance: number] => {
  let sum = 0;
  for (let i = 0; i < data.length; i++) sum += data[i]!;
  const mean = sum / data.length;
  let square = 0;
  for (let i = 0; i < data.length; i++) square += (data[i]! - mean) ** 2;
  return [mean, square / data.length];
};

describe.each(targets)('random numbers on $name', (target) => {
  let rt: Runtime;
  let reference: Runtime;
  beforeAll(async () => {
    [rt, reference] = await Promise.all([
      openRuntime(target),
      openRuntime(targets.find((t) => t.name === 'reference') ?? target),
    ]);
  });
  afterAll(() => Promise.all([rt.close(), reference.close()]));

  it('are the published words of Threefry-2x32 with 20 rounds', async () => {
    // Random123's known answers for counter 0 and key 0.
    const words = rt.random.integers([1], { seed: 0, low: 0, high: 2 ** 32, dtype: 'u32' });
    expect((await words.data())[0]).toBe(0x6b200159);
  });

  const draw = async (
    r: Runtime,
    kind: 'uniform' | 'normal' | 'integers' | 'bernoulli',
    n: number,
  ): Promise<HostTensor> => {
    const made = {
      uniform: () => r.random.uniform([n], { seed: 42, low: -1, high: 3 }),
      normal: () => r.random.normal([n], { seed: 42 }),
      integers: () => r.random.integers([n], { seed: 42, low: -5, high: 12 }),
      bernoulli: () => r.random.bernoulli([n], { seed: 42, p: 0.3 }),
    }[kind]();
    const data = (await made.data()) as HostArray;
    const result = { dtype: made.dtype, shape: made.shape, data };
    made.dispose();
    return result;
  };

  it.each(['uniform', 'integers', 'bernoulli'] as const)(
    'of %s are those of the reference, bit for bit',
    async (kind) => {
      expect(
        difference(await draw(rt, kind, 500), await draw(reference, kind, 500), { ulp: 0, absolute: 0 }),
      ).toBeNull();
    },
  );

  it('of normal are those of the reference up to the rounding of its functions', async () => {
    const tolerance = { ulp: 8, absolute: 1e-6 };
    expect(difference(await draw(rt, 'normal', 500), await draw(reference, 'normal', 500), tolerance)).toBeNull();
  });

  it('of normal are Box and Muller’s transform of their words', async () => {
    const words = (seed: number, i: number) => threefry(seed, 0, i, 0);
    const got = (await draw(rt, 'normal', 4000)).data as Float32Array;
    let most = 0;
    got.forEach((v, i) => {
      const [x, y] = words(42, i);
      const [a, b] = [(x >>> 8) * 2 ** -24, (y >>> 8) * 2 ** -24];
      const right = Math.sqrt(-2 * Math.log(1 - a)) * Math.cos(2 * Math.PI * b);
      most = Math.max(most, Math.abs(v - right) / Math.max(1, Math.abs(right)));
    });
    expect(most).toBeLessThan(1e-6);
  });

  it('do not depend on how many are drawn', async () => {
    const [few, many] = [await draw(rt, 'uniform', 10), await draw(rt, 'uniform', 1000)];
    expect([...(many.data as Data).slice(0, 10)]).toEqual([...(few.data as Data)]);
  });

  it('stay below their upper end, in every dtype and for narrow ranges', async () => {
    const has = target.dtypes(rt);
    const ranges = [
      [0, 1],
      [1000, 1001],
      [-1, 0],
      [0.1, 0.3],
      [-3, 65000],
    ] as const;
    for (const dtype of ['f16', 'bf16', 'f32', 'f64'] as const) {
      if (!has.has(dtype)) continue;
      for (const [low, high] of ranges) {
        const data = await rt.random.uniform([4000], { seed: 3, low, high, dtype }).data();
        const off = Array.from(data as Float64Array).find((v) => !(v >= low && v < high));
        expect([dtype, low, high, off]).toEqual([dtype, low, high, undefined]);
      }
    }
    // A range that the dtype itself cannot hold.
    const wide = await rt.random.uniform([1000], { seed: 3, low: -3e38, high: 3e38 }).data();
    expect((wide as Float32Array).every((v) => Math.abs(v) <= 3e38)).toBe(true);
    expect(Math.abs(moments(wide as Float32Array)[0]) / 3e38).toBeLessThan(0.1);
  });

  it('of integers fill any range evenly, also one of 2³² and more', async () => {
    const has = target.dtypes(rt);
    for (const [dtype, low, high] of [
      ['u32', 0, 2 ** 32],
      ['i64', 0, 2 ** 32],
      ['u64', 0, 2 ** 32],
      ['i64', -5, 2 ** 40],
      ['u64', 0, 2 ** 53 - 1],
      // Three quarters of the words: a remainder would give the first quarter twice.
      ['u32', 0, 3 * 2 ** 30],
      ['i32', -(2 ** 31), 2 ** 30],
      ['i32', -7, 1_000_003],
    ] as const) {
      if (!has.has(dtype)) continue;
      const n = 4000;
      const data = Array.from(await rt.random.integers([n], { seed: 9, low, high, dtype }).data(), Number);
      expect(data.filter((v) => v < low || v >= high)).toEqual([]);
      const [mean, variance] = moments(data.map((v) => (v - low) / (high - low)));
      expect(Math.abs(mean - 0.5)).toBeLessThan(5 / Math.sqrt(12 * n));
      expect(Math.abs(variance - 1 / 12)).toBeLessThan(5 * Math.sqrt(1 / 180 / n));
    }
  });

  it('have the moments and the range of their distribution', async () => {
    const n = target.name === 'reference' ? 4000 : 40_000;
    // Five standard errors: a right generator with this seed is always inside, a wrong one hardly ever.
    const near = (got: number, want: number, sigma: number): void => {
      expect(Math.abs(got - want)).toBeLessThan((5 * sigma) / Math.sqrt(n));
    };
    const uniform = (await draw(rt, 'uniform', n)).data as Float32Array;
    near(moments(uniform)[0], 1, Math.sqrt(16 / 12));
    expect(uniform.every((v) => v >= -1 && v < 3)).toBe(true);
    const normal = (await draw(rt, 'normal', n)).data as Float32Array;
    near(moments(normal)[0], 0, 1);
    near(moments(normal)[1], 1, Math.SQRT2);
    const integers = (await draw(rt, 'integers', n)).data as Int32Array;
    near(moments(integers)[0], 3, Math.sqrt((17 ** 2 - 1) / 12));
    expect(new Set(integers).size).toBe(17);
    const heads = (await draw(rt, 'bernoulli', n)).data as Uint8Array;
    near(moments(heads)[0], 0.3, Math.sqrt(0.21));
  });
});
