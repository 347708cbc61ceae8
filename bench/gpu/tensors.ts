// The rows of the CUDA table through the public API: tensors, lazily built, fused and run on the GPU.
//
//   node dist/gpu/tensors.mjs [--no-cublas]

import { createRuntime, type Tensor } from '../../src/index.ts';

const cublas = !process.argv.includes('--no-cublas');
const rt = await createRuntime({ devices: ['cuda'], seed: 1, cuda: { cublas } });
console.log(rt.devices().find((d) => d.open)!.name);

function row(name: string, samples: readonly number[], bound = ''): void {
  const s = [...samples].sort((a, b) => a - b);
  const at = (q: number): string => s[Math.floor(q * (s.length - 1))]!.toFixed(2);
  console.log(`${name.padEnd(50)} ${at(0.5).padStart(9)} µs  (${at(0.1)} … ${at(0.9)})  ${bound}`);
}

/** Per call, from issue to finished, over `inner` calls. */
async function done(f: () => Tensor, inner: number, rounds = 30): Promise<number[]> {
  const samples: number[] = [];
  for (let r = 0; r < rounds; r++) {
    const t = performance.now();
    let last: Tensor | undefined;
    for (let i = 0; i < inner; i++) {
      last?.dispose();
      last = f();
      await rt.flush(last);
    }
    await last!.slice([[0, 1]]).data();
    samples.push(((performance.now() - t) * 1000) / inner);
    last!.dispose();
  }
  return samples.slice(5);
}

const random = (n: number): Float32Array => Float32Array.from({ length: n }, () => Math.random() * 2 - 1);

{
  const x = rt.tensor(random(1024), [1024]);
  await x.data();
  const samples: number[] = [];
  for (let r = 0; r < 40; r++) {
    const t = performance.now();
    const waits: Promise<void>[] = [];
    for (let i = 0; i < 300; i++) {
      const y = x.add(1);
      waits.push(rt.flush(y));
      y.dispose();
    }
    samples.push(((performance.now() - t) * 1000) / 300);
    await Promise.all(waits);
  }
  row('tiny op, computed by an unawaited flush', samples.slice(10), 'a flush also marks the timeline');
  const step = rt.compile((v: Tensor) => v.add(1));
  const compiled: number[] = [];
  for (let r = 0; r < 40; r++) {
    const t = performance.now();
    for (let i = 0; i < 300; i++) step(x).dispose();
    compiled.push(((performance.now() - t) * 1000) / 300);
    await step(x).data();
  }
  row('tiny op, compiled, issued', compiled.slice(10), 'required ≤ 6');
}
{
  const x = rt.tensor(random(4 << 20), [4 << 20]);
  const chain = (): Tensor => x.mul(0.99).add(0.5).mul(x).sub(0.1).tanh();
  row(
    'tanh chain, 4M f32, issued to done, one by one',
    await done(chain, 1, 100),
    'required ≤ 25 (a read is included)',
  );
  row('tanh chain, 4M f32, per call of 50', await done(chain, 50));
}
{
  const u = rt.tensor(
    Uint32Array.from({ length: 16 << 20 }, (_, i) => i * 2654435761),
    [16 << 20],
    { dtype: 'u32' },
  );
  row('xor of 16M u32, per call of 50', await done(() => u.bitwiseXor(0x5bd1e995), 50), 'required ≤ 38');
}
{
  const x = rt.tensor(random(64 << 20), [64 << 20]);
  row('sum of 64M f32, per call of 20', await done(() => x.sum({ keepdims: true }), 20));
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
  let f = rt.tensor(random(32 ** 3 * 64), [32, 32, 32, 64]) as Tensor;
  for (let i = 0; i < 50; i++) f = step(f);
  await f
    .slice([
      [0, 1],
      [0, 1],
      [0, 1],
      [0, 1],
    ])
    .data();
  const samples: number[] = [];
  for (let r = 0; r < 20; r++) {
    const t = performance.now();
    for (let i = 0; i < 1000; i++) f = step(f);
    await f
      .slice([
        [0, 1],
        [0, 1],
        [0, 1],
        [0, 1],
      ])
      .data();
    samples.push(performance.now() - t);
  }
  row('field step 32³×64, compiled, per step of 1000', samples.slice(3), 'required ≤ 11');
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
  row(
    `matmul ${batch > 1 ? `${batch} x ` : ''}${side}² ${dtype}, per call`,
    await done(() => a.matmul(b), side >= 4096 ? 10 : 100, 15),
  );
}
for (const [kind, make] of [
  ['ordinary arrays', (n: number) => new Float32Array(n)],
  ['rt.pinned arrays', (n: number) => rt.pinned(n)],
] as const) {
  const n = 2_500_000;
  const source = make(n);
  source.set(random(n));
  const samples: number[] = [];
  for (let r = 0; r < 40; r++) {
    const t = performance.now();
    const x = rt.tensor(source, [n]);
    const y = x.add(0);
    const back = await y.data();
    samples.push((performance.now() - t) * 1000);
    if (back[n - 1] !== source[n - 1]) throw new Error('10 MB up and down: the last element differs');
    x.dispose();
    y.dispose();
  }
  row(
    `10 MB up, +0, down, ${kind}`,
    samples.slice(10),
    kind === 'ordinary arrays' ? 'required ≤ 1500' : 'required ≤ 500',
  );
}
await rt.close();
process.exit(0);
