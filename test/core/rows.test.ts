// Kernels over the same rows become one launch where the device keeps rows on the chip; the reference device follows the same plan.

import { expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { canonical } from '../../src/kernel/canonical.ts';
import { rowsCases } from '../gpu/rows.ts';

async function both<T>(use: (rt: Runtime) => Promise<T>): Promise<{ stacked: T; plain: T }> {
  const [reference, cpu] = await Promise.all(
    (['reference', 'cpu'] as const).map((device) => createRuntime({ devices: [device] })),
  );
  try {
    return { stacked: await use(reference!), plain: await use(cpu!) };
  } finally {
    await Promise.all([reference!.close(), cpu!.close()]);
  }
}

const rowsOf = (rt: Runtime, rows: number, columns: number): Tensor<'f32'> =>
  rt.tensor(
    Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i * 0.37) * 3),
    [rows, columns],
  ) as Tensor<'f32'>;

const close = (got: ArrayLike<number>, want: ArrayLike<number>): void => {
  expect(got.length).toBe(want.length);
  for (let i = 0; i < got.length; i++)
    expect(Math.abs(got[i]! - want[i]!)).toBeLessThan(2e-5 * (1 + Math.abs(want[i]!)));
};

it('softmax over rows is one launch', async () => {
  const { stacked, plain } = await both(async (rt) => {
    const y = rowsOf(rt, 150, 70).softmax(1);
    const kernels = rt.explain(y).kernels;
    return { kernels, data: await y.data() };
  });
  expect(stacked.kernels).toHaveLength(1);
  expect(stacked.kernels[0]!.body).toContain('150 rows of 70, each kept on the chip');
  expect(plain.kernels.length).toBeGreaterThan(1);
  close(stacked.data as Float32Array, plain.data as Float32Array);
});

it('a layer norm with scale and shift by column is one launch', async () => {
  const { stacked, plain } = await both(async (rt) => {
    const x = rowsOf(rt, 130, 96);
    const scale = rt.tensor(Float32Array.from({ length: 96 }, (_, i) => 1 + i / 96));
    const mean = x.mean({ axis: 1, keepdims: true });
    const d = x.sub(mean);
    const y = d
      .div(d.mul(d).mean({ axis: 1, keepdims: true }).add(1e-5).sqrt())
      .mul(scale)
      .add(0.5);
    const kernels = rt.explain(y).kernels.length;
    return { kernels, data: await y.data() };
  });
  expect(stacked.kernels).toBe(1);
  close(stacked.data as Float32Array, plain.data as Float32Array);
});

it('a variance over a middle axis reads its operand once', async () => {
  const { stacked, plain } = await both(async (rt) => {
    const x = rowsOf(rt, 3 * 70, 50).reshape([3, 70, 50]);
    await rt.flush(x);
    const y = x.variance({ axis: 1 });
    const kernels = rt.explain(y).kernels;
    return { kernels, data: await y.data() };
  });
  expect(stacked.kernels).toHaveLength(1);
  expect(stacked.kernels[0]!.body).toContain('150 rows of 70, each kept on the chip');
  expect(plain.kernels).toHaveLength(2);
  close(stacked.data as Float32Array, plain.data as Float32Array);
});

it('what is read elsewhere too is stored, and the rest is not', async () => {
  const { stacked, plain } = await both(async (rt) => {
    const x = rowsOf(rt, 140, 80);
    const most = x.max({ axis: 1, keepdims: true });
    const e = x.sub(most).exp();
    const y = e.div(e.sum({ axis: 1, keepdims: true }));
    await rt.flush(most, y);
    return { most: await most.data(), y: await y.data(), twice: await most.add(y).data() };
  });
  close(stacked.most as Float32Array, plain.most as Float32Array);
  close(stacked.y as Float32Array, plain.y as Float32Array);
  close(stacked.twice as Float32Array, plain.twice as Float32Array);
});

it.each([
  ['few rows', 20, 200],
  ['short rows', 200, 20],
])('%s stay kernels of their own', async (_, rows, columns) => {
  const { stacked } = await both(async (rt) => rt.explain(rowsOf(rt, rows, columns).softmax(1)).kernels.length);
  expect(stacked).toBeGreaterThan(1);
});

it('a value of another row, and rows of another length, end a stack', async () => {
  const { stacked, plain } = await both(async (rt) => {
    const x = rowsOf(rt, 128, 128);
    const m = x.max({ axis: 1 });
    // The maximum of the row is subtracted from the column, and the mean is over columns.
    const y = x.sub(m);
    const z = y.mean({ axis: 0 });
    return { kernels: rt.explain(z).kernels.length, data: await z.data() };
  });
  expect(stacked.kernels).toBe(plain.kernels);
  close(stacked.data as Float32Array, plain.data as Float32Array);
});

it('a stack keeps its launch scalars apart', async () => {
  const { stacked, plain } = await both(async (rt) => {
    const step = rt.compile((x: Tensor<'f32'>, a: number, b: number) => {
      const m = x.mul(a).max({ axis: 1, keepdims: true });
      return x.mul(a).sub(m).mul(b);
    });
    const x = rowsOf(rt, 130, 64);
    const first = await step(x, 2, 3).data();
    const second = await step(x, -1, 0.5).data();
    return { first, second };
  });
  close(stacked.first as Float32Array, plain.first as Float32Array);
  close(stacked.second as Float32Array, plain.second as Float32Array);
});

it('stacks of equal work have equal keys, whoever built them, and others do not', () => {
  const keys = rowsCases().map(({ routine }) => canonical(routine));
  const again = rowsCases().map(({ routine }) => canonical(routine));
  expect(again).toEqual(keys);
  expect(new Set(keys).size).toBe(keys.length);
});
