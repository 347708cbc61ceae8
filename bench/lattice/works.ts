// What is measured: our form of each work, the result that peers must have too, and what has to be reached.

import type { Runtime, Tensor } from '../../src/index.ts';
import { diffuseField, Graph, Lattice } from '../../src/lattice/index.ts';
import type { Rows } from './random.ts';

export interface Work {
  readonly id: string;
  /** The peers' work that is compared; many of ours may be beside one of theirs. */
  readonly peer: string | null;
  readonly run: () => unknown;
  /** Values to compare with those of peers, and how near they have to be. */
  readonly result?: (() => Promise<readonly number[]>) | undefined;
  readonly near?: number | undefined;
  /** Milliseconds at most, of all units: a number, or from the medians of peers and of other works. */
  readonly bound: (median: (name: string) => number | undefined) => number | undefined;
  readonly boundText: string;
  /** Parts of the work that a figure is for. */
  readonly units?: number | undefined;
}

const times = (factor: number, name: string) => (median: (name: string) => number | undefined) => {
  const other = median(name);
  return other === undefined ? undefined : factor * other;
};

export function sample(values: ArrayLike<number>): number[] {
  const count = Math.min(64, values.length);
  return Array.from({ length: count }, (_, i) => values[Math.floor((i * (values.length - 1)) / (count - 1))]!);
}

export async function makeWorks(rt: Runtime, rows: Rows): Promise<Work[]> {
  const at = { runtime: rt, device: 'cpu' } as const;
  const lattice = (dimensions: number, size: number) => new Lattice({ dimensions, size, ...at });
  const build = async (d: number, n: number): Promise<number[]> => {
    const l = lattice(d, n);
    const { neighbors } = await l.build();
    const result = [l.vertices, neighbors.size / 2];
    await l.dispose();
    return result;
  };
  const four = lattice(4, 10);
  const built = lattice(4, 10);
  await built.build();
  const cube = lattice(3, 100);
  const eight = lattice(4, 8);
  const graph = Graph.fromCsr(rows.offsets, rows.neighbors);
  const there = graph.on(rt, { device: 'cpu' });
  const field = Float32Array.from({ length: 128 ** 3 }, (_, v) => ((v * 7919) % 10007) / 10007);
  const start = rt.tensor(field, [128, 128, 128]).compute();
  const spread = async (): Promise<Tensor> => {
    const after = diffuseField(rt, start, 30);
    await rt.flush(after);
    return after;
  };
  const numbers = Int32Array.from({ length: 100_000 }, (_, i) => i * 7919);
  const key = numbers.map((x) => x ^ 0x5bd1e995);
  const five = [numbers.slice(0, 5), key.slice(0, 5)] as const;
  const analysis = async (l: Lattice): Promise<number[]> => {
    const a = await l.analyze();
    const { vertices, edges, isConnected, diameter, avgDegree, clusteringCoefficient, density } = a;
    return [vertices, edges, Number(isConnected), diameter, avgDegree, clusteringCoefficient, density];
  };
  const none = (): undefined => undefined;
  return [
    {
      id: 'construct (4, 10), no device',
      peer: 'build (4, 10)',
      run: () => new Lattice(),
      bound: () => 0.05,
      boundText: '50 µs',
    },
    {
      id: 'build (4, 10)',
      peer: 'build (4, 10)',
      run: () => build(4, 10),
      result: () => build(4, 10),
      bound: (m) => Math.min(1.5, times(0.3, 'build (4, 10): igraph')(m) ?? 1.5),
      boundText: '1.5 ms and 0.3 × igraph',
    },
    {
      id: 'build (3, 100)',
      peer: 'build (3, 100)',
      run: () => build(3, 100),
      result: () => build(3, 100),
      bound: (m) => Math.min(60, times(0.3, 'build (3, 100): igraph')(m) ?? 60),
      boundText: '60 ms and 0.3 × igraph',
    },
    {
      id: 'analyse (4, 10), not built',
      peer: 'analyse (4, 10)',
      run: () => four.analyze(),
      result: () => analysis(four),
      bound: () => 0.1,
      boundText: '0.1 ms',
    },
    {
      id: 'analyse (4, 10), built',
      peer: 'analyse (4, 10)',
      run: () => built.analyze(),
      result: () => analysis(built),
      bound: () => 5,
      boundText: '5 ms',
    },
    {
      id: 'path 0 → 9999 in (4, 10), closed form',
      peer: 'path in (4, 10)',
      run: () => four.shortestPath(0, 9999, { method: 'closed' }),
      result: async () => [(await four.shortestPath(0, 9999, { method: 'closed' })).length],
      bound: () => 0.02,
      boundText: '20 µs',
    },
    {
      id: 'path 0 → 9999 in (4, 10), search',
      peer: 'path in (4, 10)',
      run: () => four.shortestPath(0, 9999, { method: 'search' }),
      result: async () => [(await four.shortestPath(0, 9999, { method: 'search' })).length],
      bound: () => 0.5,
      boundText: '0.5 ms',
    },
    {
      id: 'distances from a corner of (3, 100), search',
      peer: 'distances in (3, 100)',
      run: () => cube.distancesFrom(0, { method: 'search' }),
      result: async () => sample(await cube.distancesFrom(0, { method: 'search' })),
      bound: times(0.5, 'distances in (3, 100): igraph'),
      boundText: '0.5 × igraph',
    },
    {
      id: 'betweenness of (4, 8)',
      peer: 'betweenness of (4, 8)',
      run: () => eight.centrality('betweenness', { method: 'host' }),
      result: async () => sample(await eight.centrality('betweenness', { method: 'host' })),
      near: 1e-9,
      bound: times(0.6, 'betweenness of (4, 8): igraph'),
      boundText: '0.6 × igraph',
    },
    {
      id: `PageRank, ${graph.vertices} vertices, ${2 * graph.edges} entries, a round`,
      peer: 'PageRank, 8 rounds',
      run: () => there.pageRank({ maxRounds: 8, tolerance: 1e-300 }),
      result: async () => sample(await there.pageRank({ maxRounds: 8, tolerance: 1e-300 })),
      near: 1e-12,
      bound: times(0.6, 'PageRank, 8 rounds: scipy'),
      boundText: '0.6 × SciPy',
      units: 8,
    },
    {
      id: 'walks (4, 10), L = 36, plain',
      peer: null,
      run: () => four.countWalks(0, 9999, 36),
      bound: none,
      boundText: '',
    },
    {
      id: 'walks (4, 10), L = 36, borrowed',
      peer: null,
      run: () => four.countWalks(0, 9999, 36, { memory: 'borrow' }),
      bound: times(4.5, 'walks (4, 10), L = 36, plain'),
      boundText: '4.5 × plain',
    },
    {
      id: 'diffusion 128³ × 30 steps',
      peer: 'diffusion 128³ × 30',
      run: async () => (await spread()).dispose(),
      result: async () => sample((await (await spread()).data()) as Float32Array),
      near: 1e-4,
      bound: times(0.1, 'diffusion 128³ × 30: scipy'),
      boundText: '0.1 × SciPy',
    },
    { id: 'xor of 5', peer: null, run: () => four.xor(five[0], five[1]), bound: () => 0.005, boundText: '5 µs' },
    { id: 'xor of 100,000', peer: null, run: () => four.xor(numbers, key), bound: () => 0.06, boundText: '60 µs' },
    // What a new array of that size costs by itself.
    { id: 'a copy of the same 100,000', peer: null, run: async () => numbers.slice(), bound: none, boundText: '' },
    {
      id: '100,000 distinct path queries, each',
      peer: null,
      run: async () => {
        const l = lattice(4, 10);
        for (let i = 0; i < 100_000; i++) await l.shortestPath(i % 10_000, Math.floor(i / 10_000) + 1);
        const { entries, limit } = l.stats().cache;
        if (entries > limit) throw new Error('the cache is over its limit');
      },
      bound: () => 0.02 * 100_000,
      boundText: '20 µs',
      units: 100_000,
    },
  ];
}
