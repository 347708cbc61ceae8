// Long sums and sizes beyond 31 and 32 bits: what the random graphs, of a few thousand elements, cannot see.
//
// Tensors of billions of elements are never stored: they are views of constants, positions and random numbers, which a reduction
// computes as it goes. A fixed few run in `npm test`; the rest takes seconds each and runs in `npm run test:all` and `npm run fuzz`.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accumulatorFor, type DType } from '../../src/base/dtype.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { roundTo } from '../../src/kernel/semantics.ts';
import { all as everything } from '../support/extent.ts';
import { seed } from '../support/seed.ts';
import { epsilon } from './value.ts';

const all = everything || process.env.FUZZ_RUNS !== undefined;

let rt: Runtime;
beforeAll(async () => {
  // Without a BLAS library: its sums are not ours.
  rt = await createRuntime({ devices: ['cpu'], cpu: { blas: false }, seed: 1 });
});
afterAll(() => rt.close());

/** Numbers from a seed. */
function random(from: number): () => number {
  let s = from | 0;
  return () => {
    s = (Math.imul(s ^ (s >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return ((s ^ (s >>> 13)) >>> 0) / 2 ** 32;
  };
}

interface Drawn {
  readonly tensor: Tensor;
  readonly values: Float64Array;
}

function draw(dtype: DType, shape: readonly number[], next: () => number, positive: boolean): Drawn {
  const n = shape.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: n }, () => roundTo[dtype](positive ? next() : 2 * next() - 1) as number);
  return { tensor: rt.tensor(values, shape, { dtype }) as Tensor, values };
}

/** Σ a·b with what rounding takes from it added again. */
function exactDot(a: Float64Array, b: Float64Array): { sum: number; magnitude: number } {
  let [sum, lost, magnitude] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const p = a[i]! * b[i]!;
    const t = sum + p;
    lost += Math.abs(sum) >= Math.abs(p) ? sum - t + p : p - t + sum;
    sum = t;
    magnitude += Math.abs(p);
  }
  return { sum: sum + lost, magnitude };
}

describe('long dot products', () => {
  const lengths = all ? [5000, 65_537, 1_000_003] : [5000, 100_003];
  const forms: Readonly<Record<string, (a: Tensor, b: Tensor) => Tensor>> = {
    dot: (a, b) => a.dot(b),
    einsum: (a, b) => rt.einsum('i,i->', a, b),
    'row by column': (a, b) => a.reshape([1, -1]).matmul(b.reshape([-1, 1])),
    'sum of products': (a, b) => a.mul(b).sum(),
  };
  it.each((['f32', 'f64', 'f16', 'bf16'] as const).flatMap((t) => Object.keys(forms).map((f) => [f, t] as const)))(
    '%s of %s',
    async (form, dtype) => {
      for (const n of lengths) {
        for (const positive of [true, false]) {
          const next = random(seed + n);
          const [a, b] = [draw(dtype, [n], next, positive), draw(dtype, [n], next, positive)];
          const { sum, magnitude } = exactDot(a.values, b.values);
          const got = Number((await forms[form]!(a.tensor, b.tensor).data())[0]);
          // Sums in stretches or by halves lose a few units per level; one running sum would lose thousands.
          const wide = accumulatorFor(dtype);
          const bound = 64 * epsilon(wide) * magnitude + epsilon(dtype) * Math.abs(sum);
          const products = form === 'sum of products' ? epsilon(dtype) * magnitude : 0;
          // What f16 cannot hold is infinite.
          if (!Number.isFinite(roundTo[dtype](sum) as number)) continue;
          expect([n, positive, Math.abs(got - sum) <= bound + products, got, sum].slice(0, 3)).toEqual([
            n,
            positive,
            true,
          ]);
        }
      }
    },
  );
});

describe('long sums of one value, each of which is rounded the same way', () => {
  const forms: Readonly<Record<string, (x: Tensor) => Tensor>> = {
    sum: (x) => x.sum(),
    mean: (x) => x.mean(),
    norm: (x) => x.norm(),
    'sums of rows': (x) => x.reshape([1, -1]).expand([3, x.size]).sum({ axis: 1 }),
    'sums of two axes': (x) => x.reshape([-1, 8]).sum(),
    dot: (x) => x.dot(x),
  };
  it.each((['f32', 'f64'] as const).flatMap((t) => Object.keys(forms).map((f) => [f, t] as const)))(
    '%s of %s is as near as that of its parts',
    async (form, dtype) => {
      for (const n of all ? [2048, 40_000, 1_000_000] : [2048, 40_000]) {
        const value = roundTo[dtype](0.1) as number;
        const wanted: Readonly<Record<string, number>> = {
          mean: value,
          norm: value * Math.sqrt(n),
          dot: n * value ** 2,
        };
        const want = wanted[form] ?? n * value;
        const got = Number((await forms[form]!(rt.full([n], value, { dtype }).compute()).data())[0]);
        // NumPy's sums are within 2 units. One running sum for each lane was off by 200, and the more the longer it was.
        expect(Math.abs(got - want) / want / epsilon(dtype), `${n}: ${got}, expected ${want}`).toBeLessThan(24);
      }
    },
  );
});

describe('sums of f64 in runs', () => {
  const n = 40_000;
  const row = (at: Readonly<Record<number, number>>): Tensor => {
    const values = new Float64Array(n).fill(0.1);
    for (const [i, v] of Object.entries(at)) values[Number(i)] = v;
    return rt.tensor(values, [n], { dtype: 'f64' }) as Tensor;
  };
  const sum = async (at: Readonly<Record<number, number>>): Promise<number> => Number((await row(at).sum().data())[0]);

  it('are infinite, NaN and finite where those in order are', async () => {
    const [big, inf] = [Number.MAX_VALUE, Number.POSITIVE_INFINITY];
    expect(await sum({ 5: inf })).toBe(inf);
    expect(await sum({ 5: -inf, 20000: -inf })).toBe(-inf);
    expect(await sum({ 5: inf, 20000: -inf })).toBe(Number.NaN);
    expect(await sum({ 39999: Number.NaN })).toBe(Number.NaN);
    expect(await sum({ 0: big, 32000: big })).toBe(inf);
  });

  it('lose no more than their own run to a value that a later one takes back', async () => {
    // Both lie in one lane, a thousand additions apart, whose sum is 100. Beside 1e16 runs of that lane are kept as what was lost.
    const got = await sum({ 0: 1e16, 16000: -1e16 });
    expect(Math.abs(got - 3999.8)).toBeLessThan(20);
  });
});

interface Huge {
  readonly what: string;
  readonly make: () => Tensor;
  readonly want: readonly (number | bigint)[];
  /** A relative error that is allowed. */
  readonly near?: number;
  readonly dtype?: DType;
}

const G = 2 ** 31;

/** Few enough steps to run each time. */
const quick: readonly Huge[] = [
  { what: 'the trace of a matrix of more than 2³² elements', make: () => rt.eye(65_537).trace(), want: [65_537] },
  {
    what: 'positions gathered beyond 2³¹',
    make: () => rt.iota([G + 2], 0, { dtype: 'i64' }).gather([5, G + 1, -1], 0),
    want: [5n, 2147483649n, 2147483649n],
  },
  {
    what: 'a slice beyond 2³¹',
    make: () => rt.iota([G + 9], 0, { dtype: 'i64' }).slice([[G + 3, null, 2]]),
    want: [2147483651n, 2147483653n, 2147483655n],
  },
  {
    what: 'a range of milliseconds',
    make: () => rt.arange(1_700_000_000_000, 1_700_000_000_003),
    want: [1700000000000n, 1700000000001n, 1700000000002n],
    dtype: 'i64',
  },
  {
    what: 'diagonals far outside',
    make: () => rt.tri(2, 2, 2 ** 40).add(rt.eye(2, 2, -(2 ** 40))),
    want: [1, 1, 1, 1],
  },
  {
    what: 'a corner of a triangle of 2⁵⁰ elements',
    make: () =>
      rt
        .ones([2 ** 25, 2 ** 25])
        .tril(-1)
        .slice([
          [2 ** 25 - 1, null],
          [2 ** 25 - 2, null],
        ]),
    want: [1, 0],
  },
];

/** Billions of steps each. */
const slow: readonly Huge[] = [
  { what: 'the mean of 2³² ones', make: () => rt.ones([2 * G]).mean(), want: [1] },
  { what: 'the mean of 2³² ones of f64', make: () => rt.ones([2 * G], { dtype: 'f64' }).mean(), want: [1] },
  {
    what: 'the sum of 2³² + 5 ones of i64',
    make: () => rt.ones([2 * G + 5], { dtype: 'i64' }).sum(),
    want: [4294967301n],
    dtype: 'i64',
  },
  {
    what: 'the sum of 2³¹ + 3 positions',
    make: () => rt.iota([G + 3], 0, { dtype: 'i64' }).sum(),
    want: [(BigInt(G + 3) * BigInt(G + 2)) / 2n],
  },
  {
    what: 'the mean of 2³² random numbers',
    make: () => rt.random.uniform([2 * G], { seed: 1 }).mean(),
    want: [0.5],
    near: 1e-4,
  },
  {
    what: 'the largest of 2³³ elements of a view',
    make: () =>
      rt
        .iota([2 ** 17], 0, { dtype: 'i32' })
        .reshape([2 ** 17, 1])
        .expand([2 ** 17, 2 ** 16])
        .max(),
    want: [2 ** 17 - 1],
  },
  {
    what: 'countNonzero of 2³¹ + 5',
    make: () => rt.ones([G + 5], { dtype: 'u8' }).countNonzero(),
    want: [2147483653n],
    dtype: 'i64',
  },
  {
    what: 'argmax of 2³¹ + 5 positions',
    make: () => rt.iota([G + 5], 0, { dtype: 'i64' }).argmax(),
    want: [2147483652n],
    dtype: 'i64',
  },
  { what: 'the first of 2³² equal elements', make: () => rt.ones([2 * G]).argmax(), want: [0n], dtype: 'i64' },
  {
    what: 'argmin within the last part',
    make: () =>
      rt
        .iota([G + 3], 0, { dtype: 'i64' })
        .neg()
        .argmin({ axis: 0 }),
    want: [2147483650n],
    dtype: 'i64',
  },
];

const check = async ({ make, want, near = 0, dtype }: Huge): Promise<void> => {
  const t = make();
  const got = [...(await t.data())];
  if (dtype) expect(t.dtype).toBe(dtype);
  expect(got.length).toBe(want.length);
  got.forEach((v, i) => {
    const w = want[i]!;
    expect(v === w || Math.abs(Number(v) - Number(w)) <= near * Math.abs(Number(w)), `${v}, expected ${w}`).toBe(true);
  });
};

describe('beyond 31 and 32 bits', () => {
  it.each(quick)('$what', check);

  describe.runIf(all)('of billions of steps', () => {
    it.each(slow)('$what', { timeout: 600_000 }, check);
  });

  it('random numbers go on beyond 2³² as they began', async () => {
    const tail = rt.random.uniform([2 ** 32 + 1000], { seed: 5 }).slice([[2 ** 32 - 500, 2 ** 32 + 500]]);
    const data = (await tail.data()) as Float32Array;
    const head = (await rt.random.uniform([500], { seed: 5 }).data()) as Float32Array;
    // Not the first ones again, and spread as they should be.
    expect(data.slice(500).some((v, i) => v !== head[i])).toBe(true);
    expect(new Set(data).size).toBeGreaterThan(990);
    const mean = data.reduce((s, v) => s + v, 0) / data.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(5 / Math.sqrt(12 * 1000));
  });
});
