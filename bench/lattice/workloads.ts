// npm run bench -- workloads: twelve workloads around lattices, on every device, with checked results. First runs (which compile) and
// later ones apart, nothing from a cache, the device waited for, f32 on the CPU and on GPUs alike. Rows where a GPU loses are
// shown like the others.
//
//   --devices cpu,cuda   default: the CPU and the first GPU that is there
//   --small              smaller sizes, for machines without a GPU
//
// Ends with status 1 if a result is wrong.

import { createRuntime, type DeviceKind, type Runtime, type Tensor } from '../../src/index.ts';
import { diffuseField, Lattice } from '../../src/lattice/index.ts';

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const small = process.argv.includes('--small');
const kinds = (option('--devices')?.split(',') ?? ['cpu', 'cuda', 'webgpu']) as DeviceKind[];

interface Workload {
  readonly name: string;
  readonly run: (rt: Runtime, device: string) => Promise<unknown>;
  /** Of what `run` gave. */
  readonly good: (result: unknown) => boolean | Promise<boolean>;
}

const near = (a: number, b: number, by: number): boolean => Math.abs(a - b) <= by * Math.max(1, Math.abs(b));
const numbersOf = async (t: Tensor): Promise<number[]> => Array.from(await t.data(), Number);
const one = async (t: Tensor): Promise<number> => (await numbersOf(t))[0]!;

/** A product of numbers whose sums are known: rows of i times columns of ones. */
function product(size: number, times: number): Workload {
  return {
    name: `product of ${size}² f32, ${times} times`,
    run: async (rt) => {
      using a = rt.iota([size, size], 0, { dtype: 'f32' }).div(size).compute();
      using b = rt.full([size, size], 0.5).compute();
      let last: Tensor | null = null;
      for (let i = 0; i < times; i++) {
        last?.dispose();
        last = a.matmul(b).compute();
      }
      await rt.flush(last!);
      using picked = last!.slice([
        [size - 1, size],
        [0, 1],
      ]);
      const value = await one(picked);
      last!.dispose();
      return value / size;
    },
    good: (value) => near(value as number, ((size - 1) / size) * 0.5, 1e-3),
  };
}

function diffusion(shape: readonly number[], steps: number): Workload {
  const count = shape.reduce((a, b) => a * b, 1);
  const start = Float32Array.from({ length: count }, (_, v) => ((v * 7919) % 10007) / 10007);
  const mass = start.reduce((a, b) => a + b, 0);
  return {
    name: `diffusion ${shape.join(' × ')}, ${steps} steps`,
    run: async (rt) => {
      using field = rt.tensor(start, shape).compute();
      using after = diffuseField(rt, field, steps);
      return after.data();
    },
    good: (result) => {
      const values = result as Float32Array;
      const exact = count <= 2 ** 18 ? exactDiffusion(start, shape, steps) : null;
      const kept = near(
        values.reduce((a, b) => a + b, 0),
        mass,
        1e-5,
      );
      return kept && (exact === null || exact.every((x, i) => Math.abs(x - values[i]!) < 1e-5));
    },
  };
}

/** In doubles, vertex by vertex. */
function exactDiffusion(start: Float32Array, shape: readonly number[], steps: number): Float64Array {
  const strides = shape.map((_, k) => shape.slice(k + 1).reduce((a, b) => a * b, 1));
  const rate = 1 / (2 * shape.length + 1);
  let x = Float64Array.from(start);
  for (let step = 0; step < steps; step++) {
    const now = x;
    x = now.map((value, v) => {
      let sum = 0;
      strides.forEach((s, k) => {
        const at = Math.floor(v / s) % shape[k]!;
        if (at > 0) sum += now[v - s]! - value;
        if (at < shape[k]! - 1) sum += now[v + s]! - value;
      });
      return value + rate * sum;
    });
  }
  return x;
}

function buildAndPath(d: number, n: number, analyse: boolean): Workload {
  return {
    name: `build${analyse ? ', analyse' : ''} and path in (${d}, ${n})`,
    run: async (rt, device) => {
      const l = new Lattice({ dimensions: d, size: n, runtime: rt, device });
      const { neighbors } = await l.build();
      const { length } = await l.shortestPath(0, n ** d - 1, { method: 'search' });
      const edges = analyse ? (await l.analyze()).edges : neighbors.size / 2;
      await l.dispose();
      return [length, neighbors.size / 2, edges];
    },
    good: (result) => {
      const edges = d * (n - 1) * n ** (d - 1);
      return JSON.stringify(result) === JSON.stringify([d * (n - 1), edges, edges]);
    },
  };
}

const million = small ? 1e6 : 1e8;
const workloads: readonly Workload[] = [
  {
    name: 'construct (4, 10) five times, not built',
    run: async () => Array.from({ length: 5 }, () => new Lattice().edges),
    good: (edges) => (edges as number[]).every((e) => e === 36_000),
  },
  {
    name: 'xor of 5 i32, five times',
    run: async (rt, device) => {
      const l = new Lattice({ runtime: rt, device });
      using data = rt.tensor(Int32Array.of(1, 2, 3, 4, 5));
      using key = rt.tensor(Int32Array.of(7, 7, 7, 7, 7));
      let last: number[] = [];
      for (let i = 0; i < 5; i++) {
        using hidden = (await l.xor<Tensor>(data, key)) as Tensor;
        last = await numbersOf(hidden);
      }
      return last;
    },
    good: (values) => String(values) === '6,5,4,3,2',
  },
  {
    name: 'path 0 → 9999 in (4, 10), searched three times',
    run: async (rt, device) => {
      const l = new Lattice({ runtime: rt, device, pathCache: 0 });
      const lengths: number[] = [];
      for (let i = 0; i < 3; i++) lengths.push((await l.shortestPath(0, 9999, { method: 'levels' })).length);
      return lengths;
    },
    good: (lengths) => String(lengths) === '36,36,36',
  },
  product(1024, 10),
  {
    name: 'random fill and product of 2048²',
    run: async (rt) => {
      using a = rt.random.uniform([2048, 2048], { seed: 1 }).compute();
      using b = rt.random.uniform([2048, 2048], { seed: 2 }).compute();
      using c = a.matmul(b);
      using mean = c.mean();
      return one(mean);
    },
    good: (mean) => near(mean as number, 512, 0.02),
  },
  {
    name: `${million} normal random values`,
    run: async (rt) => {
      using x = rt.random.normal([million], { seed: 3 }).compute();
      using mean = x.mean();
      using square = x.mul(x).mean();
      return [await one(mean), await one(square)];
    },
    good: (moments) => {
      const [mean, square] = moments as [number, number];
      return Math.abs(mean) < 0.02 && near(square, 1, 0.02);
    },
  },
  {
    name: 'ten products of 256²',
    run: async (rt) => {
      using a = rt.full([10, 256, 256], 0.5).compute();
      using b = rt.full([10, 256, 256], 2).compute();
      using c = a.matmul(b);
      using most = c.max();
      return one(most);
    },
    good: (value) => value === 256,
  },
  {
    name: 'five analyses of (4, 8) with a blocked vertex',
    run: async (rt, device) => {
      const l = new Lattice({ dimensions: 4, size: 8, runtime: rt, device, blocked: [9] });
      const found: number[] = [];
      for (let i = 0; i < 5; i++) found.push((await l.analyze()).diameter);
      return found;
    },
    good: (diameters) => String(diameters) === '28,28,28,28,28',
  },
  diffusion([128, 128], 100),
  diffusion([256, 256], 100),
  diffusion([512, 512], 50),
  diffusion([64, 64, 64], 50),
  diffusion([128, 128, 128], 30),
  ...(
    [
      [3, 4],
      [3, 6],
      [4, 4],
      [4, 5],
      [5, 3],
    ] as const
  ).map(([d, n]) => buildAndPath(d, n, false)),
  ...(
    [
      [3, 10],
      [3, 15],
      [4, 7],
    ] as const
  ).map(([d, n]) => buildAndPath(d, n, true)),
  ...(small ? [1024] : [1024, 2048, 4096, 8192]).map((n) => product(n, 1)),
  {
    name: `exp, sin, sqrt, tanh of ${million} values`,
    run: async (rt) => {
      using x = rt.full([million], 0.25).compute();
      const means: number[] = [];
      for (const f of ['exp', 'sin', 'sqrt', 'tanh'] as const) {
        using y = x[f]().compute();
        using top = y.max();
        means.push(await one(top));
      }
      return means;
    },
    good: (means) =>
      [Math.exp, Math.sin, Math.sqrt, Math.tanh].every((f, i) => near((means as number[])[i]!, f(0.25), 1e-5)),
  },
];

/** Later runs of a workload: enough for a median, few enough for slow ones. */
const warmRuns = 5;

async function measure(
  rt: Runtime,
  device: string,
  w: Workload,
): Promise<{ cold: number; warm: number; good: boolean }> {
  const times: number[] = [];
  let good = true;
  for (let i = 0; i <= warmRuns; i++) {
    const start = performance.now();
    const result = await w.run(rt, device);
    times.push(performance.now() - start);
    if (i === 0) good = await w.good(result);
  }
  const [cold, ...warm] = times as [number, ...number[]];
  return { cold, warm: warm.sort((a, b) => a - b)[warmRuns >> 1]!, good };
}

const table: string[][] = workloads.map((w) => [w.name]);
const heads = ['workload'];
let wrong = 0;
for (const kind of kinds) {
  const rt = await createRuntime({ devices: [kind], seed: 1 }).catch((error: Error) => {
    console.log(`${kind}: ${error.message.split('\n')[0]}`);
    return null;
  });
  if (!rt) continue;
  const { id, name } = rt.devices().find((d) => d.open)!;
  heads.push(`${name}: first, ms`, 'later, ms');
  for (const [i, w] of workloads.entries()) {
    try {
      const { cold, warm, good } = await measure(rt, id, w);
      table[i]!.push(cold.toPrecision(3), warm.toPrecision(3));
      if (good) continue;
      console.log(`WRONG ${w.name} on ${id}`);
    } catch (error) {
      table[i]!.push('–', '–');
      console.log(`FAILED ${w.name} on ${id}: ${(error as Error).message}`);
    }
    wrong++;
  }
  await rt.close();
}
for (const cells of [heads, heads.map(() => '---'), ...table]) console.log(`| ${cells.join(' | ')} |`);
console.log(wrong === 0 ? 'all results right' : `${wrong} results wrong`);
process.exit(wrong === 0 && heads.length > 1 ? 0 : 1);
