// The same work on the reference device, the CPU and WebGPU: equal results, one kernel per level, counted waits.

import { afterAll, describe, expect, it } from 'vitest';
import { Aborted, createRuntime, type Tensor, withFaults } from '../../src/index.ts';
import { type Csr, diffuseField, Lattice } from '../../src/lattice/index.ts';
import { all } from '../support/extent.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { analysisOf, walksOf } from './oracles.ts';
import { numbers, plainDistances, randomMask } from './plain.ts';

afterAll(closeAll);

describe.each(kinds)('on %s', (kind) => {
  const make = async (dimensions: number, size: number, blocked?: Iterable<number>): Promise<Lattice> => {
    const runtime = await runtimeOf(kind);
    const device = runtime.devices().find((d) => d.open)!.id;
    return new Lattice({ dimensions, size, runtime, device, ...(blocked ? { blocked } : {}) });
  };

  it('a search without a mask takes as many kernels as levels, and the host waits once', async () => {
    const rt = await runtimeOf(kind);
    const [d, n] = kind === 'reference' ? [2, 6] : [4, 10];
    const l = await make(d, n);
    await l.distancesFrom(3, { method: 'levels' });
    const before = { ...rt.stats(), levels: l.stats().levels };
    const found = await l.distancesFrom(0, { method: 'levels' });
    const after = { ...rt.stats(), levels: l.stats().levels };
    expect(found).toEqual(plainDistances(d, n, new Set(), 0));
    expect(found).toEqual(await l.distancesFrom(0, { method: 'closed' }));
    const levels = d * (n - 1);
    expect(after.levels - before.levels).toBe(levels);
    expect(after.waits - before.waits).toBe(1);
    // One per level; besides, the fields to begin with and the result.
    expect(after.launches - before.launches).toBeLessThanOrEqual(levels + 3);
    expect(after.bytes).toBe(before.bytes);
  });

  it('a search with a mask asks once in 16 levels', async () => {
    const rt = await runtimeOf(kind);
    const blocked = [5, 6, 7, 8, 16, 17, 18, 19];
    const l = await make(2, 5, blocked);
    await l.distancesFrom(0, { method: 'levels' });
    const before = rt.stats().waits;
    expect(await l.distancesFrom(0, { method: 'levels' })).toEqual(plainDistances(2, 5, new Set(blocked), 0));
    // 17 vertices are left, so that there is nothing after 16 levels.
    expect(rt.stats().waits - before).toBe(1);
    for (const [n, waits] of [
      [7, 2],
      [12, 3],
    ] as const) {
      const wide = await make(2, n, [n + 1]);
      const begun = rt.stats().waits;
      expect(await wide.distancesFrom(0, { method: 'levels' })).toEqual(plainDistances(2, n, new Set([n + 1]), 0));
      expect(rt.stats().waits - begun).toBe(waits);
    }
    const { path, length } = await l.shortestPath(0, 24, { method: 'levels' });
    expect([path[0], path[16], length]).toEqual([0, 24, 16]);
    for (let i = 1; i < path.length; i++) expect(l.neighbors(path[i - 1]!)).toContain(path[i]);
  });

  it('searches around random masks are those of a plain search', async () => {
    const random = numbers(11);
    const cases = kind === 'cpu' ? (all ? 200 : 30) : kind === 'reference' ? 5 : 10;
    for (let i = 0; i < cases; i++) {
      const [d, n] = [
        [1, 9],
        [2, 7],
        [3, 4],
        [4, 3],
      ][i % 4] as [number, number];
      const blocked = randomMask(random, n ** d, 0.1 + 0.5 * random());
      const s = Math.floor(random() * n ** d);
      blocked.delete(s);
      const l = await make(d, n, blocked);
      const expected = plainDistances(d, n, blocked, s);
      expect(await l.distancesFrom(s, { method: 'levels' })).toEqual(expected);
      expect(await l.distancesFrom(s)).toEqual(expected);
    }
  });

  it('a search with one bit per vertex reaches what a plain search reaches', async () => {
    const random = numbers(12);
    const shapes = [
      [2, 33],
      [5, 4],
      [3, 11],
      [1, 40],
      [10, 2],
      [3, 23],
    ] as const;
    // The reference and a software GPU take long for what the others do at once.
    const some = { reference: 1, cpu: 6, webgpu: 2, cuda: 6 }[kind];
    for (const [d, n] of shapes.slice(0, all ? 6 : some)) {
      for (const part of all ? [0, 0.2, 0.5] : [0, 0.3]) {
        const blocked = part === 0 ? new Set<number>() : randomMask(random, n ** d, part);
        const s = Math.floor(random() * n ** d);
        blocked.delete(s);
        const l = await make(d, n, blocked);
        const distances = [...plainDistances(d, n, blocked, s)];
        const expected = (within: number) => {
          const near = distances.filter((x) => x >= 0 && x <= within);
          return { reached: near.length, levels: near.reduce((a, b) => Math.max(a, b), 0) };
        };
        for (const within of [Number.POSITIVE_INFINITY, 0, 5]) {
          const o = Number.isFinite(within) ? { within } : {};
          expect(await l.reach(s, { ...o, method: 'bits' })).toEqual(expected(within));
          expect(await l.reach(s, o)).toEqual(expected(within));
        }
      }
    }
    const rt = await runtimeOf(kind);
    const l = await make(2, 33);
    await l.reach(0, { method: 'bits' });
    const before = { ...rt.stats(), levels: l.stats().levels };
    expect(await l.reach(0, { method: 'bits' })).toEqual({ reached: 1089, levels: 64 });
    const after = rt.stats();
    // One kernel per level; besides, the start, the borders and the count. The host waits once.
    expect(l.stats().levels - before.levels).toBe(64);
    expect(after.launches - before.launches).toBeLessThanOrEqual(64 + 3);
    expect(after.waits - before.waits).toBe(1);
    expect(after.bytes).toBe(before.bytes);
  });

  it('the adjacency has sorted rows, and as many entries as there are neighbours', async () => {
    const cases: readonly [number, number, number[]][] = [
      [3, 5, []],
      [2, 4, [5, 10]],
      // A stretch of 25 elements is no whole number of vectors.
      [2, 5, [11, 12, 13, 14]],
      [1, 2, []],
    ];
    for (const [d, n, blocked] of cases) {
      const l = await make(d, n, blocked);
      expect(l.built).toBe(false);
      const building = l.build();
      expect(l.build()).toBe(building);
      const csr = await building;
      expect(l.built).toBe(true);
      const [offsets, neighbors] = [await csr.offsets.data(), await csr.neighbors.data()];
      expect(offsets.length).toBe(n ** d + 1);
      for (let v = 0; v < n ** d; v++) {
        const row = blocked.includes(v) ? [] : l.neighbors(v);
        expect([...neighbors.subarray(offsets[v], offsets[v + 1])]).toEqual(row);
      }
      expect(neighbors.length).toBe(2 * l.edges);
      expect((await l.metrics()).memoryUsageMb).toBeCloseTo((4 * (n ** d + 1) + 8 * l.edges) / 2 ** 20, 12);
      l.setBlocked(null);
      expect(csr.offsets.disposed).toBe(true);
    }
    const dense = (await (await make(3, 5)).adjacency({ dense: true })) as Tensor;
    expect(dense.shape).toEqual([125, 125]);
    const matrix = await dense.data();
    let ones = 0;
    for (let i = 0; i < 125; i++)
      for (let j = 0; j < 125; j++) {
        expect(matrix[i * 125 + j]).toBe(matrix[j * 125 + i]);
        ones += Number(matrix[i * 125 + j]);
      }
    expect(ones).toBe(600);
    dense.dispose();
    const { offsets } = (await (await make(2, 3)).adjacency()) as Csr;
    expect([...(await offsets.data())]).toEqual([0, 2, 5, 7, 10, 14, 17, 19, 22, 24]);
  });

  it('diffusion is that of the definition, and keeps the mass', async () => {
    const l = await make(2, 4);
    const field = new Float32Array(16);
    field[5] = 1;
    const after = await (await l.diffuse(field, 3, { rate: 0.2 })).data();
    for (const [v, x] of [
      [0, 0.096],
      [1, 0.12],
      [5, 0.12],
      [10, 0.048],
      [15, 0],
    ] as const)
      expect(after[v]).toBeCloseTo(x, 6);
    const mass = (x: ArrayLike<number | bigint>): number => Array.from(x, Number).reduce((a, b) => a + b, 0);
    expect(mass(after)).toBeCloseTo(1, 6);
    expect(mass(await (await l.diffuse(field, 20, { boundary: 'periodic' })).data())).toBeCloseTo(1, 6);
    expect(mass(await (await l.diffuse(field, 20, { boundary: 'zero' })).data())).toBeLessThan(0.9);
    const copy = await l.diffuse(field, 0);
    expect(await copy.data()).toEqual(field);
    // Around a hole: against sums written out.
    const holes = await make(2, 5, [6, 7, 12]);
    const random = numbers(3);
    const start = Float32Array.from({ length: 25 }, random);
    let x = Float64Array.from(start);
    for (let step = 0; step < 5; step++) {
      const now = x;
      x = now.map((value, v) =>
        [6, 7, 12].includes(v) ? value : value + 0.15 * holes.neighbors(v).reduce((sum, u) => sum + now[u]! - value, 0),
      );
    }
    const got = await (await holes.diffuse(start, 5, { rate: 0.15 })).data();
    for (let v = 0; v < 25; v++) expect(got[v]).toBeCloseTo(x[v]!, 5);
  });

  it('diffusion of many steps takes a kernel for each at most, and gives what single steps give', async () => {
    const rt = await runtimeOf(kind);
    const start = Float32Array.from({ length: 60 }, numbers(4));
    for (const boundary of ['insulated', 'periodic', 'zero'] as const) {
      let one = rt.tensor(start, [3, 4, 5]) as Tensor;
      for (let i = 0; i < 23; i++) one = diffuseField(rt, one, 1, { boundary });
      const field = rt.tensor(start, [3, 4, 5]).compute();
      diffuseField(rt, field, 23, { boundary }).dispose();
      const before = rt.stats().launches;
      const many = diffuseField(rt, field, 23, { boundary });
      expect(rt.stats().launches - before).toBeLessThanOrEqual(23);
      expect(await many.data()).toEqual(await one.data());
    }
  });

  it('diffusion ends when its caller says so, before it begins and in the middle, and leaves nothing behind', async () => {
    const rt = await runtimeOf(kind);
    const field = new Float32Array(16).fill(1);
    for (const blocked of [undefined, [5]]) {
      const l = await make(2, 4, blocked);
      (await l.diffuse(field, 31)).dispose();
      const before = rt.stats();
      const cause = new Error('enough');
      const told = l.diffuse(field, 1, { signal: AbortSignal.abort(cause) });
      await expect(told).rejects.toMatchObject({ code: 'ABORTED', where: 'diffuse', cause });
      const end = new AbortController();
      // Without the signal this would take days.
      const running = l.diffuse(field, 2 ** 40, { signal: end.signal });
      setTimeout(() => end.abort(), 20);
      await expect(running).rejects.toThrow(Aborted);
      // Not equal: the collector may meanwhile take what earlier tests forgot.
      expect(rt.stats().tensors).toBeLessThanOrEqual(before.tensors);
      expect((await (await l.diffuse(field, 2)).data())[0]).toBeCloseTo(1, 6);
    }
  });

  it('tensors are combined, transformed, turned and reduced', async () => {
    const rt = await runtimeOf(kind);
    const l = await make(2, 4);
    for (const x of [
      rt.tensor([1.5, -2, 3]),
      rt.tensor(new Int32Array([1, -2, 3])),
      rt.tensor(new Uint8Array([1, 2, 255])),
    ]) {
      const { data, key } = await l.xorWithNewKey(x, { seed: 4 });
      expect(data.dtype).toBe(x.dtype);
      expect(await (await l.xor(data, key)).data()).toEqual(await x.data());
      expect(await (await l.xor(await l.xor(x, 77), 77)).data()).toEqual(await x.data());
    }
    const normal = await l.transform(rt.tensor([1, 2, 3, 4, 5]), 'normalize');
    const values = await (normal as Tensor).data();
    [-1, -0.5, 0, 0.5, 1].forEach((v, i) => void expect(values[i]).toBeCloseTo(v * Math.SQRT2, 6));
    const scaled = (await l.transform(rt.tensor([1, 2]), 'scale', { factor: 3 })) as Tensor;
    expect([...(await scaled.data())]).toEqual([3, 6]);
    const m = rt.tensor([
      [1, 2],
      [3, 4],
    ]);
    expect(await (await l.rotate90(m, [0, 1])).array()).toEqual([
      [2, 4],
      [1, 3],
    ]);
    expect(await (await l.reflect(m, 1)).array()).toEqual([
      [2, 1],
      [4, 3],
    ]);
    expect(await (await l.permuteAxes(m, [1, 0])).array()).toEqual([
      [1, 3],
      [2, 4],
    ]);
    expect(
      await (
        await l.matmul(m, [
          [1, 0],
          [0, 2],
        ])
      ).array(),
    ).toEqual([
      [1, 4],
      [3, 8],
    ]);
    expect([await l.reduce(m, 'sum'), await l.reduce(m, 'max'), await l.reduce(m, 'min')]).toEqual([10, 4, 1]);
  });
});

describe.each(kinds)('a device that fails: %s', (kind) => {
  it('in the middle of a search leaves the right result, and the lattice says so', async () => {
    let faulty: ReturnType<typeof withFaults> | undefined;
    await using runtime = await createRuntime({
      devices: [kind],
      wrap: (device) => (faulty = withFaults(device)),
      recovery: { timeoutMs: 5000 },
    });
    const blocked = [7, 8];
    const device = runtime.devices().find((d) => d.open)!.id;
    const l = new Lattice({ dimensions: 2, size: 5, runtime, device, blocked });
    const expected = plainDistances(2, 5, new Set(blocked), 0);
    const works: readonly (() => Promise<unknown>)[] = [
      () => l.distancesFrom(0, { method: 'levels' }),
      () => l.reach(0, { method: 'bits' }),
      async () => (await l.shortestPath(0, 24, { method: 'levels' })).length,
      () => l.analyze({ method: 'levels' }),
      () => l.countWalks(0, 24, 12, { bits: 32 }),
    ];
    const maze = { d: 2, n: 5, blocked: new Set(blocked) };
    const walks = walksOf(maze, 0, 12)[24];
    const results = [expected, { reached: 23, levels: 8 }, 8, analysisOf(maze), walks];
    for (const [i, work] of works.entries()) {
      let launches = 0;
      const before = l.stats().fallbacks.length;
      const stops = (['launch', 'replay'] as const).map((event) =>
        runtime.on(event, () => {
          if (++launches === 4) faulty!.lose('in the middle');
        }),
      );
      expect(await work()).toEqual(results[i]);
      for (const stop of stops) stop();
      // A device that comes back does the rest itself; one that does not leaves it to the host, which is told.
      const { fallbacks } = l.stats();
      if (fallbacks.length > before) expect(['cpu', 'host']).toContain(fallbacks.at(-1)!.to);
      else expect(launches).toBeGreaterThan(4);
    }
    if (kind === 'reference') expect(l.device).toMatch(/^(cpu|host)$/);
  });
});

describe('data that a device cannot hold', () => {
  it('goes to another device or the host, and the lattice says so', async () => {
    if (!kinds.includes('webgpu')) return;
    await using runtime = await createRuntime({ devices: ['webgpu', 'cpu'], cpu: { threads: 1 } });
    const device = runtime.devices().find((d) => d.id.startsWith('webgpu'))!.id;
    const l = new Lattice({ dimensions: 2, size: 4, runtime, device });
    const words = runtime.tensor(BigUint64Array.of(1n, 2n ** 60n));
    const hidden = await l.xor<Tensor>(words, runtime.tensor(BigUint64Array.of(3n, 5n)));
    expect([...(await hidden.data())]).toEqual([2n, 2n ** 60n + 5n]);
    expect(l.stats().fallbacks).toMatchObject([{ method: 'xor', from: device, to: 'cpu' }]);
  });
});
