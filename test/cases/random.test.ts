// Random numbers: the published ones, the same on every device, and distributed as they should be.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { threefry } from '../../src/base/threefry.ts';
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

/** The share of a normal distribution that lies further from 0 than a number that is not negative: erfc(x / √2), to 1e-7. */
function beyond(x: number): number {
  const t = 1 / (1 + (0.3275911 * x) / Math.SQRT2);
  const poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return poly * Math.exp((-x * x) / 2);
}

/** Kolmogorov and Smirnov's distance between values and the distribution whose shares below a value are given. */
function furthest(values: Float32Array, below: (v: number) => number): number {
  const sorted = values.slice().sort();
  let most = 0;
  sorted.forEach((v, i) => {
    const share = below(v);
    most = Math.max(most, share - i / sorted.length, (i + 1) / sorted.length - share);
  });
  return most;
}

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

  it('are the words of Threefry-2x32 on the host', async () => {
    const seed = 0x85a308d3 * 2 ** 20 + 0x13198a2;
    for (const s of [0, 1, seed]) {
      const drawn = rt.random.integers([100], { seed: s, low: 0, high: 2 ** 32, dtype: 'u32' });
      const words = Array.from({ length: 100 }, (_, i) => threefry(s >>> 0, Math.floor(s / 2 ** 32), i, 0)[0]);
      expect(Array.from(await drawn.data())).toEqual(words);
      drawn.dispose();
    }
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

  it.each(['uniform', 'normal', 'integers', 'bernoulli'] as const)(
    'of %s are those of the reference, bit for bit',
    async (kind) => {
      // Whole blocks of draws, and a part of one.
      for (const n of [512, 500, 77, 192, 240]) {
        expect(difference(await draw(rt, kind, n), await draw(reference, kind, n), { ulp: 0, absolute: 0 })).toBeNull();
      }
    },
  );

  /** The words of the draw that element i shares with the one 64 places on or back, and whether it is the first of the two. */
  const drawOf = (seed: number, i: number): readonly [x: number, y: number, first: boolean] => {
    const [x, y] = threefry(seed, 0, Math.floor(i / 128) * 64 + (i % 64), 0);
    return [x, y, i % 128 < 64];
  };

  it('of normal are Box and Muller’s transform of their words, both results of it', async () => {
    const got = (await draw(rt, 'normal', 4000)).data as Float32Array;
    let most = 0;
    got.forEach((v, i) => {
      const [x, y, first] = drawOf(42, i);
      const radius = Math.sqrt(-2 * Math.log(((x >>> 8) + 1) * 2 ** -24)) * (y >>> 31 ? -1 : 1);
      const angle = Math.PI * ((y & 0x7fffff) * 2 ** -23 - 0.5);
      const right = radius * (first ? Math.cos(angle) : Math.sin(angle));
      most = Math.max(most, Math.abs(v - right) / Math.max(1, Math.abs(right)));
    });
    expect(most).toBeLessThan(1e-6);
  });

  it('of uniform are the words of the same draws', async () => {
    const got = (await draw(rt, 'uniform', 1000)).data as Float32Array;
    got.forEach((v, i) => {
      const [x, y, first] = drawOf(42, i);
      expect(v).toBe(Math.fround(Math.fround(((first ? x : y) >>> 8) * 2 ** -24 * 4) - 1));
    });
  });

  it('are the same in any shape, and where something is computed of them', async () => {
    const flat = (await draw(rt, 'normal', 1280)).data as Float32Array;
    for (const shape of [
      [10, 128],
      [5, 256],
      [2, 5, 128],
      [20, 64],
      [80, 16],
    ]) {
      const made = rt.random.normal(shape, { seed: 42 });
      expect((await made.data()) as Float32Array).toEqual(flat);
      const more = rt.random.normal(shape, { seed: 42 }).mul(2).add(rt.zeros(shape));
      expect((await more.data()) as Float32Array).toEqual(flat.map((v) => v * 2));
      for (const t of [made, more]) t.dispose();
    }
    const sum = rt.random.normal([1280], { seed: 42 }).max();
    expect((await sum.data())[0]).toBe(Math.max(...flat));
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

  it('are the upper word of a draw of 64 bits times the range', async () => {
    if (!target.dtypes(rt).has('u64')) return;
    const draw = async (high: number, dtype: 'u32' | 'u64'): Promise<bigint[]> =>
      Array.from(await rt.random.integers([300], { seed: 5, high, dtype }).data(), BigInt);
    const [first, both] = [await draw(2 ** 32, 'u32'), await draw(2 ** 52, 'u64')];
    for (const n of [1, 2, 3, 100, 2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 2 ** 32 - 1]) {
      const want = first.map((x, i) => (((x << 32n) | BigInt.asUintN(32, both[i]!)) * BigInt(n)) >> 64n);
      expect(await draw(n, 'u32')).toEqual(want);
    }
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
    near(moments(normal.map((v) => v ** 3))[0], 0, Math.sqrt(15));
    near(moments(normal.map((v) => v ** 4))[0], 3, Math.sqrt(96));
    for (const limit of [1, 2, 3]) {
      const share = beyond(limit);
      near(normal.filter((v) => Math.abs(v) > limit).length / n, share, Math.sqrt(share * (1 - share)));
    }
    expect(furthest(normal, (v) => (v < 0 ? beyond(-v) / 2 : 1 - beyond(v) / 2)) * Math.sqrt(n)).toBeLessThan(2);
    // Neighbours, and the two results of a draw: neither they nor their squares know of each other.
    for (const apart of [1, 2, 64, 128]) {
      const pairs = n - apart;
      let [plain, squares] = [0, 0];
      for (let i = 0; i < pairs; i++) {
        plain += normal[i]! * normal[i + apart]!;
        squares += (normal[i]! ** 2 - 1) * (normal[i + apart]! ** 2 - 1);
      }
      near(plain / pairs, 0, 1);
      near(squares / pairs, 0, 2);
    }
    const integers = (await draw(rt, 'integers', n)).data as Int32Array;
    near(moments(integers)[0], 3, Math.sqrt((17 ** 2 - 1) / 12));
    expect(new Set(integers).size).toBe(17);
    const heads = (await draw(rt, 'bernoulli', n)).data as Uint8Array;
    near(moments(heads)[0], 0.3, Math.sqrt(0.21));
  });
});
