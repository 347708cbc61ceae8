// Calls that overlap: other vertices blocked, the lattice disposed of, another call or a lost device in the middle. A call answers for the
// mask it was made with, or is refused by name; lent memory is what it was.

import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, DisposedError, type Runtime, type Tensor, withFaults } from '../../src/index.ts';
import { Graph, Lattice } from '../../src/lattice/index.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { plainDistances } from './plain.ts';

afterAll(closeAll);

const old = [6, 7, 8];
const other = [11, 12, 13, 14];
const field = Float32Array.from({ length: 25 }, (_, v) => (v * 7) % 5);

type Work = readonly [name: string, work: (l: Lattice) => Promise<unknown>];

/** Every method that waits, on a lattice (2, 5); by host and by device where there are both. */
const works: readonly Work[] = [
  ['distancesFrom', (l) => l.distancesFrom(0)],
  ['distancesFrom by levels', (l) => l.distancesFrom(0, { method: 'levels' })],
  ['shortestPath', async (l) => (await l.shortestPath(0, 24)).path],
  ['shortestPath by levels', async (l) => (await l.shortestPath(0, 24, { method: 'levels' })).path],
  [
    'shortestPaths',
    async (l) =>
      (
        await l.shortestPaths([
          [0, 24],
          [24, 0],
        ])
      ).map((p) => p.path),
  ],
  ['reach', (l) => l.reach(0)],
  ['reach by bits', (l) => l.reach(0, { method: 'bits' })],
  ['analyze', (l) => l.analyze()],
  ['analyze by levels', (l) => l.analyze({ method: 'levels' })],
  ['closeness', (l) => l.centrality('closeness')],
  ['betweenness', async (l) => (await l.centrality('betweenness')).map((x) => Math.round(1e9 * x))],
  [
    'betweenness on a device',
    async (l) => (await l.centrality('betweenness', { method: 'device' })).map((x) => Math.round(1e9 * x)),
  ],
  ['communities', (l) => l.communities('modularity', { seed: 1 })],
  ['countWalks', (l) => l.countWalks(0, 24, 12)],
  ['countWalks in borrowed memory', (l) => l.countWalks(0, 24, 12, { memory: 'borrow' })],
  ['diffuse', async (l) => (await l.diffuse(field, 3)).data()],
  ['dense adjacency', async (l) => ((await l.adjacency({ dense: true })) as Tensor).data()],
];

const idOf = (rt: Runtime): string => rt.devices().find((d) => d.open)!.id;
const lattice = (runtime: Runtime, blocked: Iterable<number>): Lattice =>
  new Lattice({ dimensions: 2, size: 5, runtime, device: idOf(runtime), blocked, auxMemoryMb: 0.1 });
const bytesOf = (tensors: readonly Tensor[]): Promise<Uint8Array[]> => Promise.all(tensors.map((t) => t.bytes()));

describe.each(kinds)('other vertices blocked in the middle, on %s', (kind) => {
  const some = kind === 'reference' || kind === 'webgpu' ? works.filter((_, i) => i % 3 === 1) : works;

  it.each(some)('%s answers for the mask of its call', async (_, work) => {
    const rt = await runtimeOf(kind);
    const [before, after] = [await work(lattice(rt, old)), await work(lattice(rt, other))];
    expect(before).not.toEqual(after);
    const l = lattice(rt, old);
    const first = work(l);
    l.setBlocked(other);
    const second = work(l);
    expect(await first).toEqual(before);
    expect(await second).toEqual(after);
    expect(await work(l)).toEqual(after);
    await l.dispose();
  });

  it('a build goes on for the mask that the lattice has then', async () => {
    const rt = await runtimeOf(kind);
    const l = lattice(rt, old);
    await (await lattice(rt, old).build()).offsets.data();
    const held = rt.stats().bytes;
    const building = l.build();
    l.setBlocked(other);
    expect(l.build()).toBe(building);
    const { offsets, neighbors } = await building;
    const [starts, list] = [await offsets.data(), await neighbors.data()];
    for (let v = 0; v < 25; v++)
      expect([...list.subarray(starts[v], starts[v + 1])]).toEqual(other.includes(v) ? [] : l.neighbors(v));
    l.setBlocked(null);
    expect([l.built, offsets.disposed]).toEqual([false, true]);
    expect(rt.stats().bytes).toBeLessThanOrEqual(held);
  });
});

describe('paths that were under way', () => {
  it('go on around the mask they began with', async () => {
    const l = new Lattice({ dimensions: 2, size: 5, blocked: old });
    const [paths, expected] = [
      l.allPaths(0, 24),
      [...new Lattice({ dimensions: 2, size: 5, blocked: old }).allPaths(0, 24)],
    ];
    const first = paths.next().value;
    l.setBlocked(other);
    expect([first, ...paths]).toEqual(expected);
    const ended = l.allPaths(0, 24);
    ended.next();
    await l.dispose();
    expect(() => ended.next()).toThrow(DisposedError);
  });
});

describe('a lattice that is disposed of in the middle', () => {
  it.each(works)('%s ends: with its result, or refused', async (_, work) => {
    const rt = await runtimeOf('cpu');
    const expected = await work(lattice(rt, old));
    for (const own of [false, true]) {
      const l = own
        ? new Lattice({ dimensions: 2, size: 5, device: 'cpu', blocked: old, auxMemoryMb: 0.1 })
        : lattice(rt, old);
      const before = rt.stats().bytes;
      const found = work(l).catch((e: unknown) => e);
      await l.dispose();
      const result = await found;
      if (result instanceof Error) expect(result).toBeInstanceOf(DisposedError);
      else expect(result).toEqual(expected);
      if (!own && !(result instanceof Float32Array)) expect(rt.stats().bytes).toBeLessThanOrEqual(before);
      await expect(work(l)).rejects.toBeInstanceOf(DisposedError);
    }
  });

  it('waits for each other: a second dispose() ends with the first', async () => {
    const l = new Lattice({ dimensions: 2, size: 5, device: 'cpu', blocked: old });
    await l.distancesFrom(0, { method: 'levels' });
    await Promise.all([l.dispose(), l.dispose()]);
    await expect(l.analyze()).rejects.toMatchObject({ code: 'DISPOSED', fix: 'Make a new lattice.' });
  });
});

describe.each(kinds)('lent memory on %s', (kind) => {
  const lend = (rt: Runtime): Tensor[] =>
    Array.from({ length: 26 }, (_, i) => rt.random.integers([50], { seed: i, high: 2 ** 32, dtype: 'u32' }).compute());

  it('is what it was when the lattice is disposed of, or its mask changed, in the middle', async () => {
    const rt = await runtimeOf(kind);
    const buffers = lend(rt);
    const before = await bytesOf(buffers);
    const expected = await lattice(rt, old).countWalks(0, 24, 12);
    for (const at of [1, 7, 30, 48]) {
      for (const act of ['dispose', 'setBlocked'] as const) {
        const l = lattice(rt, old);
        let launches = 0;
        let ended: Promise<void> | undefined;
        const stop = rt.on('launch', ({ name }) => {
          if (name.startsWith('digest') || ++launches !== at) return;
          if (act === 'dispose') ended = l.dispose();
          else l.setBlocked(other);
        });
        const found = await l.countWalks(0, 24, 12, { buffers }).catch((e: unknown) => e);
        stop();
        await ended;
        if (act === 'dispose') expect(found).toBeInstanceOf(DisposedError);
        else expect(found).toBe(expected);
        expect(await bytesOf(buffers)).toEqual(before);
      }
    }
    for (const b of buffers) b.dispose();
  });

  it('is taken in turns by calls that are made together', async () => {
    const rt = await runtimeOf(kind);
    const l = lattice(rt, old);
    const lengths = [12, 14, 0, 12];
    const expected = await Promise.all(lengths.map((n) => l.countWalks(0, 24, n)));
    const before = rt.stats().bytes;
    expect(await Promise.all(lengths.map((n) => l.countWalks(0, 24, n, { memory: 'borrow' })))).toEqual(expected);
    expect(rt.stats().bytes - before).toBeLessThan(120_000);
    await expect(
      l.countWalks(0, 24, 12, { memory: 'borrow', signal: AbortSignal.abort(new Error('enough')) }),
    ).rejects.toMatchObject({ code: 'ABORTED', cause: { message: 'enough' } });
    expect(await l.countWalks(0, 24, 12, { memory: 'borrow' })).toBe(expected[0]);
    await l.dispose();
  });

  it('that is lost with its device is said to be lost, and the next call has other memory', async () => {
    let faulty: ReturnType<typeof withFaults> | undefined;
    await using rt = await createRuntime({
      devices: [kind],
      wrap: (device) => (faulty = withFaults(device)),
      recovery: { timeoutMs: 5000 },
    });
    const l = lattice(rt, old);
    const expected = await l.countWalks(0, 24, 12);
    expect(await l.countWalks(0, 24, 12, { memory: 'borrow' })).toBe(expected);
    let launches = 0;
    const stop = rt.on('launch', () => {
      if (++launches === 20) faulty!.lose('in the middle');
    });
    await expect(l.countWalks(0, 24, 12, { memory: 'borrow' })).rejects.toMatchObject({ code: 'BORROW_LOST' });
    stop();
    const again = await l.countWalks(0, 24, 12, { memory: 'borrow' }).catch((e: { code: string }) => e.code);
    // Where the device does not come back, that is said instead.
    if (again !== expected) expect(again).toMatch(/LOST|UNAVAILABLE|EXHAUSTED|DEVICE/);
  });
});

describe('many calls on one lattice', () => {
  it('made together are what they are one after the other', async () => {
    const rt = await runtimeOf('cpu');
    const l = lattice(rt, old);
    const alone: unknown[] = [];
    for (const [, work] of works) alone.push(await work(l));
    expect(await Promise.all(works.map(([, work]) => work(l)))).toEqual(alone);
    expect(await Promise.all([3, 4, 9].map((s) => l.distancesFrom(s, { method: 'levels' })))).toEqual(
      [3, 4, 9].map((s) => plainDistances(2, 5, new Set(old), s)),
    );
    await l.dispose();
  });

  it('and on one graph of a device too, which may be disposed of in between', async () => {
    const rt = await runtimeOf('cpu');
    const graph = Graph.fromEdges(
      60,
      Array.from({ length: 59 }, (_, v): [number, number] => [v, v + 1]),
    );
    const calls: readonly ((g: ReturnType<Graph['on']>) => Promise<Float64Array>)[] = [
      (g) => g.distancesFrom(0),
      (g) => g.pageRank({ maxRounds: 40 }),
      (g) => g.betweenness(),
    ];
    using there = graph.on(rt);
    const alone: Float64Array[] = [];
    for (const call of calls) alone.push(await call(there));
    expect(await Promise.all(calls.map((call) => call(there)))).toEqual(alone);
    for (const [i, call] of calls.entries()) {
      const g = graph.on(rt);
      const found = call(g).catch((e: unknown) => e);
      g.dispose();
      const result = await found;
      if (result instanceof Error) expect(result).toBeInstanceOf(DisposedError);
      else expect(result).toEqual(alone[i]);
      await expect(call(g)).rejects.toBeInstanceOf(DisposedError);
    }
  });
});
