// Batches: what many lattices ask at once is found at once, and is what each would have found alone.

import { afterAll, describe, expect, it } from 'vitest';
import type { Tensor } from '../../src/index.ts';
import { createBatch, InvalidArgumentError, Lattice, VertexBlockedError } from '../../src/lattice/index.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { numbers, plainDistances, randomMask } from './plain.ts';

afterAll(closeAll);

describe.each(kinds)('a batch on %s', (kind) => {
  const make = async (d: number, n: number, count: number) => {
    const runtime = await runtimeOf(kind);
    const device = runtime.devices().find((x) => x.open)!.id;
    const random = numbers(81);
    const masks = Array.from({ length: count }, () => randomMask(random, n ** d, 0.3));
    for (const mask of masks) mask.delete(0);
    const lattices = masks.map((blocked) => new Lattice({ dimensions: d, size: n, runtime, device, blocked }));
    return { rt: runtime, masks, lattices, batch: createBatch(lattices) };
  };

  it('searches as often as one lattice does', async () => {
    const { rt, masks, lattices, batch } = await make(2, 6, 5);
    const search = () => Promise.all(lattices.map((l) => l.distancesFrom(0, { batch, method: 'levels' })));
    await search();
    const before = rt.stats();
    const found = await search();
    const after = rt.stats();
    found.forEach((distances, i) => void expect(distances).toEqual(plainDistances(2, 6, masks[i]!, 0)));
    const levels = lattices[0]!.stats().levels / 2;
    // One kernel per level; besides, the start, a question every 16 levels, and the result.
    expect(after.launches - before.launches).toBeLessThanOrEqual(levels + Math.ceil(levels / 16) + 5);
    expect(after.waits - before.waits).toBeLessThanOrEqual(1 + Math.ceil(levels / 16));
    expect(after.bytes).toBe(before.bytes);
    const pairs = masks.map((mask, i) => {
      const distances = plainDistances(2, 6, mask, 0);
      return [...distances.keys()]
        .filter((v) => distances[v]! >= 0)
        .slice(-2 - i)
        .map((t): [number, number] => [0, t]);
    });
    const levelsBefore = lattices[0]!.stats().levels;
    const paths = await Promise.all(lattices.map((l, i) => l.shortestPaths(pairs[i]!, { batch, method: 'levels' })));
    expect(lattices[0]!.stats().levels - levelsBefore).toBe(levels);
    for (const [i, l] of lattices.entries())
      for (const [j, [s, t]] of pairs[i]!.entries())
        expect(paths[i]![j]!.length).toBe((await l.shortestPath(s, t)).length);
  });

  it('analyses all lattices at once', async () => {
    const { rt, lattices, batch } = await make(2, 4, 4);
    const nothing = new Lattice({
      dimensions: 2,
      size: 4,
      runtime: rt,
      device: rt.devices().find((x) => x.open)!.id,
      blocked: Array.from({ length: 16 }, (_, v) => v),
    });
    const all = createBatch([...lattices, nothing]);
    const found = await Promise.all([...lattices, nothing].map((l) => l.analyze({ batch: all, method: 'levels' })));
    for (const [i, l] of [...lattices, nothing].entries()) expect(found[i]).toEqual(await l.analyze());
    const before = rt.stats().waits;
    await Promise.all(lattices.map((l) => l.analyze({ batch, method: 'levels' })));
    expect(rt.stats().waits - before).toBeLessThanOrEqual(2);
    expect(await lattices[0]!.analyze({ method: 'levels' })).toEqual(await lattices[0]!.analyze());
  });

  it('combines tensors in one kernel, and spreads fields with one kernel per step', async () => {
    const { rt, lattices, batch } = await make(2, 4, 3);
    const data = lattices.map((_, i) => rt.random.normal([16], { seed: i }).compute());
    const keys = lattices.map((_, i) => rt.random.normal([16], { seed: 9 + i }).compute());
    const xor = () => Promise.all(lattices.map((l, i) => l.xor<Tensor>(data[i]!, keys[i]!, { batch })));
    await xor();
    const before = rt.stats().launches;
    const hidden = await xor();
    await rt.flush();
    expect(rt.stats().launches - before).toBe(1);
    for (const [i, l] of lattices.entries()) {
      const alone = await l.xor<Tensor>(data[i]!, keys[i]!);
      expect(await hidden[i]!.bytes()).toEqual(await alone.bytes());
    }
    const fields = lattices.map((_, i) => Float32Array.from({ length: 16 }, (_, v) => (v * 7 + i) % 5));
    const spread = await Promise.all(lattices.map((l, i) => l.diffuse(fields[i]!, 6, { batch })));
    for (const [i, l] of lattices.entries()) {
      const alone = await (await l.diffuse(fields[i]!, 6)).data();
      const together = await spread[i]!.data();
      for (let v = 0; v < 16; v++) expect(together[v]).toBeCloseTo(Number(alone[v]), 6);
    }
  });

  it('is taken by every asynchronous method', async () => {
    const { rt, lattices, batch } = await make(2, 3, 2);
    const [l] = lattices as [Lattice, Lattice];
    const field = new Float32Array(9).fill(1);
    const works: readonly ((l: Lattice) => Promise<unknown>)[] = [
      (x) => x.build({ batch }),
      (x) => x.adjacency({ batch }),
      (x) => x.shortestPath(0, 0, { batch }),
      (x) => x.shortestPaths([[0, 0]], { batch }),
      (x) => x.distancesFrom(0, { batch }),
      (x) => x.reach(0, { batch }),
      (x) => x.countWalks(0, 0, 2, { batch }),
      (x) => x.distanceWithObstacles(0, 0, { batch }),
      (x) => x.xor([1], [2], { batch }),
      (x) => x.xorWithNewKey([1], { batch }),
      (x) => x.transform([1], 'scale', { batch }),
      (x) => x.permuteAxes(field, [1, 0], { batch }),
      (x) => x.reflect(field, 0, { batch }),
      (x) => x.rotate90(field, [0, 1], 1, { batch }),
      (x) => x.analyze({ batch }),
      (x) => x.metrics({ batch }),
      (x) => x.communities('modularity', { batch }),
      (x) => x.centrality('degree', { batch }),
      (x) => x.diffuse(field, 1, { batch }),
      (x) => x.matmul([[1]], [[2]], { batch }),
      (x) => x.reduce([1], 'sum', { batch }),
    ];
    for (const work of works) await work(l);
    const stranger = new Lattice({ dimensions: 2, size: 3, runtime: rt, device: l.device!, blocked: [4] });
    for (const work of works) await expect(work(stranger)).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});

describe('batches', () => {
  it('take lattices of one size and one runtime, and an error of one call is its own', async () => {
    const runtime = await runtimeOf('cpu');
    const at = (size: number) => new Lattice({ dimensions: 2, size, runtime, device: 'cpu', blocked: [1] });
    expect(() => createBatch([])).toThrow(/no lattices/);
    expect(() => createBatch([at(3), at(4)])).toThrow(/\(2, 3\) and \(2, 4\)/);
    expect(() => createBatch([at(3), new Lattice({ dimensions: 2, size: 3 })])).toThrow(/one runtime/);
    const lattices = [at(3), at(3)] as const;
    const batch = createBatch(lattices);
    const [good, bad] = await Promise.allSettled([
      lattices[0].distancesFrom(0, { batch, method: 'levels' }),
      lattices[1].distancesFrom(1, { batch, method: 'levels' }),
    ]);
    expect(good.status === 'fulfilled' && good.value[8]).toBe(4);
    expect(bad.status === 'rejected' && bad.reason).toBeInstanceOf(VertexBlockedError);
  });
});
