// The values that define a lattice: counts, distances, paths, centralities, communities.

import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import { Graph, Lattice } from '../../src/lattice/index.ts';
import { all } from '../support/extent.ts';
import { within } from '../support/time.ts';
import { coordsOf, numbers, plainDistances, plainNeighbors, randomMask } from './plain.ts';

const table = [
  [1, 2, 2, 1, 1, 1],
  [2, 4, 16, 24, 6, 3],
  [2, 10, 100, 180, 18, 3.6],
  [3, 5, 125, 300, 12, 4.8],
  [3, 10, 1000, 2700, 27, 5.4],
  [4, 5, 625, 2000, 16, 6.4],
  [4, 8, 4096, 14_336, 28, 7],
  [4, 10, 10_000, 36_000, 36, 7.2],
  [5, 3, 243, 810, 10, 20 / 3],
  [10, 2, 1024, 5120, 10, 10],
] as const;

const lattice = (dimensions: number, size: number): Lattice => new Lattice({ dimensions, size, device: 'cpu' });

describe.each(table)('the lattice (%i, %i)', (d, n, vertices, edges, diameter, meanDegree) => {
  const l = lattice(d, n);

  it('has the counts of the closed forms, and as many when they are counted', async () => {
    const analysis = await l.analyze();
    expect(analysis).toMatchObject({ vertices, edges, diameter, isConnected: true, clusteringCoefficient: 0 });
    expect(analysis.avgDegree).toBeCloseTo(meanDegree, 12);
    expect(analysis.density).toBeCloseTo((2 * edges) / (vertices * (vertices - 1)), 15);
    expect(l.analyzeClosedForm()).toEqual(analysis);
    expect([l.vertices, l.edges]).toEqual([vertices, edges]);
    // With a corner blocked nothing is a closed form: edges are counted, distances searched.
    const holes = new Lattice({ dimensions: d, size: n, blocked: [0], device: 'cpu' });
    expect([holes.vertices, holes.edges]).toEqual([vertices - 1, edges - d]);
    if (vertices < 2000 && d > 1)
      expect(await holes.analyze()).toMatchObject({ isConnected: true, diameter: d === 2 && n === 2 ? 2 : diameter });
  });

  it('has the neighbours of the definition, and no edge within a colour', () => {
    const random = numbers(d * 100 + n);
    for (let i = 0; i < 50; i++) {
      const v = Math.floor(random() * vertices);
      const near = l.neighbors(v);
      expect(near).toEqual(plainNeighbors(v, d, n));
      const colour = (u: number): number => coordsOf(u, d, n).reduce((a, b) => a + b, 0) % 2;
      for (const u of near) expect(colour(u)).not.toBe(colour(v));
      expect(l.coordsToIndex(l.indexToCoords(v))).toBe(v);
      expect(l.indexToCoords(v)).toEqual(coordsOf(v, d, n));
    }
  });
});

describe('paths', () => {
  it.each([
    [4, 10],
    [10, 2],
  ])('of (%i, %i) end where they should, go by neighbours, and are as long as the distance', async (d, n) => {
    const l = lattice(d, n);
    const random = numbers(7);
    for (let i = 0; i < 1000; i++) {
      const [s, t] = [random(), random()].map((r) => Math.floor(r * n ** d)) as [number, number];
      const manhattan = coordsOf(s, d, n).reduce((sum, x, k) => sum + Math.abs(x - coordsOf(t, d, n)[k]!), 0);
      expect(l.distance(s, t)).toBe(manhattan);
      for (const method of i % 20 === 0 ? (['closed', 'search'] as const) : (['closed'] as const)) {
        const { path, length } = await l.shortestPath(s, t, { method });
        expect([path[0], path[path.length - 1], path.length, length]).toEqual([s, t, manhattan + 1, manhattan]);
        for (let k = 1; k < path.length; k++) expect(l.distance(path[k - 1]!, path[k]!)).toBe(1);
      }
      expect((await l.shortestPath(t, s)).length).toBe(manhattan);
    }
    expect((await l.shortestPath(5, 5)).path).toEqual([5]);
  });

  const counts = (paths: Iterable<readonly number[]>): Record<number, number> => {
    const found: Record<number, number> = {};
    const seen = new Set<string>();
    let last = 0;
    for (const p of paths) {
      expect(p.length).toBeGreaterThanOrEqual(last);
      last = p.length;
      expect(new Set(p).size).toBe(p.length);
      expect(seen.has(p.join())).toBe(false);
      seen.add(p.join());
      found[p.length - 1] = (found[p.length - 1] ?? 0) + 1;
    }
    return found;
  };

  it('are all found, each once, by length', () => {
    expect(counts(lattice(2, 2).allPaths(0, 3, { maxLength: 9 }))).toEqual({ 2: 2 });
    expect(counts(lattice(2, 3).allPaths(0, 8, { maxLength: 99 }))).toEqual({ 4: 6, 6: 4, 8: 2 });
    expect(counts(lattice(2, 4).allPaths(0, 15, { maxLength: 15 }))).toEqual({ 6: 20, 8: 36, 10: 48, 12: 48, 14: 32 });
    expect(counts(lattice(3, 2).allPaths(0, 7, { maxLength: 7 }))).toEqual({ 3: 6, 5: 6, 7: 6 });
    expect(counts(lattice(2, 4).allPaths(0, 5, { maxLength: 4 }))).toEqual({ 2: 2, 4: 2 });
    expect(counts(lattice(2, 4).allPaths(0, 15))).toEqual({ 6: 20 });
    expect([...lattice(2, 4).allPaths(3, 3)]).toEqual([[3]]);
    expect([...lattice(2, 4).allPaths(0, 15, { maxLength: 5 })]).toEqual([]);
  });

  it('end at the limit and say so', () => {
    const some = lattice(2, 4).allPaths(0, 15, { maxLength: 14, limit: 100 });
    expect([...some].length).toBe(100);
    expect(some.truncated).toBe(true);
    const exact = lattice(2, 4).allPaths(0, 15, { maxLength: 14, limit: 184 });
    expect([...exact].length).toBe(184);
    expect(exact.truncated).toBe(false);
    // The first paths of a lattice that could never be built.
    const huge = lattice(10, 39).allPaths(0, 39 ** 10 - 1, { limit: 3 });
    expect([...huge].map((p) => p.length)).toEqual([381, 381, 381]);
  });

  it('are counted exactly', () => {
    expect(lattice(4, 10).countShortestPaths(0, 9999)).toBe(21_452_752_266_265_320_000n);
    expect(lattice(3, 5).countShortestPaths(0, 124)).toBe(34_650n);
    expect(lattice(2, 4).countShortestPaths(3, 3)).toBe(1n);
    // The same by counting along a search: a mask that blocks something far away.
    const l = new Lattice({ dimensions: 2, size: 6, blocked: [5] });
    expect(l.countShortestPaths(0, 28)).toBe(lattice(2, 6).countShortestPaths(0, 28));
  });
});

describe('around random masks', () => {
  it('distances, paths and counts are those of a plain search', async () => {
    const random = numbers(17);
    for (let i = 0; i < 1000; i++) {
      const [d, n] = [
        [1, 12],
        [2, 6],
        [3, 4],
        [4, 3],
        [5, 2],
      ][i % 5] as [number, number];
      const blocked = randomMask(random, n ** d, 0.6 * random());
      const [s, t] = [random(), random()].map((r) => Math.floor(r * n ** d)) as [number, number];
      blocked.delete(s);
      blocked.delete(t);
      const l = new Lattice({ dimensions: d, size: n, blocked });
      const expected = plainDistances(d, n, blocked, s);
      expect(await l.distancesFrom(s)).toEqual(expected);
      const found = await l.shortestPath(s, t).catch((e: { code: string }) => e.code);
      if (typeof found === 'string') {
        expect([found, expected[t], l.countShortestPaths(s, t)]).toEqual(['2005', -1, 0n]);
        continue;
      }
      expect([found.length, found.path[0], found.path.at(-1)]).toEqual([expected[t], s, t]);
      expect(found.path.every((v, k) => k === 0 || l.neighbors(found.path[k - 1]!).includes(v))).toBe(true);
      expect(l.distance(s, t)).toBe(expected[t]);
      if (i >= 300 && !all) continue;
      // Every shortest path, enumerated.
      if (expected[t]! < 8) expect(BigInt([...l.allPaths(s, t)].length)).toBe(l.countShortestPaths(s, t));
      // The farthest of all distances, where all can be reached.
      const free = Array.from({ length: n ** d }, (_, v) => v).filter((v) => !blocked.has(v));
      if (free.length > 40 || i % 3 > 0) continue;
      const each = free.map((v) => plainDistances(d, n, blocked, v));
      const connected = free.every((v) => each[0]![v]! >= 0);
      const diameter = Math.max(...each.flatMap((row) => free.map((v) => row[v]!)));
      expect((await l.analyze()).diameter).toBe(connected ? diameter : -1);
    }
  });
});

describe('the cache of paths', () => {
  it('stays within its limit after 100,000 distinct queries, and says what it did', async () => {
    const l = new Lattice({ dimensions: 4, size: 10, pathCache: 500 });
    for (let i = 0; i < 100_000; i++) await l.shortestPath(i % 10_000, Math.floor(i / 10_000));
    const { cache } = l.stats();
    expect(cache).toMatchObject({ entries: 500, limit: 500, hits: 0, misses: 100_000, evictions: 99_500 });
    expect((await l.metrics()).memoryUsageMb).toBe(cache.bytes / 2 ** 20);
  });

  it('gives hits their own time, gives out copies, and is emptied by building and by another mask', async () => {
    await using runtime = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    await using l = new Lattice({ dimensions: 2, size: 4, device: 'cpu', runtime });
    const first = await l.shortestPath(0, 15);
    (first.path as number[])[0] = 99;
    const again = await l.shortestPath(0, 15);
    expect([first.cached, again.cached, again.path[0]]).toEqual([false, true, 0]);
    const times = [again.ms];
    for (let i = 0; i < 4; i++) times.push((await l.shortestPath(0, 15)).ms);
    expect(Math.min(...times)).toBeLessThan(within(5));
    expect(await l.shortestPath(0, 15, { method: 'search' })).toMatchObject({ cached: false });
    await l.build();
    expect((await l.shortestPath(0, 15)).cached).toBe(false);
    l.setBlocked([1]);
    expect((await l.shortestPath(0, 15)).cached).toBe(false);
    expect((await new Lattice({ pathCache: 0 }).shortestPath(0, 1)).cached).toBe(false);
  });
});

const near = (values: Float64Array, expected: Record<number, number>, digits = 9): void => {
  for (const [v, x] of Object.entries(expected)) expect(values[Number(v)]).toBeCloseTo(x, digits);
};
const sum = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);

describe('centralities', () => {
  it('are those of the definitions', async () => {
    const between = await lattice(2, 3).centrality('betweenness');
    near(between, { 0: 4 / 3, 4: 32 / 3 });
    expect(sum(between)).toBeCloseTo(36, 9);
    const four = await lattice(2, 4).centrality('betweenness');
    near(four, { 0: 25 / 12, 1: 43 / 4, 5: 317 / 12 });
    expect(sum(four)).toBeCloseTo(200, 9);
    const cube = await lattice(3, 3).centrality('betweenness');
    near(cube, { 0: 42 / 5, 13: 341 / 5 });
    expect(sum(cube)).toBeCloseTo(621, 9);
    near(await lattice(2, 4).centrality('betweenness', { normalized: true }), { 0: 25 / 12 / 105 });
    near(await lattice(2, 4).centrality('closeness'), { 0: 0.3125, 5: 0.46875 });
    near(await lattice(3, 5).centrality('closeness'), { 0: 0.165333, 62: 0.275556 }, 6);
    near(await lattice(2, 4).centrality('degree'), { 0: 2, 1: 3, 5: 4 });
    near(await lattice(2, 4).centrality('degree', { normalized: true }), { 5: 4 / 15 });
    near(await lattice(2, 4).centrality('eigenvector'), { 5: 1, 0: 0.381966 }, 6);
  });

  it('by closed form and symmetry are those of the general algorithms', async () => {
    for (const [d, n] of [
      [2, 5],
      [3, 4],
      [1, 7],
    ] as const) {
      const l = lattice(d, n);
      const edges = Array.from({ length: n ** d }, (_, v) =>
        l
          .neighbors(v)
          .filter((u) => u > v)
          .map((u) => [v, u] as const),
      ).flat();
      const graph = Graph.fromEdges(n ** d, edges);
      for (const kind of ['betweenness', 'closeness', 'degree', 'eigenvector'] as const) {
        const [a, b] = [await l.centrality(kind), await graph.centrality(kind)];
        for (let v = 0; v < a.length; v++) expect(a[v]).toBeCloseTo(b[v]!, kind === 'eigenvector' ? 6 : 9);
      }
    }
  });

  it('count within components where a mask separates', async () => {
    // 3 × 3 with the middle row blocked: two paths of three.
    const l = new Lattice({ dimensions: 2, size: 3, blocked: [3, 4, 5] });
    near(await l.centrality('degree'), { 0: 1, 1: 2, 3: 0, 7: 2 });
    near(await l.centrality('betweenness'), { 0: 0, 1: 1, 4: 0 });
    near(await l.centrality('closeness'), { 1: (2 / 2) * (2 / 5), 0: (2 / 3) * (2 / 5), 4: 0 });
    near(await l.centrality('eigenvector'), { 1: 1, 0: Math.SQRT1_2, 4: 0 });
  });
});

describe('communities', () => {
  const bars = [
    [2, 4, 5 / 12],
    [2, 10, 23 / 36],
    [3, 4, 13 / 24],
    [4, 8, 89 / 112],
    [4, 10, 119 / 144],
  ] as const;

  it.each(bars)('by modularity of (%i, %i) are at least as good as blocks of half the side', async (d, n, bar) => {
    const l = lattice(d, n);
    const found = await l.communities('modularity', { seed: 3 });
    expect(found.modularity).toBeGreaterThanOrEqual(bar - 1e-12);
    checkPartition(l, found);
    if (n ** d < 1000) expect(await l.communities('modularity', { seed: 3 })).toEqual(found);
  });

  it('by edge betweenness are the four quarters of (2, 4), and are refused where they would take for ever', async () => {
    const l = lattice(2, 4);
    const found = await l.communities('edge_betweenness');
    expect(found.count).toBe(4);
    expect(found.modularity).toBeCloseTo(5 / 12, 12);
    checkPartition(l, found);
    await expect(lattice(4, 10).communities('edge_betweenness')).rejects.toThrow(/36000 edges would take about \d+ ms/);
    await expect(lattice(2, 20).communities('edge_betweenness', { limitMs: 1 })).rejects.toThrow(/limit is 1 ms/);
  });

  it('by label propagation cover everything, and are the same for a seed', async () => {
    const l = new Lattice({ dimensions: 2, size: 8, blocked: [9, 10, 11] });
    const found = await l.communities('label_propagation', { seed: 5 });
    checkPartition(l, found);
    expect(await l.communities('label_propagation', { seed: 5 })).toEqual(found);
    expect([...found.of].flatMap((c, v) => (c === -1 ? [v] : []))).toEqual([9, 10, 11]);
  });
});

function checkPartition(l: Lattice, found: { of: Int32Array; count: number; modularity: number }): void {
  const used = new Set([...found.of].filter((c) => c >= 0));
  expect([...used].sort((a, b) => a - b)).toEqual(Array.from({ length: found.count }, (_, i) => i));
  // Q from its definition.
  const inside = new Array<number>(found.count).fill(0);
  const degree = new Array<number>(found.count).fill(0);
  let edges = 0;
  found.of.forEach((c, v) => {
    if (c < 0) return;
    for (const u of l.neighbors(v)) {
      edges += 0.5;
      degree[c]! += 1;
      if (found.of[u] === c) inside[c]! += 0.5;
    }
  });
  const q = inside.reduce((total, e, c) => total + e / edges - (degree[c]! / (2 * edges)) ** 2, 0);
  expect(found.modularity).toBeCloseTo(q, 12);
}

describe('figures about itself', () => {
  it('are those of the definitions', async () => {
    const l = lattice(4, 10);
    expect((await l.analyze()).density).toBeCloseTo(0.00072, 6);
    expect(l.estimateMemory()).toEqual({
      csr: 328_004,
      mask: 10_000,
      distances: 40_000,
      betweenness: 976_000,
      dense: 800_000_000,
    });
    const m = await l.metrics();
    expect(m.denseToSparseRatio).toBeCloseTo(800_000_000 / 328_000, 9);
    expect(m.memoryUsageMb).toBe(0);
    // The largest eigenvalue, 2 d cos(π/(n+1)), by the eigenvector: A·x = λ·x.
    for (const [d, n, expected] of [
      [2, 4, 3.236068],
      [3, 5, 5.196152],
      [4, 5, 6.928203],
    ] as const) {
      const grid = lattice(d, n);
      const x = await grid.centrality('eigenvector');
      for (const v of [0, 7]) {
        const ax = grid.neighbors(v).reduce((s, u) => s + x[u]!, 0);
        expect(ax / x[v]!).toBeCloseTo(expected, 6);
      }
    }
    const closeness = await lattice(4, 5).centrality('closeness');
    const meanDistance = closeness.reduce((s, c) => s + 624 / c, 0) / 625 ** 2;
    expect(meanDistance).toBeCloseTo(6.4, 12);
  });

  it('with a mask are those of what is left', async () => {
    const wall = new Lattice({ dimensions: 2, size: 5, blocked: [5, 6, 7, 8, 16, 17, 18, 19] });
    expect(wall.distance(0, 24)).toBe(16);
    expect(await wall.analyze()).toMatchObject({ vertices: 17, isConnected: true, diameter: 16 });
    const split = new Lattice({ dimensions: 2, size: 3, blocked: Uint8Array.of(0, 0, 0, 1, 1, 1, 0, 0, 0) });
    expect(await split.analyze()).toMatchObject({ vertices: 6, edges: 4, isConnected: false, diameter: -1 });
    const nothing = new Lattice({ dimensions: 1, size: 2, blocked: [0, 1] });
    expect(await nothing.analyze()).toMatchObject({
      vertices: 0,
      edges: 0,
      isConnected: false,
      diameter: -1,
      density: 0,
    });
    expect((await nothing.communities()).count).toBe(0);
    const one = new Lattice({ dimensions: 1, size: 2, blocked: [1] });
    expect(await one.analyze()).toMatchObject({ vertices: 1, isConnected: true, diameter: 0 });
    expect([...(await one.centrality('closeness'))]).toEqual([0, 0]);
  });
});

it('lattices of one shape share what is the same for all, and nothing else', async () => {
  const make = (): Lattice => new Lattice({ dimensions: 3, size: 5 });
  const search = { method: 'search' } as const;
  const wanted = await make().distancesFrom(7, { method: 'closed' });
  const [a, b] = [make(), make()];
  const first = await a.distancesFrom(7, search);
  expect(await b.distancesFrom(7, search)).toEqual(wanted);
  // A mask is one lattice's own.
  a.setBlocked([8, 12]);
  const around = await a.distancesFrom(7);
  expect([around[8], around[12]]).toEqual([-1, -1]);
  expect(await b.distancesFrom(7, search)).toEqual(wanted);
  // Room that others searched in, to the end and not, with results that were given out.
  for (let round = 0; round < 20; round++) {
    const lattices = [make(), make(), make()];
    const targets = [1, 60, 124];
    const paths = await Promise.all(lattices.map((l, i) => l.shortestPath(round, targets[i]!, search)));
    expect(paths.map((p) => p.length)).toEqual(targets.map((t) => b.distance(round, t)));
    if (round % 2 === 0) expect(await lattices[1]!.distancesFrom(7, search)).toEqual(wanted);
    expect(lattices[2]!.stats().searches).toBe(1);
    await Promise.all(lattices.map((l) => l.dispose()));
  }
  expect(first).toEqual(wanted);
  await Promise.all([a, b].map((l) => l.dispose()));
});
