// What models are made of: losses, norms, layers, convolutions, pooling, lookups, dropout.

import type { DType, Runtime, Tensor } from '../../../src/index.ts';
import { type Bench, first, near, peek } from './measure.ts';

/** Numbers between -1 and 1, made on the device. */
export const spread = (rt: Runtime, shape: readonly number[], dtype: DType = 'f32'): Tensor =>
  rt.random.uniform(shape, { low: -1, high: 1 }).cast(dtype).compute();

export async function models(bench: Bench): Promise<void> {
  await losses(bench);
  await norms(bench);
  await layers(bench);
  await convolutions(bench);
  await lookups(bench);
}

async function losses(bench: Bench): Promise<void> {
  const { rt } = bench;
  const name = 'log softmax and mean loss, 8192 x 8192 f32';
  if (!bench.wants(name)) return;
  const x = spread(rt, [8192, 8192]);
  const wanted = rt.random.integers([8192, 1], { low: 0, high: 8192 }).compute();
  await bench.measure({
    name,
    calls: 5,
    run: () => x.logSoftmax(1).takeAlongAxis(wanted, 1, { mode: 'clip' }).mean().neg(),
    check: async () => {
      const [got] = await first(x.logSoftmax(1), 1);
      const row = await peek(x, 8192);
      near(name, got!, row[0]! - Math.log(row.reduce((a, v) => a + Math.exp(v), 0)), 1e-5);
    },
  });
  for (const t of [x, wanted]) t.dispose();
}

async function norms(bench: Bench): Promise<void> {
  const { rt } = bench;
  const rms = 'RMS norm 8192 x 4096 bf16';
  if (bench.wants(rms)) {
    const [x, scale] = [spread(rt, [8192, 4096], 'bf16'), spread(rt, [4096], 'bf16')];
    const run = (): Tensor => {
      const wide = x.cast('f32');
      const root = wide.mul(wide).mean({ axis: 1, keepdims: true }).add(1e-6).rsqrt();
      return wide.mul(root).cast('bf16').mul(scale);
    };
    await bench.measure({
      name: rms,
      calls: 20,
      run,
      check: async () => {
        const [[got], row, [s]] = [await first(run(), 1), await peek(x, 4096), await peek(scale, 1)];
        near(rms, got!, (row[0]! / Math.sqrt(row.reduce((a, v) => a + v * v, 0) / 4096 + 1e-6)) * s!, 1e-2);
      },
    });
    for (const t of [x, scale]) t.dispose();
  }
  const grouped = 'group norm 64x256x32x32 f32, 32 groups';
  if (bench.wants(grouped)) {
    const [x, scale, shift] = [spread(rt, [64, 256, 32, 32]), spread(rt, [256, 1, 1]), spread(rt, [256, 1, 1])];
    const run = (): Tensor => x.reshape([64, 32, 8192]).layerNorm(-1).reshape([64, 256, 32, 32]).mul(scale).add(shift);
    await bench.measure({
      name: grouped,
      calls: 20,
      run,
      check: async () => {
        const [[got], row] = [await first(run(), 1), await peek(x, 8192)];
        const mean = row.reduce((a, v) => a + v, 0) / 8192;
        const deviation = Math.sqrt(row.reduce((a, v) => a + (v - mean) ** 2, 0) / 8192 + 1e-5);
        const [[s], [b]] = [await peek(scale, 1), await peek(shift, 1)];
        near(grouped, got!, ((row[0]! - mean) / deviation) * s! + b!);
      },
    });
    for (const t of [x, scale, shift]) t.dispose();
  }
}

async function layers(bench: Bench): Promise<void> {
  const { rt } = bench;
  const dense = 'gelu(x·w + b) 4096 x 1024 x 4096 bf16';
  if (bench.wants(dense)) {
    const [x, w, b] = [spread(rt, [4096, 1024], 'bf16'), spread(rt, [1024, 4096], 'bf16'), spread(rt, [4096], 'bf16')];
    const run = (): Tensor => {
      const y = x.matmul(w).add(b);
      return y.mul(0.5).mul(y.mul(Math.SQRT1_2).erf().add(1));
    };
    await bench.measure({
      name: dense,
      calls: 10,
      run,
      check: async () => {
        const [y] = await first(x.matmul(w).add(b), 1);
        near(dense, (await first(run(), 1))[0]!, y! > 6 ? y! : y! < -6 ? 0 : y! * half(y!), 3e-2);
      },
    });
    for (const t of [x, w, b]) t.dispose();
  }
  for (const dtype of ['f32', 'bf16'] as const) {
    const name = `256 products of 128² ${dtype}`;
    if (!bench.wants(name)) continue;
    const [a, b] = [spread(rt, [256, 128, 128], dtype), spread(rt, [256, 128, 128], dtype)];
    await bench.measure({
      name,
      calls: 20,
      run: () => a.matmul(b),
      check: async () => {
        const [[got], p, q] = [await first(a.matmul(b), 1), await peek(a, 128), await peek(b, 128 * 128)];
        let dot = 0;
        for (let i = 0; i < 128; i++) dot += p[i]! * q[i * 128]!;
        near(name, got!, dot, dtype === 'f32' ? 1e-4 : 2e-2);
      },
    });
    for (const t of [a, b]) t.dispose();
  }
}

/** The share of a normal distribution below a number, by its logistic approximation: right to 2 %. */
const half = (y: number): number => 1 / (1 + Math.exp(-1.702 * y));

async function convolutions(bench: Bench): Promise<void> {
  const { rt } = bench;
  const flat = 'convolution 3x3 of 32x64x56x56, 64 out, f32';
  if (bench.wants(flat)) {
    const [x, w] = [spread(rt, [32, 64, 56, 56]), spread(rt, [64, 64, 3, 3])];
    const run = (): Tensor => x.conv2d(w, { padding: 1 });
    await bench.measure({
      name: flat,
      calls: 5,
      run,
      check: async () => {
        const [[got], p, q] = [await first(run(), 1), await peek(x, 64 * 56 * 56), await peek(w, 64 * 9)];
        let sum = 0;
        for (let c = 0; c < 64; c++)
          for (let i = 0; i < 2; i++)
            for (let j = 0; j < 2; j++) sum += p[c * 56 * 56 + i * 56 + j]! * q[c * 9 + (i + 1) * 3 + j + 1]!;
        near(flat, got!, sum);
      },
    });
    for (const t of [x, w]) t.dispose();
  }
  const line = 'convolution of 5, 64x128x4096, 128 out, f32';
  if (bench.wants(line)) {
    const [x, w] = [spread(rt, [64, 128, 4096]), spread(rt, [128, 128, 5])];
    const run = (): Tensor => x.conv1d(w, { padding: 2 });
    await bench.measure({
      name: line,
      calls: 3,
      run,
      check: async () => {
        const [[got], p, q] = [await first(run(), 1), await peek(x, 128 * 4096), await peek(w, 128 * 5)];
        let sum = 0;
        for (let c = 0; c < 128; c++) for (let i = 0; i < 3; i++) sum += p[c * 4096 + i]! * q[c * 5 + i + 2]!;
        near(line, got!, sum);
      },
    });
    for (const t of [x, w]) t.dispose();
  }
  const pool = 'max pool 2x2 of 64x64x112x112 f32';
  if (bench.wants(pool)) {
    const x = spread(rt, [64, 64, 112, 112]);
    await bench.measure({
      name: pool,
      calls: 20,
      run: () => x.maxPool([2, 2]),
      check: async () => {
        const [[got], p] = [await first(x.maxPool([2, 2]), 1), await peek(x, 128)];
        near(pool, got!, Math.max(p[0]!, p[1]!, p[112]!, p[113]!), 0);
      },
    });
    x.dispose();
  }
}

async function lookups(bench: Bench): Promise<void> {
  const { rt } = bench;
  const rows = 'rows of a table 100k x 64, 1M of them, f32';
  if (bench.wants(rows)) {
    const table = spread(rt, [100_000, 64]);
    const at = rt.random.integers([1 << 20], { low: 0, high: 100_000 }).compute();
    const run = (): Tensor => table.gather(at, 0, { mode: 'clip' });
    await bench.measure({
      name: rows,
      calls: 10,
      run,
      check: async () => {
        const [got, [i], all] = [await first(run(), 64), await peek(at, 1), await peek(table, 100_000 * 64)];
        for (let c = 0; c < 64; c++) near(rows, got[c]!, all[i! * 64 + c]!, 0);
      },
    });
    for (const t of [table, at]) t.dispose();
  }
  const dropped = 'dropout of 64M f32';
  if (bench.wants(dropped)) {
    const x = spread(rt, [64 << 20]);
    const run = (): Tensor => rt.where(rt.random.bernoulli([64 << 20], { p: 0.9 }), x.mul(1 / 0.9), 0);
    await bench.measure({
      name: dropped,
      calls: 5,
      run,
      check: async () => {
        const [got, p] = [await first(run(), 1 << 20), await peek(x, 1 << 20)];
        near(dropped, got.filter((v) => v !== 0).length / got.length, 0.9, 2e-3);
        for (const [i, v] of got.entries()) near(dropped, v, v === 0 ? 0 : p[i]! / 0.9, 1e-6);
      },
    });
    x.dispose();
  }
}
