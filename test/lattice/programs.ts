// Random programs over lattices and graphs: a few of them with random masks, then calls of any sort, one after the other or several at
// once, with other vertices blocked in between. Every answer is compared with a plain loop.

import type { Runtime, Tensor } from '../../src/index.ts';
import { createBatch, type Edge, Graph, Lattice } from '../../src/lattice/index.ts';
import * as o from './oracles.ts';
import { coordsOf, numbers, plainDistances } from './plain.ts';

type Random = () => number;

const whole = (random: Random, most: number): number => Math.floor(random() * most);
const pick = <T>(random: Random, list: readonly T[]): T => list[whole(random, list.length)]!;

/** Fails with what differs. */
function same(found: unknown, expected: unknown, what: string): void {
  const text = (x: unknown): string =>
    JSON.stringify(x, (_, v) =>
      typeof v === 'bigint' ? `${v}n` : ArrayBuffer.isView(v) ? [...(v as never as number[])] : v,
    );
  if (text(found) !== text(expected)) throw new Error(`${what}: ${text(found)} is not ${text(expected)}`);
}

function close(found: ArrayLike<number | bigint>, expected: ArrayLike<number>, by: number, what: string): void {
  if (found.length !== expected.length) throw new Error(`${what}: ${found.length} values, not ${expected.length}`);
  for (let i = 0; i < expected.length; i++)
    if (!(Math.abs(Number(found[i]!) - expected[i]!) <= by * Math.max(1, Math.abs(expected[i]!))))
      throw new Error(`${what}: ${found[i]} at ${i} is not ${expected[i]}`);
}

const codeOf = (e: unknown): unknown => (e as { code?: unknown }).code;

/** One lattice of a program, and what is known of it. */
interface Player {
  readonly lattice: Lattice;
  readonly maze: o.Maze;
}

interface Turn {
  readonly rt: Runtime;
  readonly random: Random;
  readonly player: Player;
  /** Devices that have f64 and u64 find the same as others: what they lack is done elsewhere. */
  readonly device: string;
}

/** Two vertices of any sort: mostly free ones, at times blocked ones or none. */
function ends({ random, player: { maze } }: Turn): [number, number] {
  const free = o.freeOf(maze);
  const one = (): number => {
    const r = random();
    if (r < 0.03) return pick(random, [-1, maze.n ** maze.d, 0.5, Number.NaN]);
    return r < 0.08 || free.length === 0 ? whole(random, maze.n ** maze.d) : pick(random, free);
  };
  const s = one();
  return [s, random() < 0.1 ? s : one()];
}

/** What is wrong with vertices, by the code of the error that says so. */
function wrong({ d, n, blocked }: o.Maze, ...vertices: readonly number[]): string | null {
  for (const v of vertices) {
    if (!(Number.isInteger(v) && v >= 0 && v < n ** d)) return 'VERTEX_RANGE';
    if (blocked.has(v)) return 'VERTEX_BLOCKED';
  }
  return null;
}

/** An answer, or the code of its refusal. */
async function answer<T>(work: () => T | Promise<T>): Promise<T | { readonly code: unknown }> {
  try {
    return await work();
  } catch (e) {
    if (codeOf(e) === undefined) throw e;
    return { code: codeOf(e) };
  }
}

type Act = (turn: Turn) => Promise<void>;

const searchMethod = (random: Random): { method?: 'auto' | 'search' | 'levels' } =>
  pick(random, [{}, { method: 'auto' }, { method: 'search' }, { method: 'levels' }] as const);

const acts: Readonly<Record<string, Act>> = {
  distances: async (t) => {
    const { lattice, maze } = t.player;
    const [s] = ends(t);
    const how = searchMethod(t.random);
    const bad = wrong(maze, s);
    const found = await answer(() => lattice.distancesFrom(s, how));
    same(
      found,
      bad ? { code: bad } : plainDistances(maze.d, maze.n, maze.blocked, s),
      `distancesFrom(${s}, ${how.method})`,
    );
  },
  path: async (t) => {
    const { lattice, maze } = t.player;
    const [s, e] = ends(t);
    const how = searchMethod(t.random);
    const what = `shortestPath(${s}, ${e}, ${how.method})`;
    const bad = wrong(maze, s, e);
    const found = await answer(() =>
      t.random() < 0.5 ? lattice.shortestPath(s, e, how) : lattice.shortestPaths([[s, e]], how).then(([p]) => p!),
    );
    if (bad) return same(found, { code: bad }, what);
    const steps = plainDistances(maze.d, maze.n, maze.blocked, s)[e]!;
    same(await answer(() => lattice.distance(s, e)), steps < 0 ? { code: '2005' } : steps, `distance(${s}, ${e})`);
    if (steps < 0) return same(found, { code: '2005' }, what);
    if ('code' in found) throw new Error(`${what}: ${String(found.code)}`);
    same([found.length, found.path.length, found.path[0], found.path.at(-1)], [steps, steps + 1, s, e], what);
    for (let i = 1; i < found.path.length; i++)
      same(o.nearOf(maze, found.path[i - 1]!).includes(found.path[i]!), true, `${what}: step ${i} of ${found.path}`);
    const counts = o.pathCounts(maze, s, plainDistances(maze.d, maze.n, maze.blocked, s));
    same(lattice.countShortestPaths(s, e), counts[e]!, `countShortestPaths(${s}, ${e})`);
  },
  paths: async (t) => {
    const { lattice, maze } = t.player;
    const [s, e] = ends(t);
    if (wrong(maze, s, e) || o.freeOf(maze).length > 30) return;
    const steps = plainDistances(maze.d, maze.n, maze.blocked, s)[e]!;
    if (steps < 0 || steps > 6) return;
    const maxLength = steps + whole(t.random, 3);
    const expected = o.simplePaths(maze, s, e, maxLength);
    const found = [...lattice.allPaths(s, e, { maxLength })];
    same(
      found.map((p) => p.length),
      expected.map((p) => p.length),
      `allPaths(${s}, ${e}, ${maxLength})`,
    );
    same(found.map(String).sort(), expected.map(String).sort(), `allPaths(${s}, ${e}, ${maxLength})`);
    const few = lattice.allPaths(s, e, { maxLength, limit: 2 });
    same(
      [[...few].length, few.truncated],
      [Math.min(2, expected.length), expected.length > 2],
      'allPaths with a limit',
    );
  },
  reach: async (t) => {
    const { lattice, maze } = t.player;
    const [s] = ends(t);
    if (wrong(maze, s)) return;
    const within = pick(t.random, [undefined, 0, 1, 4]);
    const near = [...plainDistances(maze.d, maze.n, maze.blocked, s)].filter((x) => x >= 0 && x <= (within ?? x));
    const method = pick(t.random, ['auto', 'bits'] as const);
    const expected = { reached: near.length, levels: near.reduce((a, b) => Math.max(a, b), 0) };
    same(await lattice.reach(s, { within, method }), expected, `reach(${s}, ${within}, ${method})`);
  },
  analysis: async (t) => {
    const { lattice, maze } = t.player;
    const expected = o.analysisOf(maze);
    const method = pick(t.random, ['auto', 'levels'] as const);
    same(await lattice.analyze({ method }), expected, `analyze(${method})`);
    same([lattice.vertices, lattice.edges], [expected.vertices, expected.edges], 'vertices and edges');
    const { density: _, ...rest } = expected;
    const { memoryUsageMb, denseToSparseRatio, ...found } = await lattice.metrics();
    same(found, rest, 'metrics');
    const { vertices: n, edges } = expected;
    close([denseToSparseRatio], [n === 0 ? 0 : (8 * n * n) / (8 * edges + 4 * n)], 1e-12, 'denseToSparseRatio');
    same(memoryUsageMb >= 0, true, 'memoryUsageMb');
  },
  build: async (t) => {
    const { lattice, maze } = t.player;
    const { offsets, neighbors } = await lattice.build();
    const [starts, list] = [await offsets.data(), await neighbors.data()];
    for (const v of o.verticesOf(maze))
      same([...list.subarray(starts[v], starts[v + 1])], o.nearOf(maze, v), `row ${v}`);
    if (maze.n ** maze.d > 64) return;
    using dense = (await lattice.adjacency({ dense: true })) as Tensor;
    const ones = o.verticesOf(maze).map((v) => o.verticesOf(maze).map((u) => Number(o.nearOf(maze, v).includes(u))));
    same([...(await dense.data())], ones.flat(), 'the dense adjacency');
  },
  centrality: async (t) => {
    const { lattice, maze } = t.player;
    if (maze.n ** maze.d > 40) return;
    const method = pick(t.random, ['auto', 'host', 'device'] as const);
    close(await lattice.centrality('betweenness', { method }), o.betweennessOf(maze), 1e-9, `betweenness (${method})`);
    close(await lattice.centrality('closeness'), o.closenessOf(maze), 1e-12, 'closeness');
    const degrees = o.verticesOf(maze).map((v) => o.nearOf(maze, v).length);
    close(await lattice.centrality('degree'), degrees, 0, 'degree');
    const x = await lattice.centrality('eigenvector');
    const most = o.freeOf(maze).reduce((m, v) => Math.max(m, x[v]!), 0);
    if (degrees.some((k) => k > 0)) close([most], [1], 1e-12, 'the largest component');
  },
  communities: async (t) => {
    const { lattice, maze } = t.player;
    const method = pick(t.random, ['modularity', 'edge_betweenness', 'label_propagation'] as const);
    const edges = o.edgesOf(maze);
    if (method === 'edge_betweenness' && edges.length > 60) return;
    const seed = whole(t.random, 100);
    const found = await lattice.communities(method, { seed });
    same(found, await lattice.communities(method, { seed }), `${method} of a seed`);
    close([found.modularity], [o.modularityOf(edges, found.of)], 1e-12, `Q of ${method}`);
    same(
      [...found.of].flatMap((c, v) => (c < 0 ? [v] : [])),
      o.verticesOf(maze).filter((v) => maze.blocked.has(v)),
      method,
    );
    const used = [...new Set([...found.of].filter((c) => c >= 0))];
    same(
      used,
      Array.from({ length: found.count }, (_, c) => c),
      `communities of ${method}, by their first vertex`,
    );
  },
  walks: async (t) => {
    const { lattice, maze } = t.player;
    const [s, e] = ends(t);
    const length = whole(t.random, 7);
    const bits = pick(t.random, [32, 64] as const);
    const bad = wrong(maze, s, e);
    const expected = bad ? { code: bad } : BigInt.asUintN(bits, o.walksOf(maze, s, length)[e]!);
    const what = `countWalks(${s}, ${e}, ${length}, ${bits})`;
    same(await answer(() => lattice.countWalks(s, e, length, { bits })), expected, what);
    const memory = await lent(t, 2 * (length + 1));
    const how = t.random() < 0.5 ? { buffers: memory.tensors } : { memory: 'borrow' as const };
    same(
      await answer(() => lattice.countWalks(s, e, length, { bits, ...how })),
      expected,
      `${what} in borrowed memory`,
    );
    await memory.check(what);
  },
  obstacles: async (t) => {
    const { lattice, maze } = t.player;
    const [s, e] = ends(t);
    if (wrong(maze, s, e) || maze.n ** maze.d > 12 || t.device !== 'cpu') return;
    const steps = plainDistances(maze.d, maze.n, maze.blocked, s)[e]!;
    const seed = whole(t.random, 1000);
    const found = await answer(() => lattice.distanceWithObstacles(s, e, { seed }));
    same(found, steps < 0 ? { code: '2005' } : steps, `distanceWithObstacles(${s}, ${e})`);
  },
  diffusion: async (t) => {
    const { lattice, maze } = t.player;
    const field = Float32Array.from({ length: maze.n ** maze.d }, t.random);
    const steps = pick(t.random, [0, 1, 3, 31]);
    const boundary = pick(t.random, ['insulated', 'periodic', 'zero'] as const);
    const rate = (t.random() * 1) / (2 * maze.d);
    using given = t.rt.tensor(field, pick(t.random, [[field.length], new Array<number>(maze.d).fill(maze.n)]));
    using after = await lattice.diffuse(t.random() < 0.5 ? field : given, steps, { rate, boundary });
    const expected = o.diffusionOf(maze, field, steps, rate, boundary);
    close(await after.data(), expected, 2e-5, `diffuse(${steps}, ${rate}, ${boundary})`);
  },
  data: async (t) => {
    const { lattice, maze } = t.player;
    const count = maze.n ** maze.d;
    const data = Int32Array.from({ length: count }, () => whole(t.random, 2 ** 32) | 0);
    const key = Int32Array.from({ length: count }, () => whole(t.random, 2 ** 32) | 0);
    const hidden = data.map((x, i) => x ^ key[i]!);
    same(await lattice.xor(data, key), hidden, 'xor');
    using x = t.rt.tensor(data);
    using by = t.rt.tensor(key);
    using both = await lattice.xor<Tensor>(x, by);
    same(await both.data(), hidden, 'xor of tensors');
    const order = Array.from({ length: maze.d }, (_, k) => k).sort(() => t.random() - 0.5);
    const axis = whole(t.random, maze.d);
    const at = (c: readonly number[]): number => c.reduce((sum, y) => sum * maze.n + y, 0);
    const seen = (from: (c: readonly number[]) => number[]): Int32Array =>
      data.map((_, v) => data[at(from(coordsOf(v, maze.d, maze.n)))]!);
    // Axis k of the result is axis order[k] of the data.
    const permuted = seen((c) =>
      order.reduce<number[]>((to, k, i) => Object.assign(to, { [k]: c[i] }), new Array(maze.d)),
    );
    same(await lattice.permuteAxes(data, order), permuted, `permuteAxes(${order})`);
    const mirrored = seen((c) => c.map((y, k) => (k === axis ? maze.n - 1 - y : y)));
    same(await lattice.reflect(data, axis), mirrored, `reflect(${axis})`);
    using shaped = x.reshape(new Array<number>(maze.d).fill(maze.n));
    using turned = await lattice.permuteAxes(shaped, order);
    same(await turned.data(), permuted, `permuteAxes(${order}) of a tensor`);
    if (maze.d > 1) {
      const turns = whole(t.random, 9) - 4;
      const other = (axis + 1) % maze.d;
      const quarter = (c: readonly number[]): number[] =>
        c.map((y, k) => (k === axis ? c[other]! : k === other ? maze.n - 1 - c[axis]! : y));
      const times = ((turns % 4) + 4) % 4;
      const rotated = seen((c) => Array.from({ length: times }).reduce<number[]>((p) => quarter(p), [...c]));
      same(await lattice.rotate90(data, [axis, other], turns), rotated, `rotate90([${axis}, ${other}], ${turns})`);
    }
  },
};

/** Live tensors to lend, of any content, and a look at them afterwards. */
async function lent({ rt, random, player: { maze } }: Turn, count: number) {
  const words = 2 * maze.n ** maze.d + whole(random, 3);
  const tensors = Array.from({ length: count }, (_, i) =>
    pick(random, [
      () => rt.random.integers([words], { seed: i, high: 2 ** 32, dtype: 'u32' }),
      () => rt.zeros([words], { dtype: 'i32' }),
      () => rt.random.normal([words], { seed: i }),
    ])().compute(),
  );
  const before = await Promise.all(tensors.map((x) => x.bytes()));
  return {
    tensors,
    check: async (what: string): Promise<void> => {
      const after = await Promise.all(tensors.map((x) => x.bytes()));
      same(after, before, `the memory lent to ${what}`);
      for (const x of tensors) x.dispose();
    },
  };
}

const shapes: readonly (readonly [number, number])[] = [
  [1, 2],
  [1, 7],
  [1, 33],
  [2, 2],
  [2, 3],
  [2, 5],
  [2, 9],
  [3, 2],
  [3, 3],
  [3, 4],
  [4, 2],
  [5, 2],
];

function randomBlocked(random: Random, vertices: number): Set<number> {
  const part = pick(random, [0, 0, 0.1, 0.3, 0.6, 1]);
  return new Set(Array.from({ length: vertices }, (_, v) => v).filter(() => random() < part));
}

/** Runs one program; throws what differs, with the program's number. */
export async function latticeProgram(rt: Runtime, number: number): Promise<void> {
  const random = numbers(1_000_000 + number);
  const device = rt.devices().find((x) => x.open)!.id;
  const [d, n] = pick(random, shapes);
  const said: string[] = [];
  const at = { dimensions: d, size: n, runtime: rt, device, auxMemoryMb: 0.1, pathCache: pick(random, [0, 1, 100]) };
  const open = (): Player => {
    const blocked = randomBlocked(random, n ** d);
    const bytes = random() < 0.5 ? Uint8Array.from({ length: n ** d }, (_, v) => Number(blocked.has(v))) : blocked;
    return { lattice: new Lattice({ ...at, blocked: bytes }), maze: { d, n, blocked } };
  };
  const players = [open(), open()];
  try {
    for (let step = 0; step < 6; step++) {
      const i = whole(random, players.length);
      if (random() < 0.2) {
        const blocked = randomBlocked(random, n ** d);
        players[i] = { lattice: players[i]!.lattice, maze: { d, n, blocked } };
        players[i]!.lattice.setBlocked(random() < 0.5 ? blocked : [...blocked]);
        said.push('setBlocked');
      }
      // One call, or several at once, each with numbers of its own.
      const several = random() < 0.3 ? 3 : 1;
      const chosen = Array.from({ length: several }, () => pick(random, Object.keys(acts)));
      said.push(chosen.join(' + '));
      await Promise.all(
        chosen.map((name, k) =>
          acts[name]!({ rt, random: numbers(number * 100 + step * 10 + k), player: players[i]!, device }),
        ),
      );
    }
    await together(rt, random, players);
  } catch (error) {
    throw new Error(
      `program ${number} of (${d}, ${n}) on ${device}, blocked ${players.map((p) => [...p.maze.blocked])}, ${said.join(', ')}: ${(error as Error).message}`,
      { cause: error },
    );
  } finally {
    for (const { lattice } of players) await lattice.dispose();
  }
}

/** The same work on all lattices as a batch. */
async function together(rt: Runtime, random: Random, players: readonly Player[]): Promise<void> {
  const batch = createBatch(players.map((p) => p.lattice));
  const sources = players.map(({ maze }) => o.freeOf(maze)[0]);
  if (sources.some((s) => s === undefined)) return;
  const method = pick(random, ['auto', 'levels'] as const);
  const found = await Promise.all(players.map((p, i) => p.lattice.distancesFrom(sources[i]!, { batch, method })));
  for (const [i, { maze }] of players.entries()) {
    const expected = plainDistances(maze.d, maze.n, maze.blocked, sources[i]!);
    same(found[i], expected, `distancesFrom in a batch (${method})`);
  }
  const all = await Promise.all(players.map((p) => p.lattice.analyze({ batch, method })));
  for (const [i, { maze }] of players.entries()) same(all[i], o.analysisOf(maze), `analyze in a batch (${method})`);
  const { d, n } = players[0]!.maze;
  const fields = players.map(() => Float32Array.from({ length: n ** d }, random));
  const spread = await Promise.all(players.map((p, i) => p.lattice.diffuse(fields[i]!, 2, { batch })));
  for (const [i, { maze }] of players.entries()) {
    close(
      await spread[i]!.data(),
      o.diffusionOf(maze, fields[i]!, 2, 1 / (2 * d + 1), 'insulated'),
      1e-5,
      'diffuse in a batch',
    );
    spread[i]!.dispose();
  }
  await rt.flush();
}

/** A random graph: isolated vertices, edges given twice, parts, at times no edges at all. */
export async function graphProgram(rt: Runtime, number: number): Promise<void> {
  const random = numbers(2_000_000 + number);
  const vertices = pick(random, [0, 1, 2, 5, 12, 25]);
  const weighted = random() < 0.5;
  const seen = new Map<string, [number, number, number]>();
  for (let i = 0; i < pick(random, [0, 3, 20, 60]) && vertices > 1; i++) {
    const [a, b] = [whole(random, vertices), whole(random, vertices)];
    if (a !== b)
      seen.set(`${Math.min(a, b)} ${Math.max(a, b)}`, [
        Math.min(a, b),
        Math.max(a, b),
        weighted ? 1 + whole(random, 4) : 1,
      ]);
  }
  const edges = [...seen.values()];
  const given: Edge[] = edges.flatMap(([a, b, w]): Edge[] => {
    const edge: Edge = weighted ? [a, b, w] : [a, b];
    const back: Edge = weighted ? [b, a, w] : [b, a];
    return pick(random, [[edge], [back], [edge, back], [edge, edge]]);
  });
  try {
    const graph = Graph.fromEdges(vertices, given);
    const { offsets, neighbors, weights } = graph.rows;
    const twin = Graph.fromCsr(offsets, neighbors, weights ?? undefined);
    same([graph.vertices, graph.edges, twin.edges], [vertices, edges.length, edges.length], 'counts');
    const d = o.floyd(vertices, edges);
    const orNone = (row: readonly number[]): number[] => row.map((x) => (Number.isFinite(x) ? x : -1));
    using there = graph.on(rt);
    for (let s = 0; s < vertices; s++) {
      same([...graph.distancesFrom(s)], orNone(d[s]!), `distancesFrom(${s})`);
      if (s % 5 === 0) same([...(await there.distancesFrom(s))], orNone(d[s]!), `distancesFrom(${s}) on a device`);
      for (const t of [0, vertices - 1]) {
        const found = await answer(() => twin.shortestPath(s, t));
        if (!Number.isFinite(d[s]![t]!)) same(found, { code: '2005' }, `shortestPath(${s}, ${t})`);
        else if ('code' in found) throw new Error(`shortestPath(${s}, ${t}): ${String(found.code)}`);
        else {
          const sum = found.path
            .slice(1)
            .reduce(
              (all, v, i) => all + (seen.get([found.path[i]!, v].sort((a, b) => a - b).join(' '))?.[2] ?? Number.NaN),
              0,
            );
          same(
            [found.path[0], found.path.at(-1), found.length, sum],
            [s, t, d[s]![t], d[s]![t]],
            `shortestPath(${s}, ${t})`,
          );
        }
      }
    }
    const { of, count } = graph.components();
    for (let a = 0; a < vertices; a++)
      for (let b = 0; b < vertices; b++)
        same(of[a] === of[b], Number.isFinite(d[a]![b]!), `components of ${a} and ${b}`);
    same(count, new Set(of).size, 'components');
    const between = o.weightedBetweennessOf(vertices, edges);
    close(await graph.centrality('betweenness'), between, 1e-9, 'betweenness');
    close(await there.betweenness(), between, 1e-9, 'betweenness on a device');
    const strength = Array.from({ length: vertices }, (_, v) =>
      edges.reduce((sum, [a, b, w]) => sum + (a === v || b === v ? w : 0), 0),
    );
    close(await graph.centrality('degree'), strength, 1e-12, 'degree');
    for (const ranks of [graph.pageRank(), await there.pageRank()]) {
      const idle = strength.reduce((sum, w, v) => sum + (w === 0 ? ranks[v]! : 0), 0);
      const next = Array.from({ length: vertices }, (_, v) =>
        edges.reduce(
          (sum, [a, b, w]) =>
            sum +
            (a === v ? (0.85 * w * ranks[b]!) / strength[b]! : b === v ? (0.85 * w * ranks[a]!) / strength[a]! : 0),
          (0.15 + 0.85 * idle) / vertices,
        ),
      );
      close(ranks, next, 1e-9, 'ranks');
    }
    for (const method of ['modularity', 'edge_betweenness', 'label_propagation'] as const) {
      const found = await graph.communities(method, { seed: number });
      close([found.modularity], [o.modularityOf(edges, found.of)], 1e-12, `Q of ${method}`);
      same([found.of.length, new Set(found.of).size], [vertices, found.count], method);
    }
  } catch (error) {
    throw new Error(`graph ${number}, ${JSON.stringify(given)} on ${vertices} vertices: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
