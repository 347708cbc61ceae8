// What a GPU would be asked to do: planned for CUDA, made ready for a recording driver, computed by the reference.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Runtime, Tensor } from '../../src/index.ts';
import { createBatch, diffuseField, Graph, Lattice } from '../../src/lattice/index.ts';
import { openCudaPlans } from '../devices/cuda-plans.ts';
import { numbers, plainDistances, randomMask } from './plain.ts';

let rt: Runtime;
beforeAll(async () => {
  rt = await openCudaPlans();
});
afterAll(() => rt.close());

const close = (found: ArrayLike<number>, expected: ArrayLike<number>, by: number): void => {
  for (let i = 0; i < expected.length; i++) expect(Math.abs(found[i]! - expected[i]!)).toBeLessThanOrEqual(by);
};

it('any graph has the distances, ranks and betweenness of the host, with neighbours side by side', async () => {
  const random = numbers(91);
  for (const weights of [false, true]) {
    const edges = new Map<string, [number, number] | [number, number, number]>();
    for (let i = 0; i < 70; i++) {
      const [a, b] = [Math.floor(random() * 30), Math.floor(random() * 30)].sort((x, y) => x - y) as [number, number];
      if (a !== b) edges.set(`${a} ${b}`, weights ? [a, b, 1 + random()] : [a, b]);
    }
    const graph = Graph.fromEdges(31, edges.values());
    using there = graph.on(rt);
    expect(await there.distancesFrom(1)).toEqual(graph.distancesFrom(1));
    close(await there.pageRank(), graph.pageRank(), 1e-9);
    if (!weights) close(await there.betweenness(), await graph.centrality('betweenness'), 1e-9);
    expect(there.fallbacks.length).toBe(0);
  }
});

it('lattices are built, searched, spread and analysed', async () => {
  const random = numbers(92);
  const blocked = randomMask(random, 49, 0.25);
  blocked.delete(0);
  const at = { dimensions: 2, size: 7, runtime: rt, device: 'reference' } as const;
  const l = new Lattice({ ...at, blocked });
  const expected = plainDistances(2, 7, blocked, 0);
  expect(await l.distancesFrom(0, { method: 'levels' })).toEqual(expected);
  const reached = [...expected].filter((d) => d >= 0);
  expect(await l.reach(0, { method: 'bits' })).toEqual({ reached: reached.length, levels: Math.max(...reached) });
  close(
    await l.centrality('betweenness', { method: 'device' }),
    await l.centrality('betweenness', { method: 'host' }),
    1e-9,
  );
  expect(await l.analyze({ method: 'levels' })).toEqual(await l.analyze());
  const other = new Lattice(at);
  for (const x of [l, other]) {
    const { offsets, neighbors } = await x.build();
    const [starts, list] = [await offsets.data(), await neighbors.data()];
    for (let v = 0; v < 49; v++)
      if (!(x === l && blocked.has(v))) expect([...list.subarray(starts[v], starts[v + 1])]).toEqual(x.neighbors(v));
  }
  const batch = createBatch([l, other]);
  const both = await Promise.all([l, other].map((x) => x.distancesFrom(0, { batch, method: 'levels' })));
  expect(both).toEqual([expected, plainDistances(2, 7, new Set(), 0)]);
  const data = [1, 2].map((seed) => rt.random.normal([8], { seed }).compute());
  const hidden = await Promise.all([l, other].map((x, i) => x.xor<Tensor>(data[i]!, data[1 - i]!, { batch })));
  expect(await hidden[0]!.bytes()).toEqual(await hidden[1]!.bytes());
  const field = new Float32Array(49);
  field[0] = 1;
  const spread = await other.diffuse(field, 5);
  const free = diffuseField(rt, rt.tensor(field, [7, 7]), 5);
  close((await spread.data()) as Float32Array, (await free.data()) as Float32Array, 1e-6);
  expect(l.stats().fallbacks).toEqual([]);
});

it('walks are counted, plain and in borrowed memory', async () => {
  const l = new Lattice({ dimensions: 2, size: 3, runtime: rt, device: 'reference', blocked: [4], auxMemoryMb: 0.1 });
  expect(await l.countWalks(0, 8, 4, { memory: 'borrow' })).toBe(2n);
  expect(await l.countWalks(0, 8, 4)).toBe(2n);
});
