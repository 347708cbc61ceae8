// The programs of examples/everyday on small inputs, against the values that NumPy gives for them (everyday.py writes both).

import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Runtime, Tensor, TensorInput } from '../../src/index.ts';
import { openRuntime, targets } from '../cases/devices.ts';

type Given = Readonly<Record<string, TensorInput>>;
type Result = Readonly<Record<string, Tensor>>;
// biome-ignore lint/complexity/noBannedTypes: the examples are plain JavaScript.
type Program = Readonly<Record<string, Function>>;

const folder = new URL('../../examples/everyday/', import.meta.url);
const data = JSON.parse(readFileSync(new URL('everyday.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, { readonly given: Given; readonly wanted: Readonly<Record<string, unknown>> }>
>;

interface Row {
  readonly file: string;
  readonly run: (program: Program, rt: Runtime, given: Given) => Result | Promise<Result>;
  /** Elements that may differ: where a point is on the edge, rounding decides. */
  readonly edges?: number;
}

const i32 = (rt: Runtime, values: TensorInput): Tensor =>
  rt.tensor(values, [(values as readonly number[]).length], { dtype: 'i32' });

const rows: Readonly<Record<string, Row>> = {
  kmeans: { file: 'kmeans', run: (p, rt, g) => p.kmeans!(rt, rt.tensor(g.points!), g.k, g.rounds) },
  pca: { file: 'pca', run: (p, rt, g) => p.pca!(rt, rt.tensor(g.data!), g.count) },
  logistic: {
    file: 'logistic-regression',
    run: (p, rt, g) => p.fitLogistic!(rt, rt.tensor(g.features!), rt.tensor(g.labels!), { steps: g.steps }),
  },
  attention: {
    file: 'attention',
    run: (p, rt, g) => ({ out: p.attention!(rt, rt.tensor(g.q!), rt.tensor(g.k!), rt.tensor(g.v!)) }),
  },
  blur: { file: 'blur', run: (p, rt, g) => ({ out: p.blur!(rt, rt.tensor(g.image!), g.sigma) }) },
  life: { file: 'life', run: (p, rt, g) => ({ out: p.life!(rt, rt.tensor(g.board!), g.generations) }) },
  mandelbrot: { file: 'mandelbrot', run: (p, rt, g) => ({ out: p.mandelbrot!(rt, g) }), edges: 2 },
  n_body: {
    file: 'n-body',
    run: (p, rt, g) => {
      const [positions, velocities, masses] = [g.positions!, g.velocities!, g.masses!].map((a) => rt.tensor(a));
      return p.simulate!(rt, { positions, velocities, masses }, g.steps);
    },
  },
  page_rank: { file: 'page-rank', run: (p, rt, g) => p.pageRank!(rt, i32(rt, g.from!), i32(rt, g.to!), g.pages) },
  heat: { file: 'heat', run: (p, rt, g) => ({ out: p.heat!(rt, rt.tensor(g.plate!), g.steps) }) },
};

const flat = (value: unknown): number[] => (Array.isArray(value) ? value.flatMap(flat) : [Number(value)]);

it('is every program there, each with values of NumPy', () => {
  const files = readdirSync(folder).sort();
  expect(
    Object.values(rows)
      .map((r) => `${r.file}.mjs`)
      .sort(),
  ).toEqual(files);
  expect(Object.keys(rows).sort()).toEqual(Object.keys(data).sort());
});

describe.each(targets.filter((t) => ['cpu', 'webgpu'].includes(t.name)))('on $name', (target) => {
  let rt: Runtime;
  beforeAll(async () => {
    rt = await openRuntime(target);
  });
  afterAll(() => rt?.close());

  it.each(Object.keys(rows))('%s gives what NumPy gives', async (name) => {
    const { file, run, edges = 0 } = rows[name]!;
    const { given, wanted } = data[name]!;
    const program = (await import(/* @vite-ignore */ new URL(`${file}.mjs`, folder).href)) as Program;
    const got = await run(program, rt, given);
    for (const [key, value] of Object.entries(wanted)) {
      const want = flat(value);
      const have = Array.from(await got[key]!.data(), Number);
      expect(have.length, key).toBe(want.length);
      const scale = Math.max(...want.map(Math.abs));
      const off = have.filter((v, i) => !(Math.abs(v - want[i]!) <= 2e-5 * scale));
      expect(off.length, `${key}: ${off.join(' ')}`).toBeLessThanOrEqual(edges);
    }
  });
});
