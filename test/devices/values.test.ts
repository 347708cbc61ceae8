// Programs whose values were wrong on some device, on all that run here; expectations are NumPy's.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { openCudaPlans } from './cuda-plans.ts';

interface Row {
  readonly name: string;
  readonly make: (rt: Runtime) => Tensor;
  readonly want: readonly (number | bigint)[];
  /** Left out here, with the reason. */
  readonly not?: Readonly<Partial<Record<keyof typeof devices, string>>>;
}

const devices = {
  cpu: () => createRuntime({ devices: ['cpu'] }),
  'cpu, one thread': () => createRuntime({ devices: ['cpu'], cpu: { threads: 1, tinyElements: 0 } }),
  reference: () => createRuntime({ devices: ['reference'] }),
  'cuda plans': openCudaPlans,
};

const bools = (rt: Runtime, ...values: readonly number[]): Tensor => rt.tensor(values).cast('bool');
const tooSlow = { reference: 'one element at a time', 'cuda plans': 'one element at a time' };

const rows: readonly Row[] = [
  // Bools in sums and products.
  {
    name: 'outer product of bools',
    make: (rt) => rt.einsum('i,j', bools(rt, 1, 0), bools(rt, 1, 1)),
    want: [1, 1, 0, 0],
  },
  {
    name: 'product of bools',
    make: (rt) => rt.einsum('i,i->i', bools(rt, 1, 0, 1), bools(rt, 1, 1, 1)),
    want: [1, 0, 1],
  },
  { name: 'sum of bools', make: (rt) => rt.einsum('ij->i', bools(rt, 0, 0, 1, 0).reshape([2, 2])), want: [0, 1] },
  { name: 'trace of bools', make: (rt) => rt.einsum('ii', bools(rt, 0, 1, 1, 0).reshape([2, 2])), want: [0] },
  {
    name: 'matrix product of bools',
    make: (rt) =>
      bools(rt, 1, 0, 1, 1)
        .reshape([2, 2])
        .matmul(bools(rt, 1, 0).reshape([2, 1])),
    want: [1, 1],
  },
  {
    name: 'pooled bools',
    make: (rt) => bools(rt, 1, 0, 0, 0, 0, 0, 0, 1).reshape([1, 1, 2, 4]).maxPool([2, 2]),
    want: [1, 1],
  },
  {
    name: 'a function of pooled bools',
    make: (rt) => bools(rt, 1, 0, 0, 0, 0, 0, 0, 0).reshape([1, 1, 2, 4]).maxPool([2, 2]).expm1(),
    want: [Math.fround(Math.E - 1), 0],
  },
  {
    name: 'a function of an outer product of bools',
    make: (rt) => rt.einsum('i,j', bools(rt, 1, 0), bools(rt, 1)).exp(),
    want: [Math.fround(Math.E), 1],
  },
  // Rounding.
  {
    name: 'a product that is rounded before it is compared',
    make: (rt) => rt.tensor([0.1]).mul(3).less(0.3),
    want: [0],
  },
  { name: 'softmax far from zero', make: (rt) => rt.tensor([3e38, -1e38]).div(1e8).softmax(), want: [1, 0] },
  {
    name: 'i64 to f32',
    make: (rt) =>
      rt
        .tensor(BigInt64Array.of(2n ** 60n + 2n ** 36n + 1n))
        .expand([5000])
        .add(0n)
        .cast('f32')
        .max(),
    want: [Number(2n ** 60n + 2n ** 37n)],
  },
  {
    name: 'u64 to f32',
    make: (rt) =>
      rt
        .tensor(BigUint64Array.of(2n ** 63n + 2n ** 39n + 1n))
        .expand([5000])
        .add(0n)
        .cast('f32')
        .max(),
    want: [Number(2n ** 63n + 2n ** 40n)],
  },
  {
    name: 'i64 to bf16',
    make: (rt) =>
      rt
        .tensor(BigInt64Array.of(-(2n ** 60n) - 2n ** 52n - 1n))
        .expand([5000])
        .add(0n)
        .cast('bf16')
        .max(),
    want: [-Number(2n ** 60n + 2n ** 53n)],
  },
  {
    name: 'a sum of halves in an einsum',
    make: (rt) => rt.einsum('i,j->j', rt.full([2000], 0.1, { dtype: 'bf16' }), rt.ones([2], { dtype: 'bf16' })),
    want: [200, 200],
  },
  {
    name: 'floor division of f32',
    make: (rt) => rt.tensor([-(2 ** 31), -7, 7, -6]).floorDivide(rt.tensor([237, 2, -2, 3])),
    want: [-9061113, -4, -4, -2],
  },
  {
    name: 'floor division of f16',
    make: (rt) =>
      rt
        .tensor([-1388])
        .cast('f16')
        .floorDivide(rt.tensor([1.75]).cast('f16')),
    want: [-794],
  },
  { name: 'NaN as a scalar of bools', make: (rt) => rt.full([2], Number.NaN, { dtype: 'bool' }), want: [1, 1] },
  {
    name: 'NaN in a logical op of halves',
    make: (rt) =>
      rt
        .tensor([Number.NaN, 0, 1])
        .cast('f16')
        .logicalOr(rt.tensor([0, 0, 0]).cast('f16')),
    want: [1, 0, 1],
  },
  // Long sums.
  {
    name: 'a long dot product',
    make: (rt) => rt.ones([2 ** 25]).dot(rt.ones([2 ** 25])),
    want: [2 ** 25],
    not: tooSlow,
  },
  {
    name: 'a product with few rows and much depth',
    make: (rt) =>
      rt
        .ones([1, 2 ** 20])
        .mul(0.1)
        .matmul(rt.ones([2 ** 20, 20]))
        .sub(Math.fround(0.1) * 2 ** 20)
        .abs()
        .lessEqual(1)
        .all(),
    want: [1],
    not: tooSlow,
  },
  // Positions beyond 32 bits.
  { name: 'the mean of 2^32 ones', make: (rt) => rt.ones([2 ** 32]).mean(), want: [1], not: tooSlow },
  {
    name: 'the sum of 2^32 + 5 ones',
    make: (rt) => rt.ones([2 ** 32 + 5], { dtype: 'i64' }).sum(),
    want: [2n ** 32n + 5n],
    not: tooSlow,
  },
  {
    name: 'the largest of more positions than a prime',
    make: (rt) => rt.iota([2 ** 31 + 11], 0, { dtype: 'f64' }).max(),
    want: [2 ** 31 + 10],
    not: tooSlow,
  },
  { name: 'the trace of a matrix of 2^32 elements', make: (rt) => rt.eye(65537).trace(), want: [65537] },
  {
    name: 'one of 2^31 + 2 positions',
    make: (rt) => rt.iota([2 ** 31 + 2], 0, { dtype: 'i64' }).gather([5, -1], 0),
    want: [5n, 2n ** 31n + 1n],
  },
  {
    name: 'positions beyond 2^33 as values',
    make: (rt) =>
      rt
        .iota([2 ** 33 + 7], 0, { dtype: 'i64' })
        .slice([[2 ** 33 - 5000, 2 ** 33 + 7]])
        .max(),
    want: [2n ** 33n + 6n],
  },
  // Loads behind gates.
  {
    name: 'a lookup inside a pad',
    make: (rt) =>
      rt
        .tensor([1, 2], [2, 1])
        .repeat(3, 0)
        .takeAlongAxis([[0]], 1)
        .pad([
          [2, 1],
          [2, 2000],
        ])
        .sum(),
    want: [9],
  },
];

describe.each(Object.keys(devices) as (keyof typeof devices)[])('on %s', (name) => {
  let rt: Runtime;
  beforeAll(async () => {
    rt = await devices[name]();
  });
  afterAll(() => rt.close());

  for (const row of rows) {
    const reason = row.not?.[name];
    it.skipIf(reason !== undefined)(reason ? `${row.name} (left out: ${reason})` : row.name, async () => {
      const t = row.make(rt);
      expect([...((await t.data()) as Iterable<number | bigint>)]).toEqual(row.want);
    });
  }
});

describe('random numbers', () => {
  it('are the same bits on every device, normal ones too', async () => {
    const found = new Set<string>();
    for (const open of Object.values(devices)) {
      const rt = await open();
      const data = await rt.random.normal([5000], { seed: 5 }).data();
      found.add(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'));
      await rt.close();
    }
    expect(found.size).toBe(1);
  });
});

describe('a stencil that clamps at its border', () => {
  it('is one kernel, and reads the last element beyond it', async () => {
    const rt = await createRuntime({ devices: ['cpu'] });
    const step = rt.kernel(
      (x) => {
        const sum = x
          .at(1, 0, 0)
          .add(x.at(-1, 0, 0))
          .add(x.at(0, 1, 0))
          .add(x.at(0, -1, 0));
        return sum.add(x.at(0, 0, 1)).add(x.at(0, 0, -1));
      },
      { border: 'clamp' },
    );
    const n = 16;
    const data = Float32Array.from({ length: n ** 3 }, (_, i) => (i * 37) % 101);
    const at = (i: number, j: number, k: number): number => {
      const [x, y, z] = [i, j, k].map((p) => Math.min(n - 1, Math.max(0, p))) as [number, number, number];
      return data[(x * n + y) * n + z]!;
    };
    const want = Float32Array.from({ length: n ** 3 }, (_, p) => {
      const [i, j, k] = [Math.floor(p / n / n), Math.floor(p / n) % n, p % n];
      return at(i + 1, j, k) + at(i - 1, j, k) + at(i, j + 1, k) + at(i, j - 1, k) + at(i, j, k + 1) + at(i, j, k - 1);
    });
    expect(await step(rt.tensor(data, [n, n, n])).data()).toEqual(want);
    const far = rt.kernel((x) => x.at(-5).add(x.at(5)), { border: 'clamp' });
    expect([...(await far(rt.tensor([1, 2, 4])).data())]).toEqual([5, 5, 5]);
    await rt.close();
  });
});
