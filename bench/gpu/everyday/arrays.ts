// Rows, columns, order: softmax, norms, sums along axes, transposes, scans, sorting.

import type { Tensor } from '../../../src/index.ts';
import { type Bench, first, near, random } from './measure.ts';

/** Programs that share 64M numbers. */
const large = [
  'variance over the middle axis, 64x1024x1024',
  'transpose + 1 of 8192² f32',
  'cumulative sum of 64M f32',
];

export async function arrays(bench: Bench): Promise<void> {
  const { rt } = bench;
  if (
    bench.wants('softmax over rows of 4096² f32', 'topk 100 of each row of 4096²', 'topk 5 of each row of 65536 x 256')
  ) {
    const host = random(4096 * 4096);
    const x = rt.tensor(host, [4096, 4096]);
    await bench.measure({
      name: 'softmax over rows of 4096² f32',
      run: () => x.softmax(1),
      calls: 20,
      check: async () => {
        const got = await first(x.softmax(1), 4096);
        const e = host.slice(0, 4096).map(Math.exp);
        const sum = e.reduce((a, b) => a + b, 0);
        for (let i = 0; i < 4096; i += 37) near('softmax', got[i]!, e[i]! / sum);
      },
    });
    await bench.measure({
      name: 'topk 100 of each row of 4096²',
      run: () => x.topk(100).values,
      calls: 3,
      check: async () => {
        const got = await first(x.topk(100).values, 100);
        const want = host.slice(0, 4096).sort().reverse();
        for (let i = 0; i < 100; i++) near('topk', got[i]!, want[i]!);
      },
    });
    const short = x.reshape([65536, 256]);
    await bench.measure({
      name: 'topk 5 of each row of 65536 x 256',
      run: () => short.topk(5).values,
      calls: 5,
      check: async () => {
        const got = await first(short.topk(5).values, 5);
        const want = host.slice(0, 256).sort().reverse();
        for (let i = 0; i < 5; i++) near('topk', got[i]!, want[i]!);
      },
    });
    for (const t of [x, short]) t.dispose();
  }
  if (bench.wants('layer norm 8192 x 1024 f32')) {
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
    await bench.measure({
      name: 'layer norm 8192 x 1024 f32',
      run: norm,
      calls: 20,
      check: async () => {
        const got = await first(norm(), 4);
        const row = host.slice(0, 1024);
        const mean = row.reduce((a, b) => a + b, 0) / 1024;
        const deviation = Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / 1024 + 1e-5);
        const [s, b] = [(await scale.data()) as Float32Array, (await shift.data()) as Float32Array];
        for (let i = 0; i < 4; i++) near('layer norm', got[i]!, ((row[i]! - mean) / deviation) * s[i]! + b[i]!);
      },
    });
    for (const t of [x, scale, shift]) t.dispose();
  }
  if (bench.wants(...large)) {
    const host = random(64 << 20);
    const x = rt.tensor(host, [64, 1024, 1024]);
    await bench.measure({
      name: large[0]!,
      run: () => x.variance({ axis: 1 }),
      calls: 10,
      check: async () => {
        const [got] = await first(x.variance({ axis: 1 }), 1);
        const column = Float32Array.from({ length: 1024 }, (_, i) => host[i * 1024]!);
        const mean = column.reduce((a, b) => a + b, 0) / 1024;
        near('variance', got!, column.reduce((a, b) => a + (b - mean) ** 2, 0) / 1024);
      },
    });
    x.dispose();
    const turned = rt.tensor(host, [8192, 8192]);
    await bench.measure({
      name: large[1]!,
      run: () => turned.transpose().add(1),
      calls: 10,
      check: async () => {
        const got = await first(turned.transpose().add(1), 8192);
        for (let i = 0; i < 8192; i += 61) near('transpose', got[i]!, host[i * 8192]! + 1);
      },
    });
    turned.dispose();
    const long = rt.tensor(host, [64 << 20]);
    await bench.measure({
      name: large[2]!,
      run: () => long.cumsum(0),
      calls: 10,
      check: async () => {
        const got = await first(long.cumsum(0), 1 << 20);
        let sum = 0;
        for (let i = 0; i < 1 << 20; i++) {
          sum += host[i]!;
          if (i % 9973 === 0) near('cumsum', got[i]!, sum, 1e-3);
        }
      },
    });
    long.dispose();
  }
  if (bench.wants('sort of 16M f32')) {
    const host = random(16 << 20);
    const x = rt.tensor(host, [16 << 20]);
    await bench.measure({
      name: 'sort of 16M f32',
      run: () => x.sort(),
      calls: 3,
      check: async () => {
        const got = await first(x.sort(), 1000);
        const want = host.slice().sort();
        for (let i = 0; i < 1000; i++) near('sort', got[i]!, want[i]!);
      },
    });
    x.dispose();
  }
}
