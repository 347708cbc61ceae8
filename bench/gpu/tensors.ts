// The rows of the CUDA table through the public API: tensors, lazily built, fused and run on the GPU.
//
//   node dist/gpu/tensors.mjs [--no-cublas] [--json FILE]
//
// `issued to done` is one call and `await rt.flush(result)`. `per call of N` issues N calls, each computed at once and the one
// before it disposed of, and flushes once. Medians, with the 10 % and 90 % quantiles; written to the file (by default
// tensors.json beside this one), from which bench.mjs takes them into its table.

import { writeFileSync } from 'node:fs';
import { createRuntime, type Tensor } from '../../src/index.ts';
import type { ApiRun, Row } from './table.ts';

const cublas = !process.argv.includes('--no-cublas');
const at = process.argv.indexOf('--json');
const file = at > 0 ? process.argv[at + 1]! : new URL('tensors.json', import.meta.url);
const rt = await createRuntime({ devices: ['cuda'], seed: 1, cuda: { cublas } });
const device = rt.devices().find((d) => d.open)!.name;
console.log(device);
const rows: Row[] = [];

function row(name: string, samples: readonly number[], note = ''): void {
  const s = [...samples].sort((a, b) => a - b);
  const quantile = (q: number): number => s[Math.floor(q * (s.length - 1))]!;
  const made = { name, us: quantile(0.5), low: quantile(0.1), high: quantile(0.9), note };
  rows.push(made);
  const spread = `(${made.low.toFixed(2)} … ${made.high.toFixed(2)})`;
  console.log(`${name.padEnd(50)} ${made.us.toFixed(2).padStart(9)} µs  ${spread}  ${note}`);
}

/** Calls after which the engine has compiled the library's own code: before that, its interpreter is measured. */
const warmUp = 3000;

async function issuedToDone(f: () => Tensor, rounds = 400): Promise<number[]> {
  const samples: number[] = [];
  for (let r = -warmUp; r < rounds; r++) {
    const t = performance.now();
    const result = f();
    await rt.flush(result);
    if (r >= 0) samples.push((performance.now() - t) * 1000);
    result.dispose();
  }
  return samples;
}

async function perCall(f: () => Tensor, calls: number, rounds = 20): Promise<number[]> {
  const samples: number[] = [];
  for (let r = -Math.ceil(warmUp / calls); r < rounds; r++) {
    const t = performance.now();
    let last: Tensor | undefined;
    for (let i = 0; i < calls; i++) {
      last?.dispose();
      last = f().compute();
    }
    await rt.flush();
    if (r >= 0) samples.push(((performance.now() - t) * 1000) / calls);
    last!.dispose();
  }
  return samples;
}

/** The host's time of a call; the device is waited for outside of it. */
async function issue(f: () => Tensor): Promise<number[]> {
  const samples: number[] = [];
  for (let r = 0; r < 40; r++) {
    const t = performance.now();
    for (let i = 0; i < 300; i++) f().dispose();
    samples.push(((performance.now() - t) * 1000) / 300);
    await rt.flush();
  }
  return samples.slice(10);
}

const random = (n: number): Float32Array => Float32Array.from({ length: n }, () => Math.random() * 2 - 1);

{
  const x = rt.tensor(random(1024), [1024]);
  await rt.flush(x);
  row('tiny op, eager, issued', await issue(() => x.add(1).compute()), 'required ≤ 6');
  const step = rt.compile((v: Tensor) => v.add(1));
  row('tiny op, compiled, issued', await issue(() => step(x)));
  row('tiny op, issued to done', await issuedToDone(() => x.add(1)));
}
{
  const x = rt.tensor(random(4 << 20), [4 << 20]);
  const chain = (): Tensor => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh();
  row('tanh chain, 4M f32, issued to done', await issuedToDone(chain), 'required ≤ 25');
  row('tanh chain, 4M f32, per call of 50', await perCall(chain, 50));
  x.dispose();
}
{
  const numbers = Uint32Array.from({ length: 16 << 20 }, (_, i) => i * 2654435761);
  const u = rt.tensor(numbers, [16 << 20], { dtype: 'u32' });
  row('xor of 16M u32, per call of 50', await perCall(() => u.bitwiseXor(0x5bd1e995), 50), 'required ≤ 38');
  row('xor of 16M u32, issued to done', await issuedToDone(() => u.bitwiseXor(0x5bd1e995)));
  u.dispose();
}
{
  const x = rt.tensor(random(64 << 20), [64 << 20]);
  row('sum of 64M f32, per call of 20', await perCall(() => x.sum({ keepdims: true }), 20));
  x.dispose();
}
{
  const step = rt.compile((f: Tensor) => {
    const around = [0, 1, 2].map((a) => f.roll(1, a).add(f.roll(-1, a))).reduce((p, q) => p.add(q));
    return f
      .mul(0.99)
      .add(around.sub(f.mul(6)).mul(0.1))
      .tanh();
  });
  const start = random(32 ** 3 * 64);
  const samples: number[] = [];
  for (let r = 0; r < 40; r++) {
    // Anew each time: the field dies away, and after some ten thousand steps it is denormal, where division takes twice as long.
    let f = rt.tensor(start, [32, 32, 32, 64]) as Tensor;
    for (let i = 0; i < 20; i++) f = step(f);
    await rt.flush(f);
    const t = performance.now();
    for (let i = 0; i < 1000; i++) f = step(f);
    await rt.flush(f);
    samples.push(performance.now() - t);
    f.dispose();
  }
  row('field step 32³×64, compiled, per step of 1000', samples.slice(10), 'required ≤ 11');
  console.log(`  kernels: ${step.kernels.join(', ')}`);
}
for (const [side, dtype, batch] of [
  [1024, 'f32', 1],
  [4096, 'f32', 1],
  [4096, 'bf16', 1],
  [256, 'f32', 10],
] as const) {
  const shape = batch > 1 ? [batch, side, side] : [side, side];
  const a = rt.tensor(random(side * side * batch), shape).cast(dtype);
  const b = rt.tensor(random(side * side * batch), shape).cast(dtype);
  await rt.flush(a, b);
  const name = `matmul ${batch > 1 ? `${batch} x ` : ''}${side}² ${dtype}`;
  const calls = side >= 4096 ? 10 : 100;
  row(`${name}, per call of ${calls}`, await perCall(() => a.matmul(b), calls, 16));
  if (batch > 1) row(`${name}, issued to done`, await issuedToDone(() => a.matmul(b)));
  for (const t of [a, b]) t.dispose();
}
for (const [kind, make] of [
  ['ordinary arrays', (n: number) => new Float32Array(n)],
  ['rt.pinned arrays', (n: number) => rt.pinned(n)],
] as const) {
  const n = 2_500_000;
  const source = make(n);
  source.set(random(n));
  const target = kind === 'rt.pinned arrays' ? make(n) : null;
  const samples: number[] = [];
  // Results are page-locked memory that comes back through the collector: it takes a while until there is enough of it.
  for (let r = -300; r < 100; r++) {
    source[n - 1] = r;
    const t = performance.now();
    const x = rt.tensor(source, [n]);
    const y = x.add(0);
    const back = await y.data(target ? { into: target } : {});
    if (r >= 0) samples.push((performance.now() - t) * 1000);
    // Another last element each time: an array of the round before must not pass for this one's.
    if (back[n - 1] !== source[n - 1]) throw new Error('10 MB up and down: the last element differs');
    x.dispose();
    y.dispose();
  }
  row(`10 MB up, +0, down, ${kind}`, samples, kind === 'ordinary arrays' ? 'required ≤ 1500' : 'required ≤ 500');
}
const run: ApiRun = { date: new Date().toISOString(), device, cublas, rows };
writeFileSync(file, `${JSON.stringify(run, null, 1)}\n`);
await rt.close();
process.exit(0);
