// Sentences about lattices that no other test shows: what is promised of every device, of lattices that are built, of limits, memory,
// routing and reversible work.

import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, DeviceUnavailable, type Runtime, type Tensor } from '../../src/index.ts';
import { edgeWeights } from '../../src/lattice/catalytic/gf64.ts';
import { walkProgram } from '../../src/lattice/catalytic/walks.ts';
import { freeTensor, words } from '../../src/lattice/catalytic/words.ts';
import { Grid } from '../../src/lattice/grid.ts';
import {
  compileFormula,
  diffuseField,
  edgeWeight,
  Graph,
  Lattice,
  NotReversibleError,
  registerProgram,
  secondOrder,
} from '../../src/lattice/index.ts';
import { Mask } from '../../src/lattice/mask.ts';
import { PathCache } from '../../src/lattice/path-cache.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { walksOf } from './oracles.ts';

afterAll(closeAll);

const idOf = (rt: Runtime): string => rt.devices().find((d) => d.open)!.id;

describe.each(kinds)('on %s, built and not built', (kind) => {
  const table = [
    [1, 2, 2, 1, 1, 1],
    [2, 4, 16, 24, 6, 3],
    [3, 5, 125, 300, 12, 4.8],
    [5, 3, 243, 810, 10, 20 / 3],
  ] as const;

  it.each(table)(
    'the lattice (%i, %i) has the values of its formulas',
    async (d, n, vertices, edges, diameter, mean) => {
      const runtime = await runtimeOf(kind);
      const l = new Lattice({ dimensions: d, size: n, runtime, device: idOf(runtime) });
      const seen: unknown[] = [];
      const memory: number[] = [];
      for (const built of [false, true]) {
        if (built) await l.build();
        const analysis = await l.analyze();
        expect(analysis).toMatchObject({ vertices, edges, diameter, isConnected: true, clusteringCoefficient: 0 });
        expect(analysis.avgDegree).toBeCloseTo(mean, 12);
        const { path, length } = await l.shortestPath(0, vertices - 1, { method: 'search' });
        expect([path.length, length]).toEqual([diameter + 1, diameter]);
        seen.push([
          analysis,
          await l.distancesFrom(0),
          await l.centrality('closeness'),
          await l.centrality('degree'),
          await l.centrality('eigenvector'),
          (await l.centrality('betweenness')).map((x) => Math.round(1e6 * x)),
          l.countShortestPaths(0, vertices - 1),
          l.neighbors(0),
        ]);
        memory.push((await l.metrics()).memoryUsageMb * 2 ** 20);
      }
      expect(seen[1]).toEqual(seen[0]);
      expect(memory[1]! - memory[0]!).toBeCloseTo(l.estimateMemory().csr, 6);
      await l.dispose();
    },
  );

  it('a spanning tree has one edge less than there are vertices', async () => {
    const runtime = await runtimeOf(kind);
    const l = new Lattice({ dimensions: 2, size: 4, runtime, device: idOf(runtime) });
    const distances = await l.distancesFrom(5, { method: 'levels' });
    const tree = [...distances.keys()].flatMap((v) => {
      const before = l.neighbors(v).find((u) => distances[u] === distances[v]! - 1);
      return before === undefined ? [] : [[before, v] as const];
    });
    expect(tree).toHaveLength(15);
    expect(Graph.fromEdges(16, tree).components().count).toBe(1);
  });

  it('weights of edges are those of the host, and Threefry of (seed; lower vertex, axis)', async () => {
    // The published answer for a key and a counter of zeros.
    expect(edgeWeight(0, 0, 0)).toBe(0x6b20015999ba4efen);
    const rt = await runtimeOf(kind);
    for (const [seed, axis] of [
      [0, 0],
      [7, 1],
      [2 ** 40 + 3, 2],
    ] as const) {
      const { low, high } = rt.scope(() => {
        const made = edgeWeights(rt, seed, rt.iota([9], 0), axis);
        return { low: made.low.compute(), high: made.high.compute() };
      });
      const [l, h] = [await low.data(), await high.data()];
      for (let v = 0; v < 9; v++) expect((BigInt(h[v]!) << 32n) | BigInt(l[v]!)).toBe(edgeWeight(seed, v, axis));
    }
  });

  it('a walk in borrowed memory is one launch a step, and gives the counts of all lengths at once', async () => {
    const rt = await runtimeOf(kind);
    const blocked = [5, 10];
    const grid = new Grid(2, 4);
    const mask = Mask.of(grid, blocked, 'test');
    const free = rt.scope(() => freeTensor(rt, grid, mask));
    const program = walkProgram({
      words: words.u32({ rt, grid, free, seed: 0 }),
      source: 0,
      target: 15,
      length: 8,
      lengths: [0, 1, 2, 3, 4, 5, 6, 7, 8],
    });
    const lent = Array.from({ length: 9 }, (_, i) =>
      rt.random.integers([16], { seed: i, high: 2 ** 32, dtype: 'u32' }).compute(),
    );
    const before = await Promise.all(lent.map((t) => t.data()));
    const launches = rt.stats().launches;
    const untouched: boolean[] = [];
    const { value, report } = await rt.memory.borrow<bigint[]>(lent, async function* (memory, clean) {
      const steps = program(memory, clean);
      for (let next = await steps.next(); ; next = await steps.next()) {
        // Blocked words never change, whatever the step.
        for (const [i, m] of memory.entries()) {
          const words = new Uint32Array((await m.device.read(m.buffer)).slice().buffer);
          untouched.push(blocked.every((v) => words[v] === Number(before[i]![v])));
        }
        if (next.done) return next.value;
        yield next.value;
      }
    });
    expect(value).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => walksOf({ d: 2, n: 4, blocked: new Set(blocked) }, 0, n)[15]),
    );
    expect(report).toMatchObject({ steps: 4 * 8 + 2, cleanBytes: 8 * 9, bytes: 9 * 64 });
    expect(rt.stats().launches - launches).toBe(4 * 8);
    expect(untouched.length).toBeGreaterThan(40);
    expect(untouched.every(Boolean)).toBe(true);
    expect(await Promise.all(lent.map((t) => t.data()))).toEqual(before);
    free?.dispose();
  });

  it('a target that cannot be reached has no walks of any length', async () => {
    const runtime = await runtimeOf(kind);
    const l = new Lattice({
      dimensions: 2,
      size: 3,
      runtime,
      device: idOf(runtime),
      blocked: [3, 4, 5],
      auxMemoryMb: 0.1,
    });
    for (const length of [0, 1, 4, 8]) expect(await l.countWalks(0, 8, length, { memory: 'borrow' })).toBe(0n);
  });
});

describe('automata', () => {
  const rule = (x: { at(...by: number[]): Tensor } & Tensor, k: number) =>
    x
      .at(1)
      .bitwiseAnd(0x7f4a7c15 >> k)
      .add(x.at(-1).mul(3 + k))
      .bitwiseXor(x.bitwiseOr(1 << k));

  it.each([
    [[33], 1],
    [[33], 10],
    [[33], 1000],
    [[5, 7], 1],
    [[5, 7], 10],
    [[5, 7], 1000],
    [[3, 4, 5], 1],
    [[3, 4, 5], 10],
    [[3, 4, 5], 1000],
    [[1, 6], 10],
  ] as const)('of %j are the same on every device after %i steps, and hold two states', async (shape, steps) => {
    const ends: unknown[] = [];
    // The reference is too slow for the long ones.
    for (const kind of kinds.filter((k) => k !== 'reference' || steps < 1000)) {
      const rt = await runtimeOf(kind);
      const make = (seed: number) => rt.random.integers(shape, { seed, high: 2 ** 31, dtype: 'i32' });
      const [current, previous] = [make(1), make(2)];
      const automaton = secondOrder((x) => rule(x as never, steps % 7), { runtime: rt, shape, current, previous });
      automaton.step(1);
      const held = rt.stats().bytes;
      automaton.step(steps - 1);
      expect(rt.stats().bytes).toBe(held);
      ends.push([await automaton.state.current.data(), await automaton.state.previous.data()]);
      automaton.swap();
      automaton.step(steps);
      expect(await automaton.state.previous.data()).toEqual(await current.data());
      expect(await automaton.state.current.data()).toEqual(await previous.data());
      automaton.dispose();
    }
    for (const end of ends) expect(end).toEqual(ends[0]);
  });
});

describe('limits', () => {
  it('hold whatever the device, and nothing is opened', () => {
    for (const device of ['auto', 'gpu', 'cpu', 'cuda:0'])
      for (const bad of [
        { dimensions: 0 },
        { dimensions: 11 },
        { size: 0 },
        { size: -2 },
        { dimensions: 12, size: 200 },
      ])
        expect(() => new Lattice({ ...bad, device })).toThrow(/Use a whole number from/);
  });

  it('of memory are known before anything is allocated; the error names both numbers', async () => {
    await using runtime = await createRuntime({ devices: ['cpu'], cpu: { threads: 1, memoryBytes: 2 ** 20 } });
    const l = new Lattice({ dimensions: 3, size: 40, runtime, device: 'cpu' });
    const before = runtime.stats().bytes;
    const { csr } = l.estimateMemory();
    const free = runtime.device('cpu').memory().free;
    await expect(l.build()).rejects.toMatchObject({
      code: 'LATTICE_TOO_LARGE',
      message: expect.stringMatching(new RegExp(`takes ${csr} bytes .*, ${free} .* are free`)),
    });
    await expect(l.adjacency({ dense: true })).rejects.toMatchObject({ code: 'LATTICE_TOO_LARGE' });
    await expect(l.distancesFrom(0, { method: 'levels' }).then(() => 'host'))
      .resolves.toBe('host')
      .catch(() => {});
    expect(runtime.stats().bytes).toBe(before);
    expect(l.built).toBe(false);
  });

  it('of lattices beyond 2^31 vertices are those of arrays, not of formulas', async () => {
    const l = new Lattice({ dimensions: 10, size: 9 });
    const last = 9 ** 10 - 1;
    expect([l.vertices, l.distance(0, last), l.indexToCoords(last)]).toEqual([9 ** 10, 80, new Array(10).fill(8)]);
    expect(l.neighbors(last)).toHaveLength(10);
    expect((await l.reach(0, { within: 1 })).reached).toBe(11);
    expect((await l.reach(0)).reached).toBe(9 ** 10);
    expect([...l.allPaths(0, 1, { maxLength: 3, limit: 5 })].length).toBe(5);
    expect(() => new Lattice({ dimensions: 10, size: 9, blocked: [0] })).toThrow(
      /more than the 2147483647 of one array/,
    );
    await expect(l.distancesFrom(0)).rejects.toMatchObject({ code: 'LATTICE_TOO_LARGE' });
  });

  it('of the auxiliary memory are what is allocated', async () => {
    const runtime = await runtimeOf('cpu');
    for (const auxMemoryMb of [0.1, 0.3, 2]) {
      const l = new Lattice({ dimensions: 1, size: 3, runtime, device: 'cpu', auxMemoryMb });
      const bytes = (await l.auxiliary()).reduce((sum, t) => sum + 4 * t.size, 0);
      expect(bytes).toBe(8 * Math.ceil((auxMemoryMb * 2 ** 20) / 8));
      expect((await l.metrics()).memoryUsageMb).toBe(bytes / 2 ** 20);
      await l.dispose();
    }
  });

  it('of paths are 10,000 unless others are given, and the cache is bounded by memory too', () => {
    const paths = new Lattice({ dimensions: 3, size: 5 }).allPaths(0, 124);
    expect([[...paths].length, paths.truncated]).toEqual([10_000, true]);
    const cache = new PathCache(1000, 400);
    for (let i = 0; i < 50; i++) cache.set(i, 0, new Array(10).fill(i));
    expect(cache.stats()).toMatchObject({ entries: 10, evictions: 40, bytes: 10 * 16 + 400 });
    expect([cache.get(39, 0), cache.get(40, 0)?.length]).toEqual([undefined, 10]);
    // What was used last stays.
    cache.set(99, 0, new Array(10).fill(9));
    expect([cache.get(40, 0)?.length, cache.get(41, 0)]).toEqual([10, undefined]);
    cache.set(1, 1, new Array(101).fill(0));
    expect(cache.get(1, 1)).toBeUndefined();
  });
});

describe('where work runs', () => {
  it('is what was asked for; the router is told what sort of work it is', async () => {
    await using runtime = await createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      routing: { cache: false },
    });
    const l = new Lattice({ dimensions: 2, size: 6, runtime });
    await l.distancesFrom(0, { method: 'levels' });
    await l.adjacency({ dense: true });
    await l.centrality('betweenness', { method: 'device' });
    await l.diffuse(new Float32Array(36), 1);
    await l.transform(runtime.ones([8]), 'scale', { factor: 2 });
    const seen = new Set(runtime.routing.stats().map((s) => s.op));
    for (const op of ['path_finding', 'lattice_creation', 'graph_algorithm', 'transform'] as const)
      expect(seen).toContain(op);
    expect(l.explain('distancesFrom')).toMatchObject({ op: 'path_finding', elements: 36 });
    expect(l.explain('distance').reason).toMatch(/host/);
    const asked = new Lattice({ dimensions: 2, size: 3, runtime, device: 'reference' });
    await asked.distancesFrom(0, { method: 'levels' });
    expect(asked.device).toBe('reference');
    const none = new Lattice({ dimensions: 2, size: 3, runtime, device: 'cuda:7' });
    await expect(none.diffuse(new Float32Array(9), 1)).rejects.toBeInstanceOf(DeviceUnavailable);
    await expect(none.diffuse(new Float32Array(9), 1)).rejects.toThrow(/asks for cuda:7; open are cpu, reference/);
  });

  it('is the first GPU where the router is not asked', async () => {
    const gpu = kinds.find((k) => k === 'webgpu' || k === 'cuda');
    if (!gpu) return;
    await using runtime = await createRuntime({ devices: ['cpu', gpu], cpu: { threads: 1 } });
    for (const options of [{ routing: false }, { device: 'gpu' }] as const) {
      const l = new Lattice({ dimensions: 2, size: 3, runtime, ...options });
      await l.distancesFrom(0, { method: 'search' });
      expect(l.device).toMatch(new RegExp(`^${gpu}`));
    }
    const none = new Lattice({ dimensions: 2, size: 3, runtime: await runtimeOf('cpu'), device: 'gpu' });
    await expect(none.diffuse(new Float32Array(9), 1)).rejects.toBeInstanceOf(DeviceUnavailable);
  });

  it('is told before it happens, with the arguments of the call', async () => {
    const small = new Lattice({ dimensions: 2, size: 5 });
    expect(small.explain('distancesFrom', 0).reason).toMatch(/formula as long as nothing is blocked/);
    expect(small.explain('distancesFrom', 0, { method: 'search' }).reason).toMatch(/the lattice is small/);
    expect(small.explain('distancesFrom', 0, { method: 'levels' }).reason).toMatch(/no device is open yet/);
    expect(small.explain('centrality', 'degree').reason).toMatch(/on the host/);
    expect(small.explain('centrality', 'betweenness', { method: 'host' }).reason).toMatch(/'host' was asked for/);
    expect(small.explain('communities').reason).toMatch(/on the host/);
    const runtime = await runtimeOf('cpu');
    const cpu = new Lattice({ dimensions: 2, size: 5, runtime, device: 'cpu', blocked: [1] });
    expect(cpu.explain('shortestPath', 0, 24)).toMatchObject({ device: 'cpu', op: 'path_finding', elements: 25 });
    expect(cpu.explain('shortestPath', 0, 24).reason).toMatch(/'cpu' was asked for/);
    const large = new Lattice({ dimensions: 6, size: 10, runtime, blocked: [1] });
    expect(large.explain('distancesFrom', 0)).toMatchObject({ device: 'cpu', elements: 10 ** 6 });
  });

  it('many pairs with one start share a search', async () => {
    const l = new Lattice({ dimensions: 2, size: 8, blocked: [9] });
    const pairs = Array.from({ length: 20 }, (_, i): [number, number] => [i % 2, 63 - i]);
    const found = await l.shortestPaths(pairs);
    expect(found.map((p) => [p.path[0], p.path.at(-1)])).toEqual(pairs);
    expect(l.stats().searches).toBe(2);
  });
});

describe('inputs at the edges', () => {
  it('fields with axes of one or no element spread as they should', async () => {
    const rt = await runtimeOf('cpu');
    const spread = async (shape: number[], values: number[], boundary: 'insulated' | 'periodic' | 'zero') => [
      ...(await diffuseField(rt, rt.tensor(Float32Array.from(values), shape), 1, { rate: 0.125, boundary }).data()),
    ];
    expect(await spread([1, 3], [8, 0, 0], 'insulated')).toEqual([7, 1, 0]);
    expect(await spread([3, 1], [8, 0, 0], 'periodic')).toEqual([6, 1, 1]);
    expect(await spread([1], [8], 'periodic')).toEqual([8]);
    expect(await spread([1], [8], 'zero')).toEqual([6]);
    expect(await spread([2], [8, 0], 'periodic')).toEqual([6, 2]);
    expect(await spread([2], [8, 0], 'insulated')).toEqual([7, 1]);
    expect(await spread([0], [], 'insulated')).toEqual([]);
    const whole = rt.tensor(Int32Array.of(8, 0, 0));
    expect([...(await diffuseField(rt, whole, 0).data())]).toEqual([8, 0, 0]);
    // It is done when it returns: nothing could be aborted.
    const { signal } = new AbortController();
    expect(() => diffuseField(rt, whole, 1, { signal } as object)).toThrow(/there is no option 'signal'/);
    expect(() => diffuseField(rt, rt.tensor(1), 1)).toThrow(/no axes/);
  });

  it('a copy of no steps is a tensor of its own', async () => {
    const runtime = await runtimeOf('cpu');
    const l = new Lattice({ dimensions: 1, size: 3, runtime, device: 'cpu' });
    const field = runtime.tensor([1, 2, 3]);
    const copy = await l.diffuse(field, 0);
    expect(copy).not.toBe(field);
    field.dispose();
    expect([...(await copy.data())]).toEqual([1, 2, 3]);
    await expect(l.diffuse(new BigInt64Array(3) as never, 1)).rejects.toThrow(/the field is BigInt64Array\(3\)/);
    await expect(l.diffuse(new Float32Array(4), 1)).rejects.toThrow(/Float32Array\(4\), the lattice has 3 vertices/);
    expect(await l.transform([1, 2], 'scale')).toEqual([1, 2]);
    await expect(l.reduce(runtime.zeros([0]), 'max')).rejects.toThrow(/max of no elements/);
  });

  it('edges and rows that make no sense are refused by name', () => {
    for (const weight of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => Graph.fromEdges(2, [[0, 1, weight]])).toThrow(`a weight is ${weight}`);
      expect(() => Graph.fromCsr([0, 1, 2], [1, 0], [weight, weight])).toThrow(`a weight is ${weight}`);
    }
    expect(() => Graph.fromEdges(2, [[0, 1, 2, 3]] as never)).toThrow(/edge 0 is .*Give \[from, to\]/s);
    expect(() => Graph.fromEdges(2, [[0]] as never)).toThrow(/edge 0 is/);
    expect(() => Graph.fromCsr([0, 1, 2], [1.5, 0])).toThrow(/neighbour 0 is 1.5/);
    expect(() => Graph.fromCsr([0, 1.5, 2], [1, 0])).toThrow(/offset 1 is 1.5/);
    expect(() => Graph.fromCsr([0, 1, 2], [1, Number.NaN])).toThrow(/neighbour 1 is NaN/);
    expect(() => Graph.fromCsr([0, 1, 2 ** 32 + 2], [1, 0])).toThrow(/offset 2 is 4294967298/);
    expect(() => Graph.fromCsr([0, 1, 2, 1, 2], [1, 0])).toThrow(/ends before it begins/);
    expect(() => Graph.fromCsr([0, 1, 1], [0])).toThrow(/not in both rows/);
    const empty = Graph.fromEdges(3, []);
    expect([...empty.pageRank()]).toEqual([1 / 3, 1 / 3, 1 / 3]);
    expect([empty.edges, empty.components().count, [...empty.distancesFrom(1)]]).toEqual([0, 3, [-1, 0, -1]]);
  });

  it('programs that cannot be undone say which step', () => {
    const p = registerProgram({ registers: 2 });
    const error = ((): unknown => {
      try {
        return p.addInput(0, 'x').add(1, p.mul(1));
      } catch (e) {
        return e;
      }
    })();
    expect(error).toBeInstanceOf(NotReversibleError);
    expect(error).toMatchObject({ step: 1, code: 'NOT_REVERSIBLE' });
    // A product of depth D takes 4^D steps and a few; the count is known before it is compiled.
    const deep = (d: number): string => (d === 0 ? 'x' : `(${deep(d - 1)})*(${deep(d - 1)})`);
    expect([1, 2, 3].map((d) => compileFormula(deep(d)).steps.length)).toEqual([8, 36, 148]);
    expect(() => compileFormula(deep(9))).toThrow(/takes \d+ steps, the most is 65536/);
  });
});
