// Shortest distances by weight on a device: Bellman and Ford's rounds, which relax all edges, beside delta stepping on the same rows.
//
//   node dist/gpu/lattice-delta.mjs [--devices cuda]
//
// Delta stepping lets only vertices of the present bucket pass their distance on, which saves work where a round costs as much as it
// relaxes. On whole arrays a round costs the same however few vertices take part, so what counts is the number of rounds; keeping
// edges longer than delta back until a bucket is settled would only add some. Rounds are counted in sixteens, as the host looks.
// Results are compared with Dijkstra's on the host.

import { createRuntime, type DeviceKind, type Runtime, type Tensor } from '../../src/index.ts';
import { Graph } from '../../src/lattice/index.ts';
import { rounds } from '../../src/lattice/on-device/rounds.ts';
import { DeviceRows } from '../../src/lattice/on-device/rows.ts';
import { randomRows } from './random.ts';

const at = process.argv.indexOf('--devices');
const kind = (at < 0 ? 'cuda' : process.argv[at + 1]) as DeviceKind;
const rt = await createRuntime({ devices: [kind], seed: 1 });
const device = rt.devices().find((d) => d.open)!;
const small = kind !== 'cuda';
console.log(`${device.id} ${device.name}`);

let state = 9;
const draw = (): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

/** Every edge from 0.1 to 1 long, the same both ways. */
function weighted(vertices: number, edges: Iterable<readonly [number, number]>): Graph {
  return Graph.fromEdges(
    vertices,
    [...edges].map(([a, b]): [number, number, number] => [a, b, 0.1 + 0.9 * draw()]),
  );
}

function randomGraph(vertices: number, drawn: number): Graph {
  const { offsets, neighbors } = randomRows(vertices, drawn);
  const edges: [number, number][] = [];
  for (let v = 0; v < vertices; v++)
    for (let e = offsets[v]!; e < offsets[v + 1]!; e++) if (v < neighbors[e]!) edges.push([v, neighbors[e]!]);
  return weighted(vertices, edges);
}

function square(side: number): Graph {
  const edges: [number, number][] = [];
  for (let v = 0; v < side * side; v++) {
    if (v % side < side - 1) edges.push([v, v + 1]);
    if (v < side * (side - 1)) edges.push([v, v + side]);
  }
  return weighted(side * side, edges);
}

type State = { readonly distance: Tensor; readonly settled: Tensor; readonly bound: Tensor; readonly more: Tensor };

/** By buckets of width `delta`; Infinity is one bucket for all. */
async function byBuckets(runtime: Runtime, rows: DeviceRows, source: number, delta: number) {
  const pinned = <T>(body: () => T): T => runtime.scope({ device: device.id }, body);
  const start = pinned(
    (): State => ({
      distance: runtime
        .where(runtime.iota([rows.rows, 1], 0).equal(source), 0, Number.POSITIVE_INFINITY)
        .cast('f64')
        .compute(),
      settled: runtime.full([], 0, { dtype: 'f64' }).compute(),
      bound: runtime.full([], delta, { dtype: 'f64' }).compute(),
      more: runtime.full([], 1, { dtype: 'i32' }).compute(),
    }),
  );
  const { fields, count } = await rounds(runtime, pinned, {
    what: 'buckets of distances',
    start,
    step: ({ distance, settled, bound }: State): State => {
      // What a vertex below the bucket could pass on has been passed on.
      const active = distance.less(bound).logicalAnd(distance.greaterEqual(settled));
      const from = runtime.where(active, distance, Number.POSITIVE_INFINITY).cast('f64');
      const next = distance.minimum(rows.least(from)).cast('f64');
      const quiet = next.less(distance).any().logicalNot();
      const left = next.less(Number.POSITIVE_INFINITY).logicalAnd(next.greaterEqual(bound)).any();
      return {
        distance: next,
        settled: runtime.where(quiet, bound, settled).cast('f64'),
        bound: runtime.where(quiet, bound.add(delta), bound).cast('f64'),
        more: quiet.logicalNot().logicalOr(left).cast('i32'),
      };
    },
    most: 1_000_000,
    more: ({ more }) => more,
  });
  const found = await rows.byVertex(pinned, fields.distance, undefined);
  for (const t of Object.values(fields)) t.dispose();
  return { found, count };
}

let wrong = 0;
for (const [name, graph] of [
  ['random, 16 edges a vertex', small ? randomGraph(20_000, 160_000) : randomGraph(500_000, 4_000_000)],
  ['square grid', small ? square(60) : square(400)],
] as const) {
  const expected = graph.distancesFrom(0);
  const rows = rt.scope({ device: device.id }, () => new DeviceRows(rt, graph.rows, device.id === 'cpu'));
  for (const delta of [Number.POSITIVE_INFINITY, 4, 1, 0.25]) {
    await byBuckets(rt, rows, rows.places[0]!, delta);
    const begun = performance.now();
    const { found, count } = await byBuckets(rt, rows, rows.places[0]!, delta);
    const ms = performance.now() - begun;
    const good = found.every((d, v) => d === expected[v] || (d === Number.POSITIVE_INFINITY && expected[v] === -1));
    if (!good) wrong++;
    console.log(
      `${name}: ${delta === Number.POSITIVE_INFINITY ? 'one bucket' : `delta ${delta}`}: ${count} rounds, ${ms.toFixed(1)} ms${good ? '' : ' WRONG'}`,
    );
  }
  rows.dispose();
}
await rt.close();
process.exit(wrong === 0 ? 0 : 1);
