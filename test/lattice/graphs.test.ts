// Work on graphs and centralities on devices: what the host's methods find, on every device.

import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, withFaults } from '../../src/index.ts';
import { shortestTree } from '../../src/lattice/dijkstra.ts';
import { rowsOfEdges } from '../../src/lattice/graph-rows.ts';
import { type Edge, Graph, Lattice } from '../../src/lattice/index.ts';
import { bucketsOf, widthFor } from '../../src/lattice/on-device/buckets.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { numbers, randomMask } from './plain.ts';

afterAll(closeAll);

/** A random graph with isolated vertices, a hub and a few parts. */
function randomGraph(random: () => number, vertices: number, count: number, weights: boolean): Graph {
  const seen = new Map<string, Edge>();
  const add = (a: number, b: number): void => {
    const [low, high] = a < b ? [a, b] : [b, a];
    if (low === high) return;
    const edge: Edge = weights ? [low, high, 0.1 + random()] : [low, high];
    seen.set(`${low} ${high}`, seen.get(`${low} ${high}`) ?? edge);
  };
  const any = (): number => Math.floor(random() * (vertices - 3));
  for (let i = 0; i < count; i++) add(any(), any());
  for (let i = 0; i < vertices / 3; i++) add(1, any());
  return Graph.fromEdges(vertices, seen.values());
}

const close = (found: Float64Array, expected: Float64Array, by: number): void => {
  expect(found.length).toBe(expected.length);
  found.forEach((x, v) => void expect(Math.abs(x - expected[v]!)).toBeLessThanOrEqual(by * Math.max(1, expected[v]!)));
};

describe('rows grouped by length', () => {
  it.each([false, true])('hold every vertex once, in places enough and not many more (CPU: %s)', (host) => {
    for (let length = 0; length < 200; length++) {
      const width = widthFor(length, host);
      expect(width).toBeGreaterThanOrEqual(length);
      expect(width).toBeLessThanOrEqual(Math.max(1.25 * length, host && length > 8 ? length + 7 : 0));
      if (host && width > 8) expect(width % 8).toBe(0);
    }
    const graph = randomGraph(numbers(71), 300, 900, false).rows;
    const buckets = bucketsOf(graph, host);
    expect([...buckets.flatMap((b) => [...b.vertices])].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 300 }, (_, v) => v),
    );
    for (const { vertices, width } of buckets)
      for (const v of vertices) expect(graph.offsets[v + 1]! - graph.offsets[v]!).toBeLessThanOrEqual(width);
  });
});

it('a tree of shortest paths settles each vertex once, the nearest first, however often it was found nearer', () => {
  const edges: Edge[] = [
    [0, 1, 9],
    [0, 2, 1],
    [2, 1, 5],
    [2, 3, 1],
    [3, 1, 2],
    [1, 4, 1],
  ];
  const { order, distances, before } = shortestTree(rowsOfEdges(6, edges, 'test'), 0);
  expect(order).toEqual([0, 2, 3, 1, 4]);
  expect([...distances]).toEqual([0, 4, 1, 2, 5, Number.POSITIVE_INFINITY]);
  expect([...before]).toEqual([-1, 3, 0, 2, 1, -1]);
  expect(shortestTree(rowsOfEdges(6, edges, 'test'), 0, 3).order).toEqual([0, 2, 3]);
});

describe.each(kinds)('a graph on %s', (kind) => {
  it('is searched to the end of a long chain, past many looks at whether anything changed', async () => {
    const rt = await runtimeOf(kind);
    const graph = Graph.fromEdges(
      90,
      Array.from({ length: 88 }, (_, v): [number, number, number] => [v, v + 1, 0.1 * (1 + (v % 7))]),
    );
    using there = graph.on(rt);
    expect(await there.distancesFrom(0)).toEqual(graph.distancesFrom(0));
    expect(there.fallbacks.length).toBe(kind === 'webgpu' ? 1 : 0);
  });

  it.each([false, true])('has the distances and ranks of the host (weighted: %s)', async (weights) => {
    const rt = await runtimeOf(kind);
    const random = numbers(weights ? 72 : 73);
    for (const [vertices, edges] of [
      [40, 60],
      [120, 500],
      [5, 0],
    ] as const) {
      const graph = randomGraph(random, vertices, edges, weights);
      using there = graph.on(rt);
      for (const s of [0, 1, vertices - 1]) {
        // The same bits: sums are rounded in the same order.
        expect(await there.distancesFrom(s)).toEqual(graph.distancesFrom(s));
      }
      close(await there.pageRank(), graph.pageRank(), 1e-9);
      const few = { maxRounds: 3, tolerance: 1e-300 };
      close(await there.pageRank(few), graph.pageRank(few), 1e-14);
      const f64 = rt.devices().some((d) => d.open && rt.device(d.id).caps.dtypes.has('f64'));
      expect(there.fallbacks.length > 0).toBe(!f64);
    }
  });

  it('has the betweenness of the host', async () => {
    const rt = await runtimeOf(kind);
    const graph = randomGraph(numbers(74), kind === 'reference' ? 30 : 80, 120, false);
    using there = graph.on(rt);
    close(await there.betweenness(), await graph.centrality('betweenness'), 1e-9);
    close(
      await there.betweenness({ normalized: true }),
      await graph.centrality('betweenness', { normalized: true }),
      1e-9,
    );
    const weighted = randomGraph(numbers(75), 20, 30, true);
    using other = weighted.on(rt);
    close(await other.betweenness(), await weighted.centrality('betweenness'), 1e-9);
    expect(other.fallbacks[0]!.reason).toMatch(/by weight/);
  });

  it('refuses what is no vertex, and everything after its end', async () => {
    const rt = await runtimeOf(kind);
    const there = Graph.fromEdges(3, [[0, 1]]).on(rt);
    for (const v of [-1, 3, 0.5, Number.NaN])
      await expect(there.distancesFrom(v)).rejects.toMatchObject({ code: 'VERTEX_RANGE' });
    await expect(there.pageRank({ damping: 1 })).rejects.toThrow(/damping is 1/);
    const before = rt.stats().bytes;
    await there.pageRank();
    there.dispose();
    expect(rt.stats().bytes).toBeLessThanOrEqual(before);
    for (const act of [() => there.pageRank(), () => there.distancesFrom(0), () => there.betweenness()])
      await expect(act()).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  it('betweenness of a lattice is that of the host, with a mask and without', async () => {
    const runtime = await runtimeOf(kind);
    const device = runtime.devices().find((d) => d.open)!.id;
    const random = numbers(76);
    for (const [d, n] of kind === 'reference'
      ? ([[2, 4]] as const)
      : ([
          [2, 6],
          [3, 4],
          [4, 3],
        ] as const)) {
      for (const blocked of [new Set<number>(), randomMask(random, n ** d, 0.3)]) {
        const l = new Lattice({ dimensions: d, size: n, runtime, device, blocked });
        const expected = await l.centrality('betweenness', { method: 'host' });
        close(await l.centrality('betweenness', { method: 'device' }), expected, 1e-9);
        await l.dispose();
      }
    }
  });
});

describe('a device that fails', () => {
  it('in the middle of PageRank or betweenness leaves the result of the host', async () => {
    const graph = randomGraph(numbers(77), 40, 80, false);
    const works = [
      [(g: ReturnType<Graph['on']>) => g.pageRank(), () => graph.pageRank()],
      [(g: ReturnType<Graph['on']>) => g.betweenness(), () => graph.centrality('betweenness')],
      [(g: ReturnType<Graph['on']>) => g.distancesFrom(0), () => graph.distancesFrom(0)],
    ] as const;
    for (const [onDevice, onHost] of works) {
      let faulty: ReturnType<typeof withFaults> | undefined;
      await using runtime = await createRuntime({
        devices: ['reference'],
        wrap: (device) => (faulty = withFaults(device)),
        recovery: { timeoutMs: 2000 },
      });
      let launches = 0;
      runtime.on('launch', () => {
        if (++launches === 5) faulty!.lose('in the middle');
      });
      using there = graph.on(runtime);
      close(await onDevice(there), await onHost(), 1e-9);
      expect(there.fallbacks).toMatchObject([{ from: 'reference', to: 'cpu' }]);
      // The device does not come back; the host goes on.
      close(await onDevice(there), await onHost(), 1e-9);
      expect(there.fallbacks.length).toBe(2);
    }
  });
});
