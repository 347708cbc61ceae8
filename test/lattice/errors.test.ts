// Bad input: every method refuses it with the class that says what is wrong, and nothing is made up.

import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, DisposedError } from '../../src/index.ts';
import * as L from '../../src/lattice/index.ts';
import { closeAll, runtimeOf } from './devices.ts';

const { Lattice } = L;
afterAll(closeAll);

type Act = (l: L.Lattice) => unknown;
const refused = async (act: () => unknown, kind: new (...args: never[]) => Error): Promise<void> => {
  const error = await Promise.resolve()
    .then(act)
    .then(
      () => null,
      (e: unknown) => e,
    );
  expect(error).toBeInstanceOf(kind);
  expect((error as { code: string }).code).not.toBe('');
  expect((error as { fix: string }).fix).not.toBe('');
};

describe('options out of range', () => {
  it.each([
    { dimensions: 0 },
    { dimensions: 11 },
    { dimensions: 2.5 },
    { dimensions: Number.NaN },
    { size: 1 },
    { size: 101 },
    { size: -2 },
    { size: '4' },
    { auxMemoryMb: 0.05 },
    { auxMemoryMb: 2000 },
    { auxMemoryMb: Number.NaN },
    { pathCache: -1 },
    { device: '' },
    { routing: 1 },
    { blocked: 5 },
    { dimensions: 2, size: 4, blocked: new Uint8Array(15) },
    { banana: 1 },
  ])('are refused: %o', async (options) => {
    await refused(() => new Lattice(options as never), L.LatticeConfigError);
  });

  it('are too large to number, or to build', async () => {
    await refused(() => new Lattice({ dimensions: 10, size: 100 }), L.LatticeTooLargeError);
    await refused(() => new Lattice({ dimensions: 2, size: 4, blocked: [16] }), L.VertexRangeError);
    await refused(() => new Lattice({ dimensions: 2, size: 4, blocked: [-1] }), L.VertexRangeError);
    await refused(() => new Lattice({ dimensions: 10, size: 39, blocked: [0] }), L.LatticeTooLargeError);
    const huge = new Lattice({ dimensions: 10, size: 39 });
    expect(huge.distance(0, 39 ** 10 - 1)).toBe(380);
    expect((await huge.shortestPath(0, 39 ** 10 - 1)).length).toBe(380);
    const acts: readonly Act[] = [
      (l) => l.build(),
      (l) => l.distancesFrom(0),
      (l) => l.centrality('degree'),
      (l) => l.communities('modularity'),
      (l) => l.shortestPath(0, 1, { method: 'search' }),
      (l) => l.countWalks(0, 1, 1),
      (l) => l.distanceWithObstacles(0, 1),
      (l) => l.reach(0, { method: 'bits' }),
      (l) => l.adjacency(),
    ];
    for (const act of acts) await refused(() => act(huge), L.LatticeTooLargeError);
    expect(huge.device).toBeNull();
  });
});

/** Methods that take vertices, with a bad one in each place. */
const withVertex: readonly ((l: L.Lattice, v: number) => unknown)[] = [
  (l, v) => l.neighbors(v),
  (l, v) => l.distance(v, 0),
  (l, v) => l.distance(0, v),
  (l, v) => l.countShortestPaths(v, 0),
  (l, v) => l.countShortestPaths(0, v),
  (l, v) => l.shortestPath(v, 0),
  (l, v) => l.shortestPath(0, v),
  (l, v) => l.shortestPath(v, v),
  (l, v) => l.shortestPath(0, v, { method: 'search' }),
  (l, v) => l.shortestPaths([[0, v]]),
  (l, v) => l.shortestPaths([[v, 0]]),
  (l, v) => l.distancesFrom(v),
  (l, v) => l.distancesFrom(v, { method: 'levels' }),
  (l, v) => l.reach(v),
  (l, v) => l.reach(v, { method: 'bits' }),
  (l, v) => l.allPaths(v, 0),
  (l, v) => l.allPaths(0, v),
  (l, v) => l.countWalks(v, 0, 2),
  (l, v) => l.countWalks(0, v, 2),
  (l, v) => l.distanceWithObstacles(v, 0),
  (l, v) => l.distanceWithObstacles(0, v),
];

describe('vertices', () => {
  it('out of range are refused by every method, built or not', async () => {
    const runtime = await runtimeOf('cpu');
    const l = new Lattice({ dimensions: 2, size: 4, runtime, device: 'cpu' });
    for (const built of [false, true]) {
      if (built) await l.build();
      for (const v of [-1, 16, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3' as never])
        for (const act of [...withVertex, (x: L.Lattice, i: number) => x.indexToCoords(i)])
          await refused(() => act(l, v), L.VertexRangeError);
    }
  });

  it('that are blocked are refused, and paths that do not exist', async () => {
    const runtime = await runtimeOf('cpu');
    const l = new Lattice({ dimensions: 2, size: 4, runtime, device: 'cpu', blocked: [5, 12, 9, 14] });
    for (const act of withVertex) await refused(() => act(l, 5), L.VertexBlockedError);
    const split = new Lattice({ dimensions: 2, size: 3, runtime, device: 'cpu', blocked: [3, 4, 5] });
    const acts: readonly Act[] = [
      (x) => x.distance(0, 8),
      (x) => x.shortestPath(0, 8),
      (x) => x.shortestPath(0, 8, { method: 'levels' }),
      (x) => x.shortestPaths([[0, 8]]),
      (x) => x.allPaths(0, 8),
    ];
    for (const act of acts) await refused(() => act(split), L.PathNotFoundError);
    const line = new Lattice({ dimensions: 1, size: 3, runtime, device: 'cpu', blocked: [1], auxMemoryMb: 0.1 });
    await refused(() => line.distanceWithObstacles(0, 2), L.PathNotFoundError);
    await expect(split.shortestPath(0, 8)).rejects.toMatchObject({ code: '2005' });
    expect(split.countShortestPaths(0, 8)).toBe(0n);
    expect((await split.distancesFrom(0))[8]).toBe(-1);
  });
});

describe('other arguments', () => {
  const acts: readonly (readonly [string, new (...args: never[]) => Error, Act])[] = [
    ['coordinates too few', L.CoordinateError, (l) => l.coordsToIndex([1])],
    ['coordinates out of range', L.CoordinateError, (l) => l.coordsToIndex([1, 4])],
    ['maxLength negative', L.InvalidArgumentError, (l) => l.allPaths(0, 1, { maxLength: -1 })],
    ['maxLength not whole', L.InvalidArgumentError, (l) => l.allPaths(0, 1, { maxLength: 1.5 })],
    ['limit 0', L.InvalidArgumentError, (l) => l.allPaths(0, 1, { limit: 0 })],
    ['within negative', L.InvalidArgumentError, (l) => l.reach(0, { within: -1 })],
    ['method of reach', L.InvalidArgumentError, (l) => l.reach(0, { method: 'magic' as never })],
    ['method of analyze', L.InvalidArgumentError, (l) => l.analyze({ method: 'magic' as never })],
    ['method of centrality', L.InvalidArgumentError, (l) => l.centrality('degree', { method: 'magic' as never })],
    ['search method', L.InvalidArgumentError, (l) => l.shortestPath(0, 1, { method: 'magic' as never })],
    ['pairs', L.InvalidArgumentError, (l) => l.shortestPaths([1] as never)],
    ['key of another length', L.KeyLengthError, (l) => l.xor(new Uint8Array(3), new Uint8Array(2))],
    ['empty key', L.KeyLengthError, (l) => l.xor(new Uint8Array(3), new Uint8Array(0), { cycle: true })],
    ['plain numbers above a byte', L.ValueRangeError, (l) => l.xor([300], [1])],
    ['plain key above a byte', L.ValueRangeError, (l) => l.xor([3], 256)],
    ['key that the type cannot hold', L.ValueRangeError, (l) => l.xor(new Int32Array(2), 2 ** 40)],
    [
      'key of another type',
      L.InvalidArgumentError,
      (l) => l.xor(new Int32Array(2) as never, new Uint8Array(2) as never),
    ],
    ['data that is none', L.InvalidArgumentError, (l) => l.xor('text' as never, 1)],
    ['unknown transform', L.InvalidArgumentError, (l) => l.transform([1], 'fold' as never)],
    ['xor without a key', L.InvalidArgumentError, (l) => l.transform([1], 'xor')],
    ['factor', L.InvalidArgumentError, (l) => l.transform([1], 'scale', { factor: Number.NaN })],
    ['unknown reduction', L.InvalidArgumentError, (l) => l.reduce([1], 'mean' as never)],
    ['max of nothing', L.InvalidArgumentError, (l) => l.reduce([], 'max')],
    ['min of nothing', L.InvalidArgumentError, (l) => l.reduce(new Float32Array(0), 'min')],
    ['unknown centrality', L.InvalidArgumentError, (l) => l.centrality('fame' as never)],
    ['unknown communities', L.InvalidArgumentError, (l) => l.communities('magic' as never)],
    ['unknown method to explain', L.InvalidArgumentError, (l) => l.explain('magic')],
    ['walk of negative length', L.InvalidArgumentError, (l) => l.countWalks(0, 1, -1)],
    ['bits', L.InvalidArgumentError, (l) => l.countWalks(0, 1, 1, { bits: 16 as never })],
    ['axes', L.InvalidArgumentError, (l) => l.permuteAxes(new Float32Array(16), [0, 0])],
    ['axis', L.InvalidArgumentError, (l) => l.reflect(new Float32Array(16), 2)],
    ['turns', L.InvalidArgumentError, (l) => l.rotate90(new Float32Array(16), [0, 1], 0.5)],
    ['one axis twice', L.InvalidArgumentError, (l) => l.rotate90(new Float32Array(16), [1, 1])],
    ['data of another size', L.InvalidArgumentError, (l) => l.reflect(new Float32Array(15), 0)],
    ['field of another size', L.InvalidArgumentError, (l) => l.diffuse(new Float32Array(15), 1)],
    ['rate NaN', L.InvalidArgumentError, (l) => l.diffuse(new Float32Array(16), 1, { rate: Number.NaN })],
    ['rate unstable', L.InvalidArgumentError, (l) => l.diffuse(new Float32Array(16), 1, { rate: 0.26 })],
    ['steps', L.InvalidArgumentError, (l) => l.diffuse(new Float32Array(16), -1)],
    ['boundary', L.InvalidArgumentError, (l) => l.diffuse(new Float32Array(16), 1, { boundary: 'open' as never })],
  ];

  it.each(acts)('%s', async (_, kind, act) => {
    const runtime = await runtimeOf('cpu');
    await refused(() => act(new Lattice({ dimensions: 2, size: 4, runtime, device: 'cpu' })), kind);
  });

  it('tensors of another runtime, and axes of unequal length', async () => {
    const runtime = await runtimeOf('cpu');
    const other = await runtimeOf('reference');
    const l = new Lattice({ dimensions: 2, size: 4, runtime, device: 'cpu' });
    const foreign = other.ones([4, 4]);
    for (const act of [
      () => l.xor(foreign, 1),
      () => l.xorWithNewKey(foreign),
      () => l.diffuse(foreign, 1),
      () => l.reflect(foreign, 0),
      () => l.matmul(foreign, foreign),
      () => l.reduce(foreign, 'sum'),
      () => l.transform(foreign, 'scale'),
      () => l.countWalks(0, 1, 1, { buffers: [foreign] }),
      () => l.distanceWithObstacles(0, 1, { buffers: [foreign] }),
      () => l.permuteAxes(foreign, [1, 0]),
      () => l.rotate90(foreign, [0, 1]),
    ])
      await expect(act()).rejects.toMatchObject({ code: 'FOREIGN_TENSOR' });
    await expect(l.rotate90(runtime.ones([2, 3]), [0, 1])).rejects.toThrow(/axis 0 has 2 elements, axis 1 has 3/);
  });

  it('of the list of legal names', async () => {
    const l = new Lattice({ dimensions: 2, size: 4 });
    await expect(l.centrality('fame' as never)).rejects.toThrow(/betweenness, closeness, degree, eigenvector/);
    await expect(l.communities('magic' as never)).rejects.toThrow(/modularity, edge_betweenness, label_propagation/);
    await expect(l.transform([1], 'fold' as never)).rejects.toThrow(/xor, normalize, scale/);
    await expect(l.reduce([1], 'mean' as never)).rejects.toThrow(/sum, max, min/);
  });
});

describe('errors', () => {
  const split = new Lattice({ dimensions: 2, size: 3, blocked: [3, 4, 5] });
  const texts: readonly (readonly [string, string, Act])[] = [
    ['distance: 16 is no vertex of the lattice (2, 4)', 'Use a whole number from 0 to 15.', (l) => l.distance(0, 16)],
    ['reach: NaN is no vertex', 'Use a whole number from 0 to 15.', (l) => l.reach(Number.NaN)],
    ['neighbors: vertex 3 is blocked', 'setBlocked()', () => split.neighbors(3)],
    ['shortestPath: there is no path from 0 to 8', 'distancesFrom()', () => split.shortestPath(0, 8)],
    ['coordsToIndex: [1,4] are no coordinates', 'Give 2 whole numbers from 0 to 3.', (l) => l.coordsToIndex([1, 4])],
    ['allPaths: maxLength is -1', 'Use a whole number from 0.', (l) => l.allPaths(0, 1, { maxLength: -1 })],
    ['allPaths: limit is 0', 'Use a whole number from 1.', (l) => l.allPaths(0, 1, { limit: 0 })],
    ['countWalks: length is -1', 'Use a whole number from 0.', (l) => l.countWalks(0, 1, -1)],
    ['countWalks: length is 1.5', 'Use a whole number from 0.', (l) => l.countWalks(0, 1, 1.5)],
    ['xor: the key has 2 elements, the data 3', 'cycle: true', (l) => l.xor(new Uint8Array(3), new Uint8Array(2))],
    [
      'xor: the key is empty',
      'as long as the data',
      (l) => l.transform(new Uint8Array(3), 'xor', { key: new Uint8Array(0) }),
    ],
    ['xor: the data has 300, which is no byte', 'from 0 to 255', (l) => l.xorWithNewKey([300])],
    ['xor: the data has 0.5, which is no byte', 'a typed array', (l) => l.transform([0.5], 'xor', { key: 1 })],
    ['reduce: max of no elements', 'at least one', (l) => l.reduce([], 'max')],
    [
      "transform: there is no transform 'fold'",
      'Use one of xor, normalize, scale.',
      (l) => l.transform([1], 'fold' as never),
    ],
    [
      'diffuse: the field is Float32Array(15), the lattice has 16',
      'one value per vertex',
      (l) => l.diffuse(new Float32Array(15), 1),
    ],
    ['diffuse: the rate is 0.3', '1/(2·2) = 0.25', (l) => l.diffuse(new Float32Array(16), 1, { rate: 0.3 })],
    ['communities: edge_betweenness of', "'modularity' or", (l) => l.communities('edge_betweenness', { limitMs: 0 })],
  ];

  it.each(texts)('say what is wrong and what to do: %s', async (message, fix, act) => {
    const l = new Lattice({ dimensions: 2, size: 4, device: 'cpu', runtime: await runtimeOf('cpu') });
    const error = await Promise.resolve()
      .then(() => act(l))
      .then(
        () => null,
        (e: unknown) => e,
      );
    expect(error).toMatchObject({ fix: expect.stringContaining(fix) });
    expect((error as Error).message).toContain(message);
    expect((error as Error).message).toContain(`fix: ${(error as { fix: string }).fix}`);
  });
});

describe('after dispose()', () => {
  it('every method gives the same error, and a build that was begun is refused', async () => {
    await using runtime = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const l = new Lattice({ dimensions: 2, size: 4, runtime, device: 'cpu' });
    const building = l.build();
    const disposing = l.dispose();
    await expect(building).rejects.toBeInstanceOf(DisposedError);
    await disposing;
    await l.dispose();
    const acts: readonly Act[] = [
      ...withVertex.map((act) => (x: L.Lattice) => act(x, 0)),
      (x) => x.indexToCoords(0),
      (x) => x.coordsToIndex([0, 0]),
      (x) => x.validateCoords([0, 0]),
      (x) => x.analyzeClosedForm(),
      (x) => x.estimateMemory(),
      (x) => x.setBlocked(null),
      (x) => x.build(),
      (x) => x.adjacency(),
      (x) => x.analyze(),
      (x) => x.metrics(),
      (x) => x.centrality('degree'),
      (x) => x.communities('modularity'),
      (x) => x.xor([1], 1),
      (x) => x.xorWithNewKey([1]),
      (x) => x.transform([1], 'scale'),
      (x) => x.permuteAxes(new Uint8Array(16), [1, 0]),
      (x) => x.reflect(new Uint8Array(16), 0),
      (x) => x.rotate90(new Uint8Array(16), [0, 1]),
      (x) => x.diffuse(new Float32Array(16), 1),
      (x) => x.matmul([[1]], [[1]]),
      (x) => x.reduce([1], 'sum'),
      (x) => x.auxiliary(),
      (x) => x.stats(),
      (x) => x.explain('build'),
    ];
    for (const act of acts) await refused(() => act(l), DisposedError);
    // The runtime that was given goes on.
    expect([...(await runtime.ones([2]).data())]).toEqual([1, 1]);
  });
});

describe('graphs', () => {
  it('refuse bad edges, rows and vertices', async () => {
    const acts: readonly (readonly [new (...args: never[]) => Error, () => unknown])[] = [
      [L.VertexRangeError, () => L.Graph.fromEdges(3, [[0, 3]])],
      [L.InvalidArgumentError, () => L.Graph.fromEdges(3, [[1, 1]])],
      [L.InvalidArgumentError, () => L.Graph.fromEdges(-1, [])],
      [L.InvalidArgumentError, () => L.Graph.fromEdges(3, [[0, 1, -2]])],
      [
        L.InvalidArgumentError,
        () =>
          L.Graph.fromEdges(3, [
            [0, 1, 2],
            [1, 0, 3],
          ]),
      ],
      [L.InvalidArgumentError, () => L.Graph.fromCsr([0, 1, 1], [1])],
      [L.InvalidArgumentError, () => L.Graph.fromCsr([0, 2], [1])],
      [L.InvalidArgumentError, () => L.Graph.fromCsr([0, 1, 2], [1, 0], [1, 2])],
      [L.VertexRangeError, () => L.Graph.fromEdges(2, [[0, 1]]).shortestPath(0, 2)],
      [L.PathNotFoundError, () => L.Graph.fromEdges(3, [[0, 1]]).shortestPath(0, 2)],
      [L.InvalidArgumentError, () => L.Graph.fromEdges(2, [[0, 1]]).pageRank({ damping: 1 })],
      [L.InvalidArgumentError, () => L.Graph.fromEdges(2, [[0, 1]]).centrality('fame' as never)],
    ];
    for (const [kind, act] of acts) await refused(act, kind);
  });
});
