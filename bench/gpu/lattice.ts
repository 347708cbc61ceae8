// The lattice's rows on a GPU, each with a checked result: build, distances, betweenness, PageRank, walks in borrowed memory,
// diffusion, and a search with one bit per vertex on a grid of almost 2^33 vertices.
//
//   node dist/gpu/lattice-bench.mjs [--json FILE] [--devices cuda] [--only WORD] [--seconds 2]
//
// Medians after warm-up, with the 10 % and 90 % quantiles, and what each row has to keep. Fails if a result is wrong. `--devices cpu`
// runs it without a GPU, on smaller grids.

import { writeFileSync } from 'node:fs';
import { createRuntime, type DeviceKind, type Runtime, type Tensor } from '../../src/index.ts';
import { diffuseField, Graph, Lattice } from '../../src/lattice/index.ts';
import { randomRows } from '../lattice/random.ts';

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const kind = (option('--devices') ?? 'cuda') as DeviceKind;
const only = option('--only') ?? '';
/** How long each row is timed. */
const seconds = Number(option('--seconds') ?? 2);
const small = kind !== 'cuda';
const rt = await createRuntime({ devices: [kind], seed: 1 });
const device = rt.devices().find((d) => d.open)!;
console.log(`${device.id} ${device.name}`);

interface Row {
  readonly work: string;
  readonly ms: number;
  readonly low: number;
  readonly high: number;
  readonly bound: number | null;
  readonly note: string;
}
const rows: Row[] = [];
let wrong = 0;

function check(what: string, good: boolean): void {
  if (good) return;
  wrong++;
  console.log(`WRONG ${what}`);
}

/** Times `run` again and again; the last result is checked by whoever calls. */
async function row<T>(
  work: string,
  bound: number | null,
  run: () => Promise<T>,
  note: (ms: number) => string = () => '',
  units = 1,
): Promise<T | undefined> {
  if (!work.includes(only)) return undefined;
  let result: T | undefined;
  for (let i = 0; i < 3; i++) result = await run();
  const samples: number[] = [];
  const end = performance.now() + 1000 * seconds;
  while (samples.length < 5 || (performance.now() < end && samples.length < 200)) {
    const start = performance.now();
    result = await run();
    samples.push((performance.now() - start) / units);
  }
  samples.sort((a, b) => a - b);
  const quantile = (q: number): number => samples[Math.floor(q * (samples.length - 1))]!;
  const ms = quantile(0.5);
  rows.push({ work, ms, low: quantile(0.1), high: quantile(0.9), bound, note: note(ms) });
  console.log(`${work}: ${ms.toFixed(3)} ms ${note(ms)}`);
  return result;
}

/** Bytes a second, read and written, of a plain copy: what the other figures are compared with. */
async function copyBandwidth(runtime: Runtime): Promise<number> {
  const n = small ? 4 << 20 : 256 << 20;
  const x = runtime.zeros([n]).compute();
  const times: number[] = [];
  for (let i = 0; i < 12; i++) {
    const start = performance.now();
    const made: Tensor[] = [];
    for (let k = 0; k < 4; k++) made.push(x.add(1).compute());
    await runtime.flush();
    times.push(performance.now() - start);
    for (const t of made) t.dispose();
  }
  x.dispose();
  return (4 * 8 * n) / (times.sort((a, b) => a - b)[4]! / 1000);
}

const bandwidth = await copyBandwidth(rt);
console.log(`copy: ${(bandwidth / 1e12).toFixed(2)} TB/s`);
const [d, n] = small ? [3, 30] : [3, 100];
const at = { runtime: rt, device: device.id } as const;

const entries = await row(`build (${d}, ${n})`, 2, async () => {
  const l = new Lattice({ dimensions: d, size: n, ...at });
  const { offsets, neighbors } = await l.build();
  await rt.flush(offsets, neighbors);
  const count = neighbors.size;
  await l.dispose();
  return count;
});
check('build', entries === undefined || entries === 2 * d * (n - 1) * n ** (d - 1));

const grid = new Lattice({ dimensions: d, size: n, ...at });
const found = await row(`distances from a corner of (${d}, ${n})`, 4, () =>
  grid.distancesFrom(0, { method: 'levels' }),
);
const closed = await grid.distancesFrom(0, { method: 'closed' });
check('distances', !found || found.every((x, v) => x === closed[v]));

const four = new Lattice({ dimensions: 4, size: small ? 4 : 8, ...at });
const host = await four.centrality('betweenness', { method: 'host' });
const near = (a: Float64Array | undefined, b: Float64Array, by: number): boolean =>
  !a || a.every((x, v) => Math.abs(x - b[v]!) <= by * Math.max(1, Math.abs(b[v]!)));
const symmetric = await row(`betweenness (4, ${four.size}), one source per orbit`, 100, () =>
  four.centrality('betweenness', { method: 'device' }),
);
check('betweenness by symmetry', near(symmetric, host, 1e-9));
const edges = Array.from({ length: four.vertices }, (_, v) =>
  four
    .neighbors(v)
    .filter((u) => u > v)
    .map((u): [number, number] => [v, u]),
).flat();
using plain = Graph.fromEdges(four.vertices, edges).on(rt, { device: device.id });
const every = await row(`betweenness (4, ${four.size}), every source, as any graph`, 100, () => plain.betweenness());
check('betweenness of all sources', near(every, host, 1e-9));

const walks = new Lattice({ dimensions: 4, size: 10, ...at });
const count = await row('walks (4, 10), L = 36, plain', null, () => walks.countWalks(0, 9999, 36));
check('walks', count === undefined || count === 3_006_008_192_555_768_384n);
const borrowed = await row(
  'walks (4, 10), L = 36, borrowed',
  3,
  () => walks.countWalks(0, 9999, 36, { memory: 'borrow' }),
  () => {
    const report = walks.stats().borrowed!;
    return `steps ${report.ms.toFixed(2)} ms, hashes ${report.hashMs.toFixed(2)} ms`;
  },
);
check('walks in borrowed memory', borrowed === undefined || borrowed === 3_006_008_192_555_768_384n);

const side = small ? 32 : 128;
const field = rt.random.uniform([side, side, side], { seed: 3 }).compute();
const [mass] = await field.sum({ dtype: 'f32' }).data();
const fieldBytes = 8 * side ** 3;
const limit = (30 * fieldBytes * 1000 * 1.5) / bandwidth;
let last: Tensor | null = null;
const spread = await row(
  `diffusion ${side}³ × 30 steps`,
  limit,
  async () => {
    last?.dispose();
    last = diffuseField(rt, field, 30);
    await rt.flush(last);
    return last;
  },
  (ms) => `${((30 * fieldBytes) / ms / 1e9).toFixed(2)} TB/s of reads and writes`,
);
if (spread) {
  const after = (await spread.sum({ dtype: 'f32' }).data())[0];
  check('diffusion', Math.abs(Number(after) - Number(mass)) <= 1e-5 * Number(mass));
}

const [deep, wide] = small ? [5, 10] : [5, 97];
const large = new Lattice({ dimensions: deep, size: wide, ...at });
const levels = deep * (wide - 1);
const wordBytes = (2 * large.vertices) / 8;
const start = performance.now();
await large.reach(0, { method: 'bits', within: 8 });
console.log(`first levels of (${deep}, ${wide}): ${(performance.now() - start).toFixed(0)} ms`);
const reach = await row(
  `search of (${deep}, ${wide}), ${large.vertices} vertices as bits, a level`,
  (wordBytes * 1000 * 1.5) / bandwidth,
  () => large.reach(0, { method: 'bits' }),
  (ms) => `${(wordBytes / ms / 1e9).toFixed(2)} TB/s of reads and writes`,
  levels,
);
check('reach', !reach || (reach.reached === large.vertices && reach.levels === levels));
// A search from the middle and to half its depth, against the closed form.
const middle = Math.floor(large.vertices / 2);
if ('search'.includes(only) || only === '') {
  const half = { within: Math.floor(levels / 4) };
  const [byBits, byForm] = [await large.reach(middle, { ...half, method: 'bits' }), await large.reach(middle, half)];
  check('reach from the middle', byBits.reached === byForm.reached && byBits.levels === byForm.levels);
}

// Last: making the graph takes as long as all the rest.
const [vertices, drawn] = small ? [20_000, 160_000] : [1_000_000, 8_000_000];
const random = randomRows(vertices, drawn);
const graph = Graph.fromCsr(random.offsets, random.neighbors);
using there = graph.on(rt, { device: device.id });
const rounds = { maxRounds: 64, tolerance: 1e-300 };
const ranks = await row(
  `PageRank, ${vertices} vertices, ${random.neighbors.length} entries, a round`,
  0.6,
  () => there.pageRank(rounds),
  () => `of ${rounds.maxRounds} rounds, with reading the ranks`,
  rounds.maxRounds,
);
if (ranks) {
  // Eight rounds: the host takes a tenth of a second for each.
  const few = { ...rounds, maxRounds: 8 };
  check('PageRank', near(await there.pageRank(few), graph.pageRank(few), 1e-12));
  check('ranks of all rounds', Math.abs(ranks.reduce((a, x) => a + x, 0) - 1) < 1e-9);
}
const hops = await row('distances in the same graph', null, () => there.distancesFrom(0));
if (hops) check('distances in a graph', near(hops, graph.distancesFrom(0), 0));

const head = ['work', 'ms', '10 % … 90 %', 'bound', ''];
const body = rows.map((r) => [
  r.work,
  r.ms.toFixed(3),
  `${r.low.toFixed(3)} … ${r.high.toFixed(3)}`,
  r.bound === null ? '' : r.bound.toFixed(3),
  r.bound === null ? r.note : `${r.ms <= r.bound ? 'kept' : 'NOT KEPT'} ${r.note}`.trim(),
]);
console.log([head, ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
console.log(wrong === 0 ? 'all results right' : `${wrong} results wrong`);
const file = option('--json');
if (file)
  writeFileSync(
    file,
    JSON.stringify({ date: new Date().toISOString(), device: device.name, bandwidth, rows }, null, 2),
  );
await rt.close();
process.exit(wrong === 0 ? 0 : 1);
