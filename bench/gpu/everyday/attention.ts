// Attention written out, random numbers, a long chain of small ops.

import type { Tensor } from '../../../src/index.ts';
import { type Bench, first, near, random } from './measure.ts';

export async function attention(bench: Bench): Promise<void> {
  const { rt } = bench;
  const narrow = bench.has('bf16') ? 'bf16' : 'f16';
  for (const dtype of [narrow, 'f32'] as const) {
    if (!bench.has(dtype) || !bench.wants(`causal attention 128x1024x64 ${dtype}`)) continue;
    const [q, k, v] = [0, 1, 2].map(() => rt.tensor(random(128 * 1024 * 64), [128, 1024, 64]).cast(dtype));
    await rt.flush(q!, k!, v!);
    const attend = (): Tensor =>
      q!
        .matmul(k!.permute([0, 2, 1]))
        .mul(0.125)
        .softmax(2)
        .matmul(v!);
    await bench.measure({
      name: `attention 128x1024x64 ${dtype}`,
      run: attend,
      calls: 5,
      check: async () => {
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
      },
    });
    const seen = rt.arange(1024).reshape([1024, 1]).greaterEqual(rt.arange(1024));
    const causal = (): Tensor =>
      rt
        .where(seen, q!.matmul(k!.permute([0, 2, 1])).mul(0.125), Number.NEGATIVE_INFINITY)
        .softmax(2)
        .matmul(v!);
    await bench.measure({
      name: `causal attention 128x1024x64 ${dtype}`,
      run: causal,
      calls: 5,
      check: async () => {
        // The first query sees the first key only.
        const [got, want] = [await first(causal(), 64), await first(v!.add(0), 64)];
        for (let c = 0; c < 64; c++) near('causal attention', got[c]!, want[c]!, dtype === 'f32' ? 1e-5 : 1e-2);
      },
    });
    for (const t of [q, k, v, seen]) t!.dispose();
  }
  await bench.measure({
    name: 'normal random numbers, 64M f32',
    run: () => rt.random.normal([64 << 20]),
    calls: 5,
    check: async () => {
      const got = await first(rt.random.normal([1 << 20]), 1 << 20);
      const mean = got.reduce((a, b) => a + b, 0) / got.length;
      near('normal, mean', mean, 0, 5e-3);
      near('normal, variance', got.reduce((a, b) => a + (b - mean) ** 2, 0) / got.length, 1, 5e-3);
    },
  });
  {
    const x = rt.tensor(random(64));
    const chain = (): Tensor => {
      let y: Tensor = x;
      for (let i = 0; i < 100; i++) y = y.mul(0.99).add(0.01);
      return y;
    };
    await bench.measure({
      name: '200 dependent ops on 64 values, lazy',
      run: chain,
      calls: 20,
      check: async () => {
        const [got] = await first(chain(), 1);
        let want = ((await x.data()) as Float32Array)[0]!;
        for (let i = 0; i < 100; i++) want = want * 0.99 + 0.01;
        near('chain', got!, want);
      },
    });
  }
}
