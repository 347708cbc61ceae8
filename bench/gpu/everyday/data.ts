// What data are put through: scatters, masks, distances, medians, clusters, strided views, long formulas.

import type { Tensor } from '../../../src/index.ts';
import { type Bench, first, near, peek } from './measure.ts';
import { spread } from './models.ts';

export async function data(bench: Bench): Promise<void> {
  await rows(bench);
  await places(bench);
  await distances(bench);
  await formulas(bench);
}

const sum = (values: Float32Array): number => values.reduce((a, v) => a + v, 0);

async function rows(bench: Bench): Promise<void> {
  const { rt } = bench;
  const names = {
    argmax: 'argmax of each row of 4096² f32',
    masked: 'mean of the positive ones of each row of 4096²',
    cummax: 'cumulative maximum of the rows of 4096² f32',
    slices: 'every other of every other row of 4096², + 1',
  };
  if (bench.wants(...Object.values(names))) {
    const x = spread(rt, [4096, 4096]);
    const row = async (): Promise<Float32Array> => peek(x, 4096);
    const masked = (): Tensor => {
      const mask = x.greater(0);
      return rt
        .where(mask, x, 0)
        .sum({ axis: 1 })
        .div(mask.cast('f32').sum({ axis: 1 }));
    };
    await bench.measure({
      name: names.argmax,
      calls: 20,
      run: () => x.argmax({ axis: 1 }),
      check: async () => {
        const [[got], r] = [await first(x.argmax({ axis: 1 }), 1), await row()];
        near(names.argmax, r[got!]!, Math.max(...r), 0);
      },
    });
    await bench.measure({
      name: names.masked,
      calls: 20,
      run: masked,
      check: async () => {
        const positive = (await row()).filter((v) => v > 0);
        near(names.masked, (await first(masked(), 1))[0]!, sum(positive) / positive.length);
      },
    });
    await bench.measure({
      name: names.cummax,
      calls: 10,
      run: () => x.cummax(1),
      check: async () => {
        const [got, r] = [await first(x.cummax(1), 4096), await row()];
        near(names.cummax, got[4095]!, Math.max(...r), 0);
      },
    });
    const every = (): Tensor =>
      x
        .slice([
          [0, 4096, 2],
          [0, 4096, 2],
        ])
        .add(1);
    await bench.measure({
      name: names.slices,
      calls: 20,
      run: every,
      check: async () => {
        const [got, r] = [await first(every(), 2048), await row()];
        for (let i = 0; i < 2048; i++) near(names.slices, got[i]!, r[2 * i]! + 1, 1e-6);
      },
    });
    x.dispose();
  }
  const sorted = { sort: 'sort of each row of 16384 x 1024 f32', median: 'median of each row of 16384 x 1024 f32' };
  if (bench.wants(...Object.values(sorted))) {
    const x = spread(rt, [16384, 1024]);
    const median = (): Tensor => x.sort(1).slice([null, [511, 512]]);
    const row = async (): Promise<Float32Array> => (await peek(x, 1024)).sort();
    await bench.measure({
      name: sorted.sort,
      calls: 5,
      run: () => x.sort(1),
      check: async () => {
        const [got, want] = [await first(x.sort(1), 1024), await row()];
        for (let i = 0; i < 1024; i++) near(sorted.sort, got[i]!, want[i]!, 0);
      },
    });
    await bench.measure({
      name: sorted.median,
      calls: 5,
      run: median,
      check: async () => near(sorted.median, (await first(median(), 1))[0]!, (await row())[511]!, 0),
    });
    x.dispose();
  }
  const tall = 'mean over the long axis of 1M x 64 f32';
  if (bench.wants(tall)) {
    const x = spread(rt, [1 << 20, 64]);
    await bench.measure({
      name: tall,
      calls: 10,
      run: () => x.mean({ axis: 0 }),
      check: async () => near(tall, (await first(x.mean({ axis: 0 }), 1))[0]!, 0, 5e-3),
    });
    x.dispose();
  }
}

async function places(bench: Bench): Promise<void> {
  const { rt } = bench;
  const names = { add: 'scatter add of 4M f32 into 65,536', count: 'histogram of 16M bytes' };
  if (bench.wants(names.add)) {
    const at = rt.random.integers([4 << 20], { low: 0, high: 65536 }).compute();
    const [values, zeros] = [rt.ones([4 << 20]).compute(), rt.zeros([65536]).compute()];
    const run = (): Tensor => zeros.scatter(at, values, { mode: 'add', bounds: 'clip' });
    await bench.measure({
      name: names.add,
      calls: 10,
      run,
      check: async () => near(names.add, sum(await first(run(), 65536)), 4 << 20, 0),
    });
    for (const t of [at, values, zeros]) t.dispose();
  }
  if (bench.wants(names.count)) {
    const at = rt.random.integers([16 << 20], { low: 0, high: 256 }).compute();
    const [ones, zeros] = [rt.ones([16 << 20], { dtype: 'i32' }), rt.zeros([256], { dtype: 'i32' }).compute()];
    const run = (): Tensor => zeros.scatter(at, ones, { mode: 'add', bounds: 'clip' });
    await bench.measure({
      name: names.count,
      calls: 5,
      run,
      check: async () => near(names.count, sum(await first(run(), 256)), 16 << 20, 0),
    });
    for (const t of [at, ones, zeros]) t.dispose();
  }
}

async function distances(bench: Bench): Promise<void> {
  const { rt } = bench;
  const names = {
    cosine: 'cosine similarities 4096 x 4096 of 512, f32',
    far: 'distances 4096 x 4096 of 64, f32',
    means: 'k-means step, 1M x 16, 64 centres, f32',
  };
  if (bench.wants(names.cosine)) {
    const x = spread(rt, [4096, 512]);
    const run = (): Tensor => {
      const unit = x.div(x.mul(x).sum({ axis: 1, keepdims: true }).sqrt());
      return unit.matmul(unit.transpose());
    };
    await bench.measure({
      name: names.cosine,
      calls: 10,
      run,
      check: async () => near(names.cosine, (await first(run(), 1))[0]!, 1),
    });
    x.dispose();
  }
  if (bench.wants(names.far)) {
    const [x, y] = [spread(rt, [4096, 64]), spread(rt, [4096, 64])];
    const run = (): Tensor => {
      const [p, q] = [x.mul(x).sum({ axis: 1, keepdims: true }), y.mul(y).sum({ axis: 1 })];
      return p.add(q).sub(x.matmul(y.transpose()).mul(2)).clip(0, null).sqrt();
    };
    await bench.measure({
      name: names.far,
      calls: 10,
      run,
      check: async () => {
        const [[got], p, q] = [await first(run(), 1), await peek(x, 64), await peek(y, 64)];
        near(names.far, got!, Math.hypot(...p.map((v, i) => v - q[i]!)));
      },
    });
    for (const t of [x, y]) t.dispose();
  }
  if (bench.wants(names.means)) {
    const [x, centres] = [spread(rt, [1 << 20, 16]), spread(rt, [64, 16])];
    const run = (): Tensor => {
      const far = centres.mul(centres).sum({ axis: 1 }).sub(x.matmul(centres.transpose()).mul(2));
      const nearest = far.argmin({ axis: 1 });
      return x.segmentMean(nearest, 64);
    };
    await bench.measure({
      name: names.means,
      calls: 5,
      run,
      check: async () => near(names.means, sum(await first(run(), 1024)) / 1024, 0, 0.3),
    });
    for (const t of [x, centres]) t.dispose();
  }
}

async function formulas(bench: Bench): Promise<void> {
  const { rt } = bench;
  const names = {
    polynomial: 'polynomial of 10 terms, 16M f32',
    choices: 'chain of choices, 16M f32',
    outer: 'all sums of 8192 + 8192 f32',
    halves: 'chain of 5 ops, 64M f16',
    whole: 'sum of 64M i32',
    even: 'even random numbers, 64M f32',
  };
  if (bench.wants(names.polynomial, names.choices)) {
    const x = spread(rt, [16 << 20]);
    const polynomial = (): Tensor => {
      let y = x.mul(0.1);
      for (let i = 2; i < 11; i++) y = y.add(0.1 * i).mul(x);
      return y.add(1);
    };
    const choices = (): Tensor => {
      const bent = rt.where(x.less(-0.5), x.mul(0.1), rt.where(x.greater(0.5), x.mul(x), x.abs()));
      return rt.where(bent.isfinite(), bent, 0).clip(0.01, 0.9);
    };
    await bench.measure({
      name: names.polynomial,
      calls: 20,
      run: polynomial,
      check: async () => {
        const [got, p] = [await first(polynomial(), 100), await peek(x, 100)];
        p.forEach((v, i) => {
          let y = 0.1 * v;
          for (let k = 2; k < 11; k++) y = (y + 0.1 * k) * v;
          near(names.polynomial, got[i]!, y + 1);
        });
      },
    });
    await bench.measure({
      name: names.choices,
      calls: 20,
      run: choices,
      check: async () => {
        const [got, p] = [await first(choices(), 100), await peek(x, 100)];
        p.forEach((v, i) => {
          const bent = v < -0.5 ? 0.1 * v : v > 0.5 ? v * v : Math.abs(v);
          near(names.choices, got[i]!, Math.min(Math.max(bent, 0.01), 0.9));
        });
      },
    });
    x.dispose();
  }
  if (bench.wants(names.outer)) {
    const [x, y] = [spread(rt, [8192]), spread(rt, [8192])];
    const run = (): Tensor => x.reshape([8192, 1]).add(y);
    await bench.measure({
      name: names.outer,
      calls: 10,
      run,
      check: async () => {
        const [[got], [p], [q]] = [await first(run(), 1), await peek(x, 1), await peek(y, 1)];
        near(names.outer, got!, p! + q!, 1e-6);
      },
    });
    for (const t of [x, y]) t.dispose();
  }
  if (bench.wants(names.halves)) {
    const x = spread(rt, [64 << 20], 'f16');
    const run = (): Tensor => x.mul(0.5).add(1).mul(x).sub(0.25).abs();
    await bench.measure({
      name: names.halves,
      calls: 10,
      run,
      check: async () => {
        const [[got], [p]] = [await first(run(), 1), await peek(x, 1)];
        near(names.halves, got!, Math.abs((p! * 0.5 + 1) * p! - 0.25), 1e-2);
      },
    });
    x.dispose();
  }
  if (bench.wants(names.whole)) {
    const x = rt.ones([64 << 20], { dtype: 'i32' }).compute();
    await bench.measure({
      name: names.whole,
      calls: 10,
      run: () => x.sum(),
      check: async () => near(names.whole, (await first(x.sum(), 1))[0]!, 64 << 20, 0),
    });
    x.dispose();
  }
  await bench.measure({
    name: names.even,
    calls: 5,
    run: () => rt.random.uniform([64 << 20]),
    check: async () => near(names.even, sum(await first(rt.random.uniform([1 << 20]), 1 << 20)) / (1 << 20), 0.5, 2e-3),
  });
}
