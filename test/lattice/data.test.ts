// Data of the host: XOR, transforms, coordinate maps, sums; the names of document 002; graphs of any shape.

import { afterAll, describe, expect, it } from 'vitest';
import { Graph, Lattice, type TypedArray, UnifiedCatalyticLattice } from '../../src/lattice/index.ts';
import { within } from '../support/time.ts';
import { closeAll, runtimeOf } from './devices.ts';
import { numbers } from './plain.ts';

afterAll(closeAll);

const bytes = Uint8Array.from({ length: 48 }, (_, i) => (i * 37 + 11) % 256);
const arrays: readonly TypedArray[] = [
  new Int8Array(bytes.slice().buffer),
  bytes.slice(),
  new Uint8ClampedArray(bytes.slice().buffer),
  new Int16Array(bytes.slice().buffer),
  new Uint16Array(bytes.slice().buffer),
  new Int32Array(bytes.slice().buffer),
  new Uint32Array(bytes.slice().buffer),
  new BigInt64Array(bytes.slice().buffer),
  new BigUint64Array(bytes.slice().buffer),
  new Float32Array(bytes.slice().buffer),
  new Float64Array(bytes.slice().buffer),
  // Not aligned to words.
  bytes.slice().subarray(1, 8),
  new Uint16Array(bytes.slice().buffer, 2, 5),
];
const raw = (x: TypedArray): number[] => [...new Uint8Array(x.buffer, x.byteOffset, x.byteLength)];

it('calls on tensors, in a loop that waits for nothing else, let the event loop turn: what they forget is collected then', async () => {
  const rt = await runtimeOf('cpu');
  const l = new Lattice({ dimensions: 2, size: 4, runtime: rt });
  const x = rt.zeros([4, 4]).compute();
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  const end = performance.now() + within(2000);
  while (!turned && performance.now() < end) (await l.reflect(x, 0)).dispose();
  expect(turned).toBe(true);
});

describe('XOR', () => {
  const l = new Lattice({ dimensions: 2, size: 4 });

  it.each(arrays.map((a) => [a.constructor.name, a] as const))('twice is the identity: %s', async (_, data) => {
    const before = raw(data);
    const { data: hidden, key } = await l.xorWithNewKey(data);
    expect(hidden.constructor).toBe(data.constructor);
    expect(raw(hidden)).not.toEqual(before);
    expect(raw(hidden)).toEqual(before.map((b, i) => b ^ raw(key)[i]!));
    expect(raw(await l.xor(hidden, key))).toEqual(before);
    expect(raw(await l.xor(await l.xor(data, 77), 77))).toEqual(before);
    const short = data.slice(0, 3) as TypedArray;
    expect(raw(await l.xor(await l.xor(data, short, { cycle: true }), short, { cycle: true }))).toEqual(before);
    expect(raw(data)).toEqual(before);
    expect(l.device).toBeNull();
  });

  it('of long arrays is that of their bytes, wherever they begin and end', async () => {
    for (const [length, offset] of [
      [8191, 0],
      [8192, 1],
      [65_536, 3],
      [65_537, 0],
      [200_003, 5],
    ] as const) {
      const all = Uint8Array.from({ length: length + offset }, (_, i) => (i * 167 + (i >> 8)) & 255);
      const [data, key] = [all.subarray(offset), Uint8Array.from({ length }, (_, i) => (i * 91 + (i >> 9)) & 255)];
      const before = data.slice();
      const hidden = await l.xor(data, key);
      expect(hidden.length).toBe(length);
      expect(hidden.every((b, i) => b === (before[i]! ^ key[i]!))).toBe(true);
      expect(data.every((b, i) => b === before[i])).toBe(true);
      const short = Uint8Array.of(1, 2, 4, 8, 16, 32, 65);
      const repeated = await l.xor(data, short, { cycle: true });
      expect(repeated.every((b, i) => b === (before[i]! ^ short[i % 7]!))).toBe(true);
    }
  });

  it('takes plain bytes, repeats a key of one element, and makes the same key from the same seed', async () => {
    expect(await l.xor([1, 2, 255], [3])).toEqual([2, 1, 252]);
    expect(await l.xor([1, 2], 1)).toEqual([0, 3]);
    expect(await l.xor([1, 2, 3, 4, 5], [1, 2], { cycle: true })).toEqual([0, 0, 2, 6, 4]);
    const [a, b] = [await l.xorWithNewKey([1, 2, 3], { seed: 5 }), await l.xorWithNewKey([1, 2, 3], { seed: 5 })];
    expect(a).toEqual(b);
    expect(await l.xor(a.data, a.key)).toEqual([1, 2, 3]);
    expect(await l.transform([5], 'xor', { key: [1] })).toEqual([4]);
    expect([...(await l.xor(Int32Array.of(-1, 5), Int32Array.of(3)))]).toEqual([-4, 6]);
  });
});

describe('transforms', () => {
  const l = new Lattice({ dimensions: 2, size: 4 });

  it('normalize in double precision, and a constant to zeros', async () => {
    const five = (await l.transform([1, 2, 3, 4, 5], 'normalize')) as Float32Array;
    expect(five).toBeInstanceOf(Float32Array);
    [-1, -0.5, 0, 0.5, 1].forEach((v, i) => void expect(five[i]).toBeCloseTo(v * Math.SQRT2, 6));
    expect([...((await l.transform(new Float32Array(7).fill(0.1), 'normalize')) as Float32Array)]).toEqual(
      new Array(7).fill(0),
    );
    expect(await l.transform(new Float64Array([1, 3]), 'normalize')).toBeInstanceOf(Float64Array);
    expect((await l.transform([], 'normalize')) as Float32Array).toHaveLength(0);
    expect(await l.transform([1, 2], 'scale', { factor: 3 })).toEqual([3, 6]);
    expect(await l.transform(Int32Array.of(1, 2), 'scale', { factor: 0.5 })).toEqual(Float64Array.of(0.5, 1));
  });

  it('are sums, largest and smallest', async () => {
    const data = [1, 2, 3, 4, 5];
    expect([await l.reduce(data, 'sum'), await l.reduce(data, 'max'), await l.reduce(data, 'min')]).toEqual([15, 5, 1]);
    expect(await l.reduce([], 'sum')).toBe(0);
    expect(await l.reduce([1, Number.NaN, 2], 'max')).toBeNaN();
  });

  it('of coordinates are exact and can be undone', async () => {
    const cube = new Lattice({ dimensions: 3, size: 3 });
    const data = Int32Array.from({ length: 27 }, (_, i) => i);
    const turned = await cube.permuteAxes(data, [2, 0, 1]);
    // Element (a, b, c) of the result is element (b, c, a) of the data.
    expect(turned[cube.coordsToIndex([1, 2, 0])]).toBe(cube.coordsToIndex([2, 0, 1]));
    expect(await cube.permuteAxes(turned, [1, 2, 0])).toEqual(data);
    expect(await cube.reflect(await cube.reflect(data, 1), 1)).toEqual(data);
    let round = data;
    for (let i = 0; i < 4; i++) {
      round = await cube.rotate90(round, [0, 2]);
      if (i < 3) expect(round).not.toEqual(data);
    }
    expect(round).toEqual(data);
    expect(await cube.rotate90(await cube.rotate90(data, [0, 1], 3), [0, 1], 1)).toEqual(data);
    expect(await cube.rotate90(data, [0, 1], 2)).toEqual(await cube.reflect(await cube.reflect(data, 0), 1));
    const plane = new Lattice({ dimensions: 2, size: 2 });
    expect([...(await plane.rotate90(Uint8Array.of(1, 2, 3, 4), [0, 1]))]).toEqual([2, 4, 1, 3]);
  });
});

describe('the names of document 002', () => {
  it('do what its quick start shows', async () => {
    const lattice = new UnifiedCatalyticLattice(4, 10, { enableGpu: false, enableSmartRouting: true });
    const data = Int32Array.of(1, 2, 3, 4, 5);
    const transformed = await lattice.xorTransform(data);
    const [path, ms] = await lattice.findShortestPath(0, 9999);
    const structure = await lattice.analyzeStructure();
    expect(await lattice.xor(transformed.data, transformed.key)).toEqual(data);
    expect([path.length, ms >= 0]).toEqual([37, true]);
    expect(structure).toMatchObject({ vertices: 10_000, edges: 36_000 });
    const small = new UnifiedCatalyticLattice(2, 3, { enableGpu: false });
    const { offsets, neighbors } = await small.buildLattice();
    expect([...(await offsets.data())]).toEqual([0, 2, 5, 7, 10, 14, 17, 19, 22, 24]);
    expect([...(await neighbors.data()).subarray(0, 5)]).toEqual([1, 3, 0, 2, 4]);
    expect(small.built).toBe(true);
    await small.dispose();
    await lattice.dispose();
  });
});

describe('any graph', () => {
  const random = numbers(41);
  const n = 30;
  const edges = Array.from({ length: 60 }, () => [Math.floor(random() * n), Math.floor(random() * n)] as const).filter(
    ([a, b], i, list) => a !== b && list.findIndex(([c, d]) => (c === a && d === b) || (c === b && d === a)) === i,
  );
  const weighted = edges.map(([a, b], i) => [a, b, 1 + ((i * 7) % 5)] as const);

  /** Floyd and Warshall's, as an oracle. */
  const allDistances = (list: readonly (readonly [number, number, number])[]): number[][] => {
    const d = Array.from({ length: n }, (_, i) =>
      Array.from({ length: n }, (_, j) => (i === j ? 0 : Number.POSITIVE_INFINITY)),
    );
    for (const [a, b, w] of list) d[a]![b] = d[b]![a] = w;
    for (let k = 0; k < n; k++)
      for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) d[i]![j] = Math.min(d[i]![j]!, d[i]![k]! + d[k]![j]!);
    return d;
  };

  it.each([true, false])('has the shortest paths of an exhaustive search (weighted: %s)', (weights) => {
    const graph = Graph.fromEdges(n, weights ? weighted : edges);
    const expected = allDistances(weights ? weighted : edges.map(([a, b]) => [a, b, 1]));
    const weightOf = (a: number, b: number): number => (weights ? expected[a]![b]! : 1);
    for (let s = 0; s < n; s++) {
      expect([...graph.distancesFrom(s)]).toEqual(expected[s]!.map((x) => (x === Number.POSITIVE_INFINITY ? -1 : x)));
      for (let t = 0; t < n; t += 7) {
        if (expected[s]![t] === Number.POSITIVE_INFINITY) continue;
        const { path, length } = graph.shortestPath(s, t);
        expect([path[0], path.at(-1), length]).toEqual([s, t, expected[s]![t]]);
        for (let i = 1; i < path.length; i++) expect(graph.neighbors(path[i - 1]!)).toContain(path[i]);
        if (!weights) expect(path.length - 1).toBe(length);
        expect(path.slice(1).reduce((sum, v, i) => sum + weightOf(path[i]!, v), 0)).toBe(length);
      }
    }
  });

  it('has components, ranks and betweenness of the definitions', async () => {
    const graph = Graph.fromEdges(n, edges);
    const d = allDistances(edges.map(([a, b]) => [a, b, 1]));
    const { of, count } = graph.components();
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) expect(of[i] === of[j]).toBe(d[i]![j] !== Number.POSITIVE_INFINITY);
    expect(new Set(of).size).toBe(count);
    const rank = graph.pageRank();
    expect(rank.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9);
    // The ranks are a fixed point of their definition.
    const idle = Array.from(rank).reduce((sum, r, v) => sum + (graph.neighbors(v).length === 0 ? r : 0), 0);
    for (let v = 0; v < n; v++) {
      const inflow = graph.neighbors(v).reduce((sum, u) => sum + rank[u]! / graph.neighbors(u).length, 0);
      expect(rank[v]).toBeCloseTo((0.15 + 0.85 * idle) / n + 0.85 * inflow, 8);
    }
    // A star: all paths pass the middle; with weights a detour is shorter.
    const star = Graph.fromEdges(4, [
      [0, 1],
      [0, 2],
      [0, 3],
    ]);
    expect([...(await star.centrality('betweenness'))]).toEqual([3, 0, 0, 0]);
    const detour = Graph.fromEdges(3, [
      [0, 1, 5],
      [0, 2, 1],
      [1, 2, 1],
    ]);
    expect([...(await detour.centrality('betweenness'))]).toEqual([0, 0, 1]);
    expect([...(await detour.centrality('degree'))]).toEqual([6, 6, 2]);
    expect((await detour.centrality('closeness'))[0]).toBeCloseTo(2 / 3, 12);
    const same = Graph.fromCsr([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [5, 1, 5, 1, 1, 1]);
    expect([same.vertices, same.edges, same.distance(0, 1)]).toEqual([3, 3, 2]);
  });

  it('has the communities that are plain to see', async () => {
    // Two cliques with one bridge.
    const clique = (from: number): [number, number][] =>
      [0, 1, 2, 3].flatMap((i) => [0, 1, 2, 3].filter((j) => j > i).map((j): [number, number] => [from + i, from + j]));
    const graph = Graph.fromEdges(8, [...clique(0), ...clique(4), [3, 4]]);
    for (const method of ['modularity', 'edge_betweenness', 'label_propagation'] as const) {
      const { of } = await graph.communities(method, { seed: 1 });
      expect([...of], method).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    }
    expect((await Graph.fromEdges(0, []).communities()).count).toBe(0);
  });
});
