import { describe, expect, it } from 'vitest';
import { createCpuDevice } from '../devices/cpu/device.ts';
import { createRuntime } from '../index.ts';

const open = async () => createRuntime({ devices: [await createCpuDevice({ threads: 1 })], routing: { mode: 'off' } });
const values = Int32Array.from({ length: 200 }, (_, i) => (i % 7 === 0 ? -(2 ** 31) : i * 10_000_001));
const sums = (of: Iterable<number>): bigint[] => {
  let sum = 0n;
  return Array.from(of, (v) => (sum += BigInt(v)));
};

describe('running sums of narrow integers', () => {
  it('are one launch, which widens them as it reads', async () => {
    await using rt = await open();
    const x = rt.tensor(values);
    const { kernels } = await rt.explain(x.cumsum(0));
    expect(kernels.map((k) => k.name)).toEqual(['cumsum_i32_as_i64_200']);
    expect([...(await x.cumsum(0).data())]).toEqual(sums(values));
    const bytes = Uint8Array.from(values, (_, i) => 255 - (i % 3));
    expect([...(await rt.tensor(bytes).cumsum(0).data())].map(BigInt)).toEqual(sums(bytes));
  });

  it('of an expression, and of rows', async () => {
    await using rt = await open();
    const x = rt.tensor(values, [2, 100]);
    const got = await x.bitwiseXor(1).cumsum(1).data();
    expect([...got]).toEqual([values.slice(0, 100), values.slice(100)].flatMap((row) => sums(row.map((v) => v ^ 1))));
  });

  it('leave the widened values to whoever else reads them', async () => {
    await using rt = await open();
    const x = rt.tensor(values);
    const wide = x.cast('i64');
    const both = wide.cumsum(0).add(wide);
    expect([...(await both.data())]).toEqual(sums(values).map((s, i) => s + BigInt(values[i]!)));
    const again = rt.tensor(values).cast('i64');
    const running = again.cumsum(0);
    rt.compute(again, running);
    expect([...(await running.data())]).toEqual(sums(values));
    expect([...(await again.data())]).toEqual(Array.from(values, BigInt));
    const later = rt.tensor(values).cast('i64');
    expect([...(await later.cumsum(0).data())]).toEqual(sums(values));
    expect([...(await later.data())]).toEqual(Array.from(values, BigInt));
  });

  it('down columns, backwards and of short rows are cast first', async () => {
    await using rt = await open();
    const x = rt.tensor(values, [100, 2]);
    const [a, b] = [0, 1].map((k) => sums(values.filter((_, i) => i % 2 === k)));
    expect([...(await x.cumsum(0).data())]).toEqual(a!.flatMap((v, i) => [v, b![i]!]));
    const back = await rt.tensor(values).cumsum(0, { reverse: true }).data();
    expect([...back]).toEqual(sums([...values].reverse()).reverse());
    expect([...(await rt.tensor([1, 2, 3], [3], { dtype: 'i32' }).cumsum(0).data())]).toEqual([1n, 3n, 6n]);
  });
});
