// Everyday programs through the public API, beside PyTorch eager and torch.compile on the same machine in the same run.
//
//   node dist/gpu/everyday.mjs [--json FILE] [--no-torch] [--only TEXT,…] [--warm MS]
//
// `--only` measures programs whose names contain one of the texts; `--warm` is how long each is warmed up.
//
// Each program is called a number of times and waited for once; the median over rounds, per call, in µs. A few values of each
// result are compared with plain JavaScript before anything is measured: a wrong one ends the run.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRuntime, type Tensor } from '../../src/index.ts';

interface Measured {
  readonly name: string;
  readonly us: number;
  readonly low: number;
  readonly high: number;
}

/** Until the engine has compiled the library's own code: before that, its interpreter is measured. */
const usualWarmUpMs = 1500;

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at > 0 ? process.argv[at + 1] : undefined;
};
const file = option('--json');
const warmUpMs = Number(option('--warm') ?? usualWarmUpMs);
const only = option('--only')?.split(',');
const rt = await createRuntime({ devices: ['cuda'], seed: 1 });
const device = rt.devices().find((d) => d.open)!.name;
const rows: Measured[] = [];

async function measure(name: string, f: () => Tensor, calls: number, check: () => Promise<void>): Promise<void> {
  if (only && !only.some((text) => name.includes(text))) return;
  await check();
  const samples: number[] = [];
  const warm = performance.now() + warmUpMs;
  for (let r = -1; r < 15; r++) {
    const t = performance.now();
    if (t < warm) r = -1;
    let last: Tensor | undefined;
    for (let i = 0; i < calls; i++) {
      last?.dispose();
      last = f().compute();
    }
    await rt.flush();
    if (r >= 0) samples.push(((performance.now() - t) * 1000) / calls);
    last!.dispose();
  }
  samples.sort((a, b) => a - b);
  const quantile = (q: number): number => samples[Math.floor(q * (samples.length - 1))]!;
  rows.push({ name, us: quantile(0.5), low: quantile(0.1), high: quantile(0.9) });
  console.log(`${name.padEnd(46)} ${quantile(0.5).toFixed(1).padStart(9)} µs`);
}

function near(name: string, got: number, want: number, tolerance = 1e-4): void {
  if (Math.abs(got - want) <= tolerance * (1 + Math.abs(want))) return;
  throw new Error(`${name}: got ${got}, expected ${want}`);
}

const random = (n: number): Float32Array => {
  const made = new Float32Array(n);
  for (let i = 0; i < n; i++) made[i] = Math.random() * 2 - 1;
  return made;
};
const first = async (t: Tensor, n: number): Promise<Float32Array> => {
  const flat = t
    .reshape([-1])
    .slice([[0, n]])
    .cast('f32');
  const data = (await flat.data()) as Float32Array;
  flat.dispose();
  t.dispose();
  return data;
};

{
  const host = random(4096 * 4096);
  const x = rt.tensor(host, [4096, 4096]);
  await measure(
    'softmax over rows of 4096² f32',
    () => x.softmax(1),
    20,
    async () => {
      const got = await first(x.softmax(1), 4096);
      const e = host.slice(0, 4096).map(Math.exp);
      const sum = e.reduce((a, b) => a + b, 0);
      for (let i = 0; i < 4096; i += 37) near('softmax', got[i]!, e[i]! / sum);
    },
  );
  await measure(
    'topk 100 of each row of 4096²',
    () => x.topk(100).values,
    3,
    async () => {
      const got = await first(x.topk(100).values, 100);
      const want = host.slice(0, 4096).sort().reverse();
      for (let i = 0; i < 100; i++) near('topk', got[i]!, want[i]!);
    },
  );
  const short = x.reshape([65536, 256]);
  await measure(
    'topk 5 of each row of 65536 x 256',
    () => short.topk(5).values,
    5,
    async () => {
      const got = await first(short.topk(5).values, 5);
      const want = host.slice(0, 256).sort().reverse();
      for (let i = 0; i < 5; i++) near('topk', got[i]!, want[i]!);
    },
  );
  for (const t of [x, short]) t.dispose();
}
{
  const host = random(8192 * 1024);
  const x = rt.tensor(host, [8192, 1024]);
  const [scale, shift] = [rt.tensor(random(1024)), rt.tensor(random(1024))];
  const norm = (): Tensor => {
    const d = x.sub(x.mean({ axis: 1, keepdims: true }));
    return d
      .div(d.mul(d).mean({ axis: 1, keepdims: true }).add(1e-5).sqrt())
      .mul(scale)
      .add(shift);
  };
  await measure('layer norm 8192 x 1024 f32', norm, 20, async () => {
    const got = await first(norm(), 4);
    const row = host.slice(0, 1024);
    const mean = row.reduce((a, b) => a + b, 0) / 1024;
    const deviation = Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / 1024 + 1e-5);
    const [s, b] = [(await scale.data()) as Float32Array, (await shift.data()) as Float32Array];
    for (let i = 0; i < 4; i++) near('layer norm', got[i]!, ((row[i]! - mean) / deviation) * s[i]! + b[i]!);
  });
  for (const t of [x, scale, shift]) t.dispose();
}
{
  const host = random(64 << 20);
  const x = rt.tensor(host, [64, 1024, 1024]);
  await measure(
    'variance over the middle axis, 64x1024x1024',
    () => x.variance({ axis: 1 }),
    10,
    async () => {
      const [got] = await first(x.variance({ axis: 1 }), 1);
      const column = Float32Array.from({ length: 1024 }, (_, i) => host[i * 1024]!);
      const mean = column.reduce((a, b) => a + b, 0) / 1024;
      near('variance', got!, column.reduce((a, b) => a + (b - mean) ** 2, 0) / 1024);
    },
  );
  x.dispose();
  const turned = rt.tensor(host, [8192, 8192]);
  await measure(
    'transpose + 1 of 8192² f32',
    () => turned.transpose().add(1),
    10,
    async () => {
      const got = await first(turned.transpose().add(1), 8192);
      for (let i = 0; i < 8192; i += 61) near('transpose', got[i]!, host[i * 8192]! + 1);
    },
  );
  turned.dispose();
  const long = rt.tensor(host, [64 << 20]);
  await measure(
    'cumulative sum of 64M f32',
    () => long.cumsum(0),
    10,
    async () => {
      const got = await first(long.cumsum(0), 1 << 20);
      let sum = 0;
      for (let i = 0; i < 1 << 20; i++) {
        sum += host[i]!;
        if (i % 9973 === 0) near('cumsum', got[i]!, sum, 1e-3);
      }
    },
  );
  long.dispose();
}
{
  const host = random(16 << 20);
  const x = rt.tensor(host, [16 << 20]);
  await measure(
    'sort of 16M f32',
    () => x.sort(),
    3,
    async () => {
      const got = await first(x.sort(), 1000);
      const want = host.slice().sort();
      for (let i = 0; i < 1000; i++) near('sort', got[i]!, want[i]!);
    },
  );
  x.dispose();
}
for (const dtype of ['bf16', 'f32'] as const) {
  const [q, k, v] = [0, 1, 2].map(() => rt.tensor(random(128 * 1024 * 64), [128, 1024, 64]).cast(dtype));
  await rt.flush(q!, k!, v!);
  const attend = (): Tensor =>
    q!
      .matmul(k!.permute([0, 2, 1]))
      .mul(0.125)
      .softmax(2)
      .matmul(v!);
  await measure(`attention 128x1024x64 ${dtype}`, attend, 5, async () => {
    const got = await first(attend(), 4);
    const take = async (t: Tensor, n: number): Promise<Float32Array> =>
      (await t
        .reshape([-1])
        .slice([[0, n]])
        .cast('f32')
        .data()) as Float32Array;
    const [hq, hk, hv] = [await take(q!, 64), await take(k!, 65536), await take(v!, 65536)];
    const scores = Array.from({ length: 1024 }, (_, j) => {
      let dot = 0;
      for (let i = 0; i < 64; i++) dot += hq[i]! * hk[j * 64 + i]!;
      return Math.exp(dot / 8);
    });
    const sum = scores.reduce((a, b) => a + b, 0);
    for (let c = 0; c < 4; c++)
      near(
        'attention',
        got[c]!,
        scores.reduce((a, p, j) => a + p * hv[j * 64 + c]!, 0) / sum,
        dtype === 'f32' ? 1e-4 : 2e-2,
      );
  });
  const seen = rt.arange(1024).reshape([1024, 1]).greaterEqual(rt.arange(1024));
  const causal = (): Tensor =>
    rt
      .where(seen, q!.matmul(k!.permute([0, 2, 1])).mul(0.125), Number.NEGATIVE_INFINITY)
      .softmax(2)
      .matmul(v!);
  await measure(`causal attention 128x1024x64 ${dtype}`, causal, 5, async () => {
    // The first query sees the first key only.
    const [got, want] = [await first(causal(), 64), await first(v!.add(0), 64)];
    for (let c = 0; c < 64; c++) near('causal attention', got[c]!, want[c]!, dtype === 'f32' ? 1e-5 : 1e-2);
  });
  for (const t of [q, k, v, seen]) t!.dispose();
}
await measure(
  'normal random numbers, 64M f32',
  () => rt.random.normal([64 << 20]),
  5,
  async () => {
    const got = await first(rt.random.normal([1 << 20]), 1 << 20);
    const mean = got.reduce((a, b) => a + b, 0) / got.length;
    near('normal, mean', mean, 0, 5e-3);
    near('normal, variance', got.reduce((a, b) => a + (b - mean) ** 2, 0) / got.length, 1, 5e-3);
  },
);
{
  const x = rt.tensor(random(64));
  const chain = (): Tensor => {
    let y: Tensor = x;
    for (let i = 0; i < 100; i++) y = y.mul(0.99).add(0.01);
    return y;
  };
  await measure('200 dependent ops on 64 values, lazy', chain, 20, async () => {
    const [got] = await first(chain(), 1);
    let want = ((await x.data()) as Float32Array)[0]!;
    for (let i = 0; i < 100; i++) want = want * 0.99 + 0.01;
    near('chain', got!, want);
  });
}
await rt.close();

interface Torch {
  readonly version: string;
  readonly eager: Record<string, number>;
  readonly compiled: Record<string, number>;
}

function torch(): Torch | null {
  if (process.argv.includes('--no-torch')) return null;
  const script = fileURLToPath(new URL('everyday_torch.py', import.meta.url));
  const run = spawnSync('python3', [script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return run.status === 0 && run.stdout.trim() !== '' ? (JSON.parse(run.stdout) as Torch) : null;
}

const other = torch();
const show = (us: number | undefined): string => (us === undefined ? '-' : us.toFixed(1)).padStart(9);
console.log(`\n${device}${other ? `, PyTorch ${other.version}` : ', no PyTorch here'}; µs per call`);
console.log(
  `${'work'.padEnd(46)} ${'ours'.padStart(9)} ${'eager'.padStart(9)} ${'compile'.padStart(9)} ${'ratio'.padStart(7)}`,
);
const ratios: number[] = [];
for (const { name, us } of rows) {
  const [eager, compiled] = [other?.eager[name], other?.compiled[name]];
  const best = Math.min(eager ?? Number.POSITIVE_INFINITY, compiled ?? Number.POSITIVE_INFINITY);
  if (Number.isFinite(best)) ratios.push(us / best);
  const ratio = Number.isFinite(best) ? (us / best).toFixed(2) : '-';
  console.log(`${name.padEnd(46)} ${show(us)} ${show(eager)} ${show(compiled)} ${ratio.padStart(7)}`);
}
if (ratios.length > 0) {
  const mean = Math.exp(ratios.reduce((a, r) => a + Math.log(r), 0) / ratios.length);
  console.log(`geometric mean over ${ratios.length} rows: ${mean.toFixed(2)}`);
}
if (file) writeFileSync(file, `${JSON.stringify({ device, rows, torch: other }, null, 1)}\n`);
