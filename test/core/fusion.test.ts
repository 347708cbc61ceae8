// The fusion is real: how many kernels common work takes.

import { describe, expect, it } from 'vitest';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { fixture } from './support.ts';

const runtime = fixture();

const kernels = (rt: Runtime, t: Tensor): string[] => rt.explain(t).kernels.map((k) => k.name);

const list = (t: Tensor): number[] => Array.from(t.dataSync() as Float32Array);

async function input(rt: Runtime, shape: readonly number[]): Promise<Tensor> {
  const x = rt.random.normal(shape, { seed: 1 });
  await rt.flush(x);
  return x;
}

describe('kernel counts', () => {
  it('takes one kernel for a field step with six rolls', async () => {
    const rt = await runtime();
    const f = await input(rt, [8, 8, 8, 16]);
    const near = [0, 1, 2].flatMap((axis) => [f.roll(1, axis), f.roll(-1, axis)]).reduce((a, b) => a.add(b));
    const step = f
      .mul(0.99)
      .add(near.sub(f.mul(6)).mul(0.1))
      .add(rt.random.normal(f.shape, { seed: 2 }).mul(0.01))
      .tanh();
    expect(kernels(rt, step)).toHaveLength(1);
  });

  it('takes one kernel for 27 neighbours and noise', async () => {
    const rt = await runtime();
    const f = await input(rt, [8, 8, 8, 16]);
    const near = [-1, 0, 1].flatMap((i) =>
      [-1, 0, 1].flatMap((j) => [-1, 0, 1].map((k) => f.roll([i, j, k], [0, 1, 2]))),
    );
    const sum = near.reduce((a, b) => a.add(b));
    expect(kernels(rt, sum.add(rt.random.normal(f.shape, { seed: 2 })))).toHaveLength(1);
  });

  it('takes one kernel for a depthwise convolution with what is behind it', async () => {
    const rt = await runtime();
    const x = await input(rt, [1, 9, 9, 8]);
    const kernel = await input(rt, [3, 3, 1, 8]);
    const bias = await input(rt, [8]);
    for (const stride of [1, 2]) {
      const y = x.conv2d(kernel, { stride, padding: 1, groups: 8, layout: 'channelsLast' });
      expect(kernels(rt, y.add(bias).maximum(0).minimum(6))).toHaveLength(1);
    }
  });

  it('writes out short sums of what is computed from smaller values', async () => {
    const rt = await runtime();
    const [a, b] = [rt.tensor([1, 2, 3, 4, 5, 6], [2, 3]), rt.tensor([0, 1, 2, 3, 5, 7, 9, 9, 9], [3, 3])];
    const squares = (): Tensor => {
      const d = a.reshape([2, 1, 3]).sub(b);
      return d.mul(d).sum({ axis: 2 });
    };
    expect(kernels(rt, squares().min({ axis: 1 }))).toHaveLength(1);
    expect(list(squares())).toEqual([3, 29, 149, 48, 2, 50]);
    expect(list(squares().min({ axis: 1 }))).toEqual([3, 2]);
    // What is as large as what is added up is read by the loop.
    expect(String(rt.explain(rt.ones([4, 4]).mul(a.sum()).compute().sum({ axis: 1 })))).toContain('sum over');
  });

  it('loops over windows that are too large to be written out', async () => {
    const rt = await runtime();
    const x = await input(rt, [40]);
    expect(kernels(rt, x.windows([30]).sum({ axis: 1 }))).toHaveLength(1);
    expect(list(x.windows([30]).max({ axis: 1 }))[0]).toBe(Math.max(...list(x).slice(0, 30)));
  });

  it('a pointwise convolution is a product without a copy', async () => {
    const rt = await runtime();
    const [x, kernel] = [await input(rt, [2, 5, 5, 8]), await input(rt, [1, 1, 8, 4])];
    expect(kernels(rt, x.conv2d(kernel, { layout: 'channelsLast' }))).toEqual(['matmul_f32_50x8x4']);
  });

  it.each(['clamp', 'zero', 'wrap'] as const)(
    'takes one kernel for each of several steps of a stencil (%s)',
    async (border) => {
      const rt = await runtime();
      const f = await input(rt, [12, 12, 12]);
      const step = rt.kernel(
        (x) => {
          const near = [0, 1, 2].flatMap((a) =>
            [-1, 1].map((by) => x.at(...[0, 0, 0].map((_, k) => (k === a ? by : 0)))),
          );
          return x.add(
            near
              .reduce((p, q) => p.add(q))
              .sub(x.mul(6))
              .mul(0.1),
          );
        },
        { border },
      );
      const several = rt.compile((x: Tensor): Tensor => {
        let y = x;
        for (let i = 0; i < 5; i++) y = step(y as never) as Tensor;
        return y;
      });
      let one: Tensor = f;
      for (let i = 0; i < 5; i++) one = step(one as never) as Tensor;
      expect(list(several(f))).toEqual(list(one));
      expect(several.kernels).toHaveLength(5);
    },
  );

  it('sums several inputs in one loop if one kernel reads the sums', async () => {
    const rt = await runtime();
    const inputs = await Promise.all([1, 2, 3].map(() => input(rt, [4096])));
    const sums = rt.compile((a: Tensor, b: Tensor, c: Tensor) =>
      rt.stack([a.sum(), b.square().sum(), c.argmin().cast('f32')]),
    );
    const got = list(sums(inputs[0]!, inputs[1]!, inputs[2]!));
    expect(sums.kernels).toHaveLength(2);
    const data = Array.from(inputs[0]!.dataSync() as Float32Array);
    expect(got[0]).toBeCloseTo(
      data.reduce((p, q) => p + q, 0),
      2,
    );
    expect(got[2]).toBe(data.indexOf(Math.min(...data)));
  });

  it('computes cheap values at every position instead of storing them', async () => {
    const rt = await runtime();
    const x = await input(rt, [256, 256]);
    const row = await input(rt, [1, 256]);
    const y = x.mul(row.mul(2).add(1).broadcastTo(x.shape)).add(row.roll(1, 1).mul(3).broadcastTo(x.shape));
    expect(kernels(rt, y)).toHaveLength(1);
  });

  it('takes one kernel for a chain of ten elementwise ops', async () => {
    const rt = await runtime();
    const x = await input(rt, [1000]);
    const y = x.mul(2).add(1).abs().sqrt().neg().exp().sub(3).maximum(-2).tanh().div(7);
    expect(kernels(rt, y)).toEqual([expect.stringMatching(/_f32_1000$/)]);
  });

  it('takes at most three kernels for softmax and for layer norm', async () => {
    const rt = await runtime();
    const x = await input(rt, [64, 128]);
    expect(kernels(rt, x.softmax()).length).toBeLessThanOrEqual(3);
    expect(kernels(rt, x.softmax(0)).length).toBeLessThanOrEqual(3);
    expect(kernels(rt, x.layerNorm()).length).toBeLessThanOrEqual(3);
  });

  it('takes at most two kernels for mean and variance of one input', async () => {
    const rt = await runtime();
    const x = await input(rt, [64, 128]);
    const both = rt.compile((v: Tensor) => [v.mean({ axis: 1 }), v.variance({ axis: 1 })]);
    const [mean, variance] = both(x);
    expect(both.kernels.length).toBeLessThanOrEqual(2);
    const data = x.dataSync();
    const row = Array.from(data.subarray(0, 128) as Float32Array);
    const m = row.reduce((a, b) => a + b) / 128;
    expect(mean!.dataSync()[0]).toBeCloseTo(m, 5);
    expect(variance!.dataSync()[0]).toBeCloseTo(row.reduce((a, b) => a + (b - m) ** 2, 0) / 128, 5);
  });

  it('reduces several ways in one pass over the input', async () => {
    const rt = await runtime();
    const x = await input(rt, [64, 128]);
    const stats = rt.compile((v: Tensor) => ({
      sum: v.sum({ axis: 1 }),
      max: v.max({ axis: 1 }),
      min: v.min({ axis: 1 }),
    }));
    const { max, min } = stats(x);
    expect(stats.kernels).toHaveLength(1);
    const row = Array.from(x.dataSync().subarray(0, 128) as Float32Array);
    expect(max.dataSync()[0]).toBe(Math.max(...row));
    expect(min.dataSync()[0]).toBe(Math.min(...row));
  });

  it('writes several outputs over one space in one kernel', async () => {
    const rt = await runtime();
    const x = await input(rt, [1000]);
    const both = rt.compile((v: Tensor) => {
      const y = v.mul(2);
      return [y, y.add(1).tanh()];
    });
    const [a, b] = both(x);
    expect(both.kernels).toHaveLength(1);
    const [v] = x.dataSync() as Float32Array;
    expect(a!.dataSync()[0]).toBe(Math.fround(v! * 2));
    expect(b!.dataSync()[0]).toBeCloseTo(Math.tanh(v! * 2 + 1), 6);
  });

  it('moves elements without kernels of their own', async () => {
    const rt = await runtime();
    const x = await input(rt, [8, 6]);
    const y = rt
      .concat(
        [
          x
            .transpose()
            .flip(0)
            .pad([
              [1, 1],
              [0, 2],
            ]),
          rt.zeros([2, 10]),
        ],
        0,
      )
      .slice([
        [1, 7],
        [2, 9],
      ])
      .add(1);
    expect(kernels(rt, y)).toHaveLength(1);
  });

  it('stores a costly value that is needed at many positions', async () => {
    const rt = await runtime();
    const x = await input(rt, [100_000]);
    const e = x.exp();
    const sum = [1, 2, 3, 4].map((s) => e.roll(s, 0)).reduce((a, b) => a.add(b), e);
    expect(kernels(rt, sum)).toHaveLength(2);
    const cheap = x.mul(2);
    expect(kernels(rt, cheap.roll(1, 0).add(cheap))).toHaveLength(1);
    // Of few values a kernel more would cost more than it saves.
    const few = (await input(rt, [64])).exp();
    expect(kernels(rt, few.roll(1, 0).add(few.roll(2, 0)).add(few))).toHaveLength(1);
  });

  it('keeps within the number of buffers a device can bind', async () => {
    const rt = await runtime();
    const limit = rt.device('cpu').caps.maxBuffers;
    const many = Array.from({ length: limit + 20 }, (_, i) => rt.full([50], i).compute());
    const sum = many.reduce((a, b) => a.add(b) as typeof a);
    expect(kernels(rt, sum).length).toBeGreaterThan(1);
    expect(sum.dataSync()[3]).toBe(((limit + 20) * (limit + 19)) / 2);
  });

  it('gives each of many sums a kernel of its own where one kernel could not bind what they read', async () => {
    const rt = await runtime();
    const limit = rt.device('cpu').caps.maxBuffers;
    for (const count of [limit - 1, limit, limit + 1]) {
      const many = Array.from({ length: count }, (_, i) => rt.full([3, 4], i + 1).compute());
      const sum = many.map((t) => t.sum({ axis: 1 })).reduce((a, b) => a.add(b));
      expect(kernels(rt, sum).length, `${count} sums`).toBeGreaterThan(1);
      expect(list(sum), `${count} sums`).toEqual(new Array(3).fill(2 * count * (count + 1)));
    }
  });

  it('gives sums over different axes loops of their own', async () => {
    const rt = await runtime();
    const x = rt
      .tensor(
        Float32Array.from({ length: 9 }, (_, i) => i),
        [3, 3],
      )
      .compute();
    const sum = x.sum({ axis: 0 }).add(x.sum({ axis: 1 }));
    expect(kernels(rt, sum)).toHaveLength(2);
    expect(list(sum)).toEqual([9 + 3, 12 + 12, 15 + 21]);
  });

  it('shares equal computations', async () => {
    const rt = await runtime();
    const x = await input(rt, [64, 64]);
    const y = x.sum({ axis: 0 }).add(x.sum({ axis: 0 }));
    expect(kernels(rt, y)).toHaveLength(1);
  });

  it('runs a program again for other constants without planning it again', async () => {
    const rt = await runtime();
    const x = await input(rt, [1000]);
    for (const k of [0.91, 0.92, 0.93]) x.mul(k).tanh().dataSync();
    const before = rt.stats().programs;
    x.mul(0.94).tanh().dataSync();
    expect(rt.stats().programs).toBe(before);
  });
});

describe('values that are the same for every element', () => {
  it('reach every lane, 64-bit division included', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1, tinyElements: 0 } });
    const one = rt.tensor([-2]).reshape([]).cast('bool').sum({ dtype: 'i64' }).expand([2]);
    const rest = one.mod(one.add(one));
    expect(await rest.add(rest).data()).toEqual(new BigInt64Array([2n, 2n]));
  });
});

describe('kernels that were merged', () => {
  it('never wait for each other', async () => {
    const rt = await runtime();
    const x = rt.tensor([0.25, 4, 1]);
    const program = rt.compile((v: Tensor) => {
      const root = v.rsqrt();
      const all = root.mul(2).greaterEqual(root);
      const ones = all.div(all);
      const chosen = rt.where(all, ones, ones);
      const soft = root.softmax(0).add(ones).add(chosen);
      const at = chosen.argmax({ axis: 0 });
      return [ones, soft.add(soft), at.add(at)];
    });
    const [ones, soft, at] = await Promise.all(program(x).map((t) => t.data()));
    const e = [2, 0.5, 1].map(Math.exp);
    const total = e[0]! + e[1]! + e[2]!;
    expect(ones).toEqual(new Float32Array([1, 1, 1]));
    expect([...soft!].map(Number)).toEqual(e.map((v) => expect.closeTo(2 * (v / total + 2), 5)));
    expect(Number(at![0])).toBe(0);
  });
});

describe('long chains of functions', () => {
  it('are cut into kernels that can be rendered', async () => {
    const rt = await runtime();
    const x = new Float32Array(20_000).fill(0.5);
    let expected = 0.5;
    for (let i = 0; i < 200; i++) expected = Math.tanh(expected);
    const chain = rt.compile((t: Tensor) => {
      let v = t;
      for (let i = 0; i < 200; i++) v = v.tanh();
      return v;
    });
    expect((await chain(rt.tensor(x)).data())[7]).toBeCloseTo(expected, 4);
    expect(chain.kernels.length).toBeGreaterThan(1);
    expect(chain.kernels.length).toBeLessThan(8);
  });
});

describe('long chains with numbers', () => {
  /** The buffers and numbers of each kernel that a computation takes. */
  async function argumentsOf(make: (rt: Runtime, x: Tensor) => Tensor): Promise<number[]> {
    const counts: number[] = [];
    await using rt = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      wrap: (device) => {
        const prepare = device.prepare.bind(device);
        device.prepare = (work) => {
          if (work.kind === 'kernel') counts.push(work.inputs.length + work.outputs.length + work.scalars.length);
          return prepare(work);
        };
        return device;
      },
    });
    counts.length = 0;
    await make(rt, rt.tensor([0.25, 0.5])).data();
    return counts;
  }

  it('are one kernel as far as two hundred ops go', async () => {
    const counts = await argumentsOf((_, x) => {
      let y = x;
      for (let i = 0; i < 100; i++) y = y.mul(0.99).add(0.01 * (i + 1.1));
      return y;
    });
    expect(counts).toEqual([202]);
  });

  it('take no more arguments than a launch on any device', async () => {
    const counts = await argumentsOf((rt, x) =>
      rt.compile((t: Tensor) => {
        let y = t;
        for (let i = 0; i < 600; i++) y = rt.where(y.less(0.7 + i / 1000), 0.31 + i / 1000, y.add(0.013)) as Tensor;
        return y;
      })(x),
    );
    expect(Math.max(...counts)).toBeGreaterThan(100);
    expect(Math.max(...counts)).toBeLessThan(512 - 128);
  });
});

describe('reductions of reductions', () => {
  it('take kernels of their own, even over an axis of one element', async () => {
    const rt = await runtime();
    const total = rt.tensor([-2, -4, -2]).sum({ axis: [0], keepdims: true });
    const least = total.argmin({ axis: 0 });
    const twice = least.add(least);
    const same = least.add(total);
    const result = rt.where(same.equal(same), twice, twice).variance({ axis: [0] });
    for (const { body } of rt.explain(result).kernels) {
      // What depends on an accumulator, as far as the lines so far say.
      const after = new Set<string>();
      for (const line of body.split('\n')) {
        const [, name, reduced, value] = /^\s*(\w+) = (\w+ over .* of )?(.*)$/.exec(line) ?? [];
        if (!name) continue;
        const depends = (value!.match(/\b[at]\d+\b/g) ?? []).some((n) => after.has(n));
        if (reduced) expect(depends, line).toBe(false);
        if (reduced || depends) after.add(name);
      }
    }
    expect((await result.data())[0]).toBe(0);
  });
});

describe('explain', () => {
  it('prints kernels with their work and the device', async () => {
    const rt = await runtime();
    const text = String(rt.explain(rt.ones([4, 4]).mul(3.5).sum({ axis: 1 })));
    expect(text).toContain('on cpu (the only device): 1 kernel');
    expect(text).toContain('sum over');
  });

  it('says that a tensor is computed already', async () => {
    const rt = await runtime();
    expect(String(rt.explain(rt.tensor([1, 2])))).toBe('f32 [2]: already computed: 8 bytes on cpu');
    expect(rt.explain(rt.tensor([1, 2])).kernels).toEqual([]);
  });

  it('names the kernels that have computed a tensor, on every way they are run', async () => {
    const rt = await runtime();
    const x = rt.tensor([3, 4]);
    const y = x.add(7).mul(2.5);
    const before = rt.explain(y).kernels;
    y.compute();
    expect(rt.explain(y).kernels).toEqual(before);
    expect(String(rt.explain(y))).toMatch(
      /^f32 \[2\]: already computed: 8 bytes on cpu, by 1 kernel\n {2}1\. add_mul_f32_2 /,
    );
    for (let i = 0; i < 3; i++) expect(kernels(rt, x.add(10 + i).compute())).toEqual(['add_f32_2']);
    const f = rt.compile((t: Tensor) => t.cumsum(0).mul(3.5));
    expect(kernels(rt, f(x))).toEqual([...f.kernels]);
  });

  it('shows a kernel by the name its user gave it, and only that one', async () => {
    const rt = await runtime();
    const names: string[] = [];
    const stop = rt.on('launch', (e) => names.push(e.name));
    const blur = rt.kernel((v) => v.at(-1).add(v.at(1)).mul(0.5), { name: 'blur' });
    const input = rt.tensor([1, 2, 3]).sqrt();
    const made = blur(input);
    stop();
    expect(names).toEqual([expect.stringMatching(/^sqrt/), 'blur']);
    expect(kernels(rt, made)).toEqual(['blur']);
    expect(String(rt.explain(made))).toMatch(/1\. blur /);
    expect(kernels(rt, input)[0]).toMatch(/^sqrt/);
  });
});

describe('reshaped epilogues', () => {
  it('stay in the kernel of the reduction, also when axes are cut in two', async () => {
    const rt = await runtime();
    const x = await input(rt, [4, 3, 3]);
    const t = x.argmin({ axis: 1 }).reshape([2, 2, 3]);
    const twice = t.add(t);
    expect(kernels(rt, twice)).toHaveLength(1);
    const plain = x.argmin({ axis: 1 }).dataSync();
    expect([...(twice.dataSync() as Int32Array)]).toEqual([...plain].map((v) => 2 * v));
  });

  it('become kernels of their own where axes do not line up', async () => {
    const rt = await runtime();
    const x = await input(rt, [6, 4, 5]);
    const t = x.sum({ axis: 2 }).reshape([3, 8]).add(1).reshape([4, 6]).mul(2);
    const sums = x.sum({ axis: 2 }).dataSync() as Float32Array;
    expect([...(t.dataSync() as Float32Array)]).toEqual([...sums].map((v) => Math.fround(Math.fround(v + 1) * 2)));
  });
});

describe('positions beside a border', () => {
  // Of two elements the one before the first is the last, unless it is not read at all.
  it.each([1, -1, 3])('do not stand for those of a roll by %s', async (shift) => {
    const rt = await runtime();
    const x = rt.tensor([0, 1, 2, 3, 4, 5], [3, 2]).compute().roll(shift, 1);
    const padded = x.pad(
      [
        [0, 0],
        [1, 1],
      ],
      -9,
    );
    const [left, middle, right] = [0, 1, 2].map((k) => padded.slice([null, [k, k + 2]])) as [Tensor, Tensor, Tensor];
    const sum = left.maximum(middle).maximum(right);
    expect(kernels(rt, sum)).toHaveLength(1);
    expect(list(sum)).toEqual([1, 1, 3, 3, 5, 5]);
    expect(list(middle)).toEqual([1, 0, 3, 2, 5, 4]);
  });
});
