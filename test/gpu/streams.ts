// Many runtimes on one GPU, each with several streams of work that are awaited side by side, for a while.
//
// Every result is exact by construction and compared element by element. Steps in between are not disposed of, as in careless
// code: in the end the collector has freed all of them. How the device's pools and the process grew is told; `soak.ts` judges that.

import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { assert } from './check.ts';
import { Random } from './data.ts';
import { slope } from './soak.ts';

type Work = (rt: Runtime, random: Random) => Promise<void>;

const MiB = 2 ** 20;

async function expectAll(result: Tensor, expected: (i: number) => number, what: string): Promise<void> {
  const got = (await result.data()) as Float32Array;
  const wrong = got.findIndex((v, i) => v !== expected(i));
  assert(wrong < 0, `${what}: element ${wrong} is ${got[wrong]}, not ${expected(wrong)}`);
  result.dispose();
}

const twice = `.version 7.0
.target sm_70
.address_size 64
.visible .entry twice(.param .u64 a, .param .u64 o) {
  .reg .b64 %d<4>; .reg .f32 %f<3>; .reg .b32 %r<4>;
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [o];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 64, %r0;
  mul.wide.u32 %d2, %r2, 4; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;
  ld.global.f32 %f0, [%d0]; add.rn.f32 %f1, %f0, %f0; st.global.f32 [%d1], %f1;
  ret;
}
`;

const works: Readonly<Record<string, Work>> = {
  chain: async (rt, random) => {
    const [n, v] = [1 + random.below(300_000), random.below(100)];
    const x = rt.full([n], v);
    await expectAll(x.mul(2).add(3).sub(x), () => v + 3, 'chain');
    x.dispose();
  },
  sum: async (rt, random) => {
    const [rows, columns] = [1 + random.below(200), 1 + random.below(2000)];
    const sums = rt
      .arange(0, rows * columns)
      .cast('f64')
      .reshape([rows, columns])
      .sum({ axis: 1 });
    await expectAll(sums, (r) => columns * (r * columns) + (columns * (columns - 1)) / 2, 'sum');
  },
  product: async (rt, random) => {
    const [n, v] = [1 + random.below(300), 1 + random.below(7)];
    await expectAll(rt.full([n, n], v).matmul(rt.full([n, n], 2)), () => 2 * v * n, 'product');
  },
  steps: async (rt, random) => {
    const [n, count] = [1 + random.below(50_000), 1 + random.below(20)];
    const step = rt.compile((f: Tensor) => f.mul(2).sub(f).add(1));
    let f: Tensor = rt.zeros([n]);
    for (let i = 0; i < count; i++) f = step(f);
    await expectAll(f, () => count, 'steps');
    step.dispose();
  },
  sort: async (rt, random) => {
    const values = Float32Array.from({ length: 1 + random.below(20_000) }, () => random.below(1000));
    const sorted = values.slice().sort();
    await expectAll(rt.tensor(values).sort(), (i) => sorted[i]!, 'sort');
  },
  transfer: async (rt, random) => {
    const n = 1 + random.below(2_000_000);
    const source = random.unit() < 0.5 ? rt.pinned(n) : new Float32Array(n);
    for (let i = 0; i < n; i++) source[i] = i & 0xffff;
    const x = rt.tensor(source, [n]);
    source.fill(-1);
    await expectAll(x.add(1), (i) => (i & 0xffff) + 1, 'transfer');
    x.dispose();
  },
  own: async (rt, random) => {
    const n = 64 * (1 + random.below(100));
    const run = rt.rawKernel({
      entry: 'twice',
      sources: { ptx: twice },
      outputs: (x) => [{ dtype: 'f32', shape: x!.shape }],
      grid: () => [n / 64],
      block: [64],
    });
    const x = rt.full([n], 21).compute();
    await expectAll(run([x])[0]!, () => 42, 'own PTX');
    x.dispose();
  },
};

export async function streams(seconds: number, runtimes = 6, perRuntime = 4): Promise<string> {
  const all = await Promise.all(
    Array.from({ length: runtimes }, () => createRuntime({ devices: ['cuda'], recovery: { keep: 'none' } })),
  );
  const devices = all.map((rt) => rt.device('cuda:0') as CudaDevice);
  const collect = (globalThis as { gc?: () => void }).gc;
  assert(collect !== undefined, 'run with --expose-gc');
  const end = performance.now() + 1000 * seconds;
  const started = performance.now();
  const samples: { minutes: number; pool: number; host: number }[] = [];
  let rounds = 0;
  const names = Object.keys(works);
  const stream = async (rt: Runtime, seed: number): Promise<void> => {
    const random = new Random(seed);
    while (performance.now() < end) {
      await works[names[random.below(names.length)]!]!(rt, random);
      rounds++;
    }
  };
  const watch = async (): Promise<void> => {
    while (performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(3000, 250 * seconds)));
      collect!();
      const pool = devices.reduce((sum, d) => sum + d.pool().reserved, 0);
      samples.push({ minutes: (performance.now() - started) / 60_000, pool, host: process.memoryUsage().rss });
    }
  };
  await Promise.all([
    watch(),
    ...all.flatMap((rt, i) => Array.from({ length: perRuntime }, (_, k) => stream(rt, 100 * i + k))),
  ]);
  for (let i = 0; i < 100 && all.some((rt) => rt.stats().bytes > 0); i++) {
    collect!();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const held = all.map((rt) => rt.stats().bytes);
  assert(
    held.every((b) => b === 0),
    `bytes that nobody freed: ${held.join(', ')}`,
  );
  const late = samples.slice(Math.floor(samples.length / 3));
  const [pool, host] = [slope(late, (i) => late[i]!.pool), slope(late, (i) => late[i]!.host)];
  await Promise.all(all.map((rt) => rt.close()));
  const last = samples[samples.length - 1]!;
  return `${runtimes} runtimes with ${perRuntime} streams each, ${rounds} results right in ${seconds} s; nothing held at the end; pools ${(last.pool / MiB).toFixed(0)} MiB (${pool.toFixed(2)} MiB/min), process ${(last.host / MiB).toFixed(0)} MiB (${host.toFixed(2)} MiB/min)`;
}
