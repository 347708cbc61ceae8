// Ops whose shapes depend on the data, beyond their values (test/cases): waits, memory, and what they refuse.

import { describe, expect, it } from 'vitest';
import { ArgumentError, createRuntime, DTypeError, IndexError, ShapeError, type Tensor } from '../../src/index.ts';

const cpu = { devices: ['cpu'], cpu: { threads: 1 } } as const;

describe('ops whose shapes depend on the data', () => {
  it('wait once each, and say so in the statistics', async () => {
    await using rt = await createRuntime(cpu);
    const x = rt.tensor([3, 0, 1, 0], [4], { dtype: 'i32' });
    const waited = async (run: () => Promise<unknown>): Promise<number> => {
      const before = rt.stats().waits;
      await run();
      return rt.stats().waits - before;
    };
    expect(await waited(() => x.nonzero())).toBe(1);
    expect(await waited(() => x.mask(x.greater(0)))).toBe(1);
    expect(await waited(() => x.unique())).toBe(1);
    expect(await waited(() => x.bincount())).toBe(2);
    expect(await waited(() => x.histogram())).toBe(2);
    expect(await waited(() => x.histogram({ range: [0, 4] }))).toBe(0);
    expect(await waited(async () => x.searchsorted(x))).toBe(0);
    expect(await waited(async () => x.segmentSum([0, 1, 0, 1], 2))).toBe(0);
  });

  it('a mean of segments uploads a list of ids once', async () => {
    await using rt = await createRuntime(cpu);
    const x = rt.tensor([1, 2, 6]);
    const uploads: number[] = [];
    rt.on('upload', (e) => uploads.push(e.bytes));
    expect(await x.segmentMean([1, 0, 1], 2).data()).toEqual(Float32Array.of(2, 3.5));
    expect(uploads).toEqual([12]);
  });

  it('give back what they used on the way', async () => {
    await using rt = await createRuntime(cpu);
    const n = 1 << 14;
    const x = rt.scope(() => rt.arange(n).mod(100).cast('i32').compute());
    const { live } = rt.snapshot().memory.places[0]!;
    for (let i = 0; i < 3; i++) {
      for (const t of await x.nonzero()) t.compute().dispose();
      const mask = x.greater(5 + i);
      (await x.mask(mask)).compute().dispose();
      mask.dispose();
      const empty = x.less(0);
      (await x.mask(empty)).compute().dispose();
      empty.dispose();
      for (const t of Object.values(await x.unique())) t.compute().dispose();
      (await x.bincount()).compute().dispose();
      for (const t of Object.values(await x.histogram({ bins: 7 }))) t.compute().dispose();
      x.searchsorted(x).compute().dispose();
      x.segmentMean(x, 100).compute().dispose();
    }
    expect(rt.snapshot().memory.places[0]!.live).toBe(live);
    x.dispose();
    expect(rt.snapshot().memory.places[0]!.live).toBe(live - 4 * n);
  });

  it('edges of a given range are rounded once, as NumPy rounds them', async () => {
    await using rt = await createRuntime(cpu);
    const { edges } = await rt.tensor([0]).histogram({ bins: 17, range: [-3, 2] });
    // np.histogram(np.float32([0]), 17, (-3, 2))[1]
    const want = Float32Array.from({ length: 18 }, (_, i) => (i === 17 ? 2 : i * (5 / 17) - 3));
    expect(await edges.data()).toEqual(want);
  });

  it('are right when their operands are disposed while they wait', async () => {
    await using rt = await createRuntime({ devices: ['webgpu'] });
    const x = rt.arange(1000).cast('f32');
    const mask = x.greaterEqual(997);
    const masked = x.mask(mask);
    const unique = x.unique();
    const histogram = x.histogram({ bins: 4 });
    x.dispose();
    mask.dispose();
    expect([...(await (await masked).data())]).toEqual([997, 998, 999]);
    expect((await unique).values.size).toBe(1000);
    expect([...(await (await histogram).counts.data())]).toEqual([250, 250, 250, 250]);
  });

  it('find positions in long rows with few kernels', async () => {
    await using rt = await createRuntime(cpu);
    const row = rt
      .arange(1 << 20)
      .cast('f32')
      .compute();
    const found = row.searchsorted(rt.tensor([0, 77.5, 1e9, -3]));
    expect(rt.explain(found)).toMatchObject({ kernels: [{}], temporaryBytes: 0 });
    expect([...(await found.data())]).toEqual([0, 78, 1 << 20, 0]);
  });

  it('computes once what several look-ups and the checks of their range share', async () => {
    await using rt = await createRuntime(cpu);
    const [xs, x] = [rt.linspace(-1, 1, 1000).compute(), rt.linspace(-0.9, 0.9, 100_000).compute()];
    const at = xs.searchsorted(x, { side: 'right' }).sub(1);
    const between = xs
      .gather(at, 0)
      .add(xs.gather(at.add(1), 0))
      .mul(0.5);
    expect(rt.explain(between)).toMatchObject({ kernels: [{}, {}], temporaryBytes: 4 * x.size });
    expect(await between.sub(x).abs().max().item()).toBeLessThan(0.0011);
  });

  it('searches with what is computed around it, inside a compiled function too', async () => {
    await using rt = await createRuntime(cpu);
    const above = (row: Tensor, x: Tensor): Tensor =>
      row.mul(2).searchsorted(x.add(1), { side: 'right' }).mul(10).sub(1);
    const compiled = rt.compile(above);
    const [row, x] = [rt.tensor([1, 2, 3]), rt.tensor([-1, 1, 3, 5, 7])];
    for (let i = 0; i < 3; i++) {
      expect([...(await above(row, x).data())]).toEqual([-1, 9, 19, 29, 29]);
      expect([...(await compiled(row, x).data())]).toEqual([-1, 9, 19, 29, 29]);
    }
  });

  it('searches rows of every length from end to end, without a look beyond them', async () => {
    await using rt = await createRuntime(cpu);
    const { NaN: nan } = Number;
    for (let n = 1; n <= 33; n++) {
      // Pairs of equal elements, and NaN at the end of every third row.
      const row = Array.from({ length: n }, (_, i) => (n % 3 === 0 && i > n - 3 ? nan : 2 * (i >> 1)));
      const values = [...Array.from({ length: n + 4 }, (_, i) => i - 2), Infinity, -Infinity, nan];
      const [x, v] = [rt.tensor(row), rt.tensor(values)];
      for (const side of ['left', 'right'] as const) {
        const precedes = (e: number, w: number): boolean =>
          Number.isNaN(w) ? side === 'right' || !Number.isNaN(e) : side === 'left' ? e < w : e <= w;
        const want = values.map((w) => row.filter((e) => precedes(e, w)).length);
        const found = x.searchsorted(v, { side });
        if (n > 1) expect(JSON.stringify(rt.explain(found).kernels), `${n}`).not.toMatch(/min|max/);
        expect([...(await found.data())], `${n} ${side}`).toEqual(want);
        const whole = row.map((e) => (Number.isNaN(e) ? 99 : e));
        const [y, w] = [whole, [-2, 0, 1, 99]].map((list) => rt.tensor(list, { dtype: 'i64' })) as [Tensor, Tensor];
        const counts = [-2, 0, 1, 99].map((z) => whole.filter((e) => precedes(e, z)).length);
        expect([...(await y.searchsorted(w, { side }).data())], `${n} ${side} i64`).toEqual(counts);
      }
    }
  });

  it('refuse what makes no sense', async () => {
    await using rt = await createRuntime(cpu);
    const x = rt.tensor([1, 2, 3]);
    await expect(rt.tensor(1, []).nonzero()).rejects.toThrow(ShapeError);
    await expect(x.mask(x as never)).rejects.toThrow(DTypeError);
    await expect(x.mask(rt.ones([2]).greater(0))).rejects.toThrow(ShapeError);
    await expect(x.mask(rt.ones([3, 1]).greater(0))).rejects.toThrow(ShapeError);
    await expect(x.bincount()).rejects.toThrow(DTypeError);
    const whole = rt.tensor([1, -2], [2], { dtype: 'i32' });
    await expect(whole.bincount()).rejects.toThrow(/-2 is no number of a bin/);
    await expect(whole.reshape([1, 2]).bincount()).rejects.toThrow(ShapeError);
    await expect(whole.bincount({ minLength: -1 })).rejects.toThrow(ArgumentError);
    await expect(whole.bincount({ weights: x })).rejects.toThrow(ShapeError);
    for (const bins of [0, 1.5, [1], [2, 1], [Number.NaN, 1]])
      await expect(x.histogram({ bins })).rejects.toThrow(ArgumentError);
    await expect(x.histogram({ range: [3, 1] })).rejects.toThrow(/upside down/);
    await expect(rt.tensor([1, Number.NaN]).histogram()).rejects.toThrow(/not finite/);
    await expect(rt.tensor([Number.POSITIVE_INFINITY]).histogram()).rejects.toThrow(/not finite/);
    await expect(x.greater(1).histogram()).rejects.toThrow(DTypeError);
    expect(() => x.reshape([3, 1]).searchsorted(x)).toThrow(ShapeError);
    expect(() => x.searchsorted(x, { side: 'middle' as never })).toThrow(ArgumentError);
    expect(() => x.segmentSum([0, 1, 2], -1)).toThrow(ArgumentError);
    expect(() => x.segmentSum([0, 1, 2], 2)).toThrow(IndexError);
    expect(() => x.segmentMax([0, 1], 2)).toThrow(ShapeError);
    expect(() => x.greater(1).segmentSum([0, 1, 0], 2)).toThrow(DTypeError);
    expect(() => x.segmentMean([0, 1, 2], 2)).toThrow(/^segmentMean: index 2 is out of range for an axis of size 2/);
    expect(() => x.segmentMin([0, 1], 2)).toThrow(/^segmentMin: shapes \[3\] and \[2\] do not broadcast/);
    await using other = await createRuntime(cpu);
    await expect(x.mask(other.ones([3]).greater(0))).rejects.toThrow(/different runtimes/);
  });
});
