// Compiled functions: what they are told anew on each call, and what they are not.

import { describe, expect, it } from 'vitest';
import { ArgumentError, createRuntime, IndexError, type Runtime, type Tensor } from '../../src/index.ts';
import fc from '../support/properties.ts';
import { fixture } from './support.ts';

const runtime = fixture();

const list = (t: Tensor): number[] => [...(t.dataSync() as Float32Array)];

describe('numbers', () => {
  it('are told to one program, however many there are', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, 2, 4]);
    const scaled = rt.compile((t: Tensor, k: number) => t.mul(k).add(1));
    for (const k of [0.25, 1, 7]) scaled(x, k).dispose();
    const before = rt.stats().programs;
    for (let k = 0; k < 500; k++) {
      const y = scaled(x, k / 8);
      expect(list(y)).toEqual([k / 8 + 1, k / 4 + 1, k / 2 + 1]);
      y.dispose();
    }
    expect(rt.stats().programs - before).toBeLessThanOrEqual(1);
  });

  it('may decide what is done', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, 2]);
    const f = rt.compile((t: Tensor, n: number) => (n > 2 ? t.mul(n) : t.expand([n + 1, 2]).sum({ axis: 0 })));
    expect(list(f(x, 1))).toEqual([2, 4]);
    expect(list(f(x, 3))).toEqual([3, 6]);
    expect(list(f(x, 2))).toEqual([3, 6]);
    expect(list(f(x, 1))).toEqual([2, 4]);
  });

  it('may be special', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, -2]);
    const f = rt.compile((t: Tensor, k: number) => t.mul(k));
    for (const k of [2, 0.3, 0, -0, Number.POSITIVE_INFINITY, 1, Number.NaN, 0.7]) {
      expect(list(f(x, k))).toEqual(list(x.mul(k)));
    }
  });

  it('are where slices start and how far rolls go', async () => {
    const rt = await runtime();
    const x = rt.arange(20).reshape([5, 4]).compute();
    const rows = rt.compile((t: Tensor, i: number) =>
      t
        .slice([[i, i + 2]])
        .roll(i, 1)
        .mul(1),
    );
    for (const i of [0, 1]) rows(x, i).dispose();
    const before = rt.stats().programs;
    for (const i of [2, 3, 0, 1, 2]) {
      expect(await rows(x, i).array()).toEqual(
        await x
          .slice([[i, i + 2]])
          .roll(i, 1)
          .array(),
      );
    }
    expect(rt.stats().programs - before).toBeLessThanOrEqual(6);
    const after = rt.stats().programs;
    rows(x, 3).dispose();
    for (let k = 0; k < 20; k++) rows(x, k % 4).dispose();
    expect(rt.stats().programs).toBe(after);
    // Less than a whole slice is left: another shape, another program, the same rule.
    expect(rows(x, 4).shape).toEqual([1, 4]);
  });

  it('do not pile up', async () => {
    const rt = await runtime();
    const x = rt.tensor([1, 2]);
    const f = rt.compile((t: Tensor, n: number) => t.expand([(n % 1000) + 1, 2]).mul(2));
    for (let n = 0; n < 3000; n++) f(x, n).dispose();
    expect(rt.stats().tensors).toBeLessThan(200);
  });
});

describe('arguments', () => {
  it('may be nested, and count by value', async () => {
    const rt = await runtime();
    const f = rt.compile((p: { w: Tensor; more: [Tensor, number] }, shape: readonly number[]) =>
      p.w
        .mul(p.more[1])
        .add(p.more[0])
        .reshape([...shape]),
    );
    const w = rt.tensor([1, 2, 3, 4]);
    const shape = [4];
    expect(f({ w, more: [w, 2] }, shape).shape).toEqual([4]);
    shape.splice(0, 1, 2, 2);
    expect(f({ w, more: [w, 3] }, shape).shape).toEqual([2, 2]);
    expect(list(f({ w, more: [w, 3] }, shape))).toEqual([4, 8, 12, 16]);
  });

  it('are refused if they could change unseen', async () => {
    const rt = await runtime();
    const body = (t: Tensor, data: unknown): Tensor => t.add((data as Float32Array)[0]!);
    const f = rt.compile(body as never) as unknown as typeof body;
    expect(() => f(rt.tensor([1]), new Float32Array(2))).toThrow(ArgumentError);
    expect(() => f(rt.tensor([1]), () => 1)).toThrow(/argument 1 is a function/);
    expect(() => f(rt.tensor([1]), { a: [new Date(0)] })).toThrow(/argument 1.a\[0\] is a Date/);
  });
});

describe('results', () => {
  it('keep their nesting', async () => {
    const rt = await runtime();
    const f = rt.compile((t: Tensor) => ({ a: t.add(1), b: { c: [t.mul(2), { d: t }] as const } }));
    const r = f(rt.tensor([1, 2]));
    expect(list(r.a)).toEqual([2, 3]);
    expect(list(r.b.c[0])).toEqual([2, 4]);
    expect(list(r.b.c[1].d)).toEqual([1, 2]);
  });

  it('are refused if they are no tensors', async () => {
    const rt = await runtime();
    const f = rt.compile((t: Tensor) => ({ t, n: { m: 3 as unknown as Tensor } }));
    expect(() => f(rt.tensor([1]))).toThrow(/the result at .n.m is number, not a tensor/);
    expect(() => rt.compile(() => [])()).toThrow(/returned no tensor/);
  });
});

describe('random numbers', () => {
  it('are new on each call', async () => {
    const rt = await runtime();
    const f = rt.compile((t: Tensor) => t.add(rt.random.uniform([4])));
    const [a, b, c] = [1, 2, 3].map(() => list(f(rt.zeros([4]))));
    expect(a).not.toEqual(b);
    expect(b).not.toEqual(c);
  });

  it('go on as they would without compile', async () => {
    const run = async (compiled: boolean): Promise<number[][]> => {
      await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, seed: 5 });
      const body = (t: Tensor): Tensor =>
        rt.random
          .normal([4])
          .mul(2)
          .sub(rt.random.uniform([4]))
          .add(t);
      const f = compiled ? rt.compile(body) : body;
      return [1, 2, 3, 4].map(() => list(f(rt.zeros([4]))));
    };
    expect(await run(true)).toEqual(await run(false));
  });

  it('are new in kernels too', async () => {
    const rt = await runtime();
    const f = rt.kernel((x) => x.add(rt.random.uniform([8])));
    expect(list(f(rt.zeros([8])))).not.toEqual(list(f(rt.zeros([8]))));
  });

  it('come from keys, which are data', async () => {
    const rt = await runtime();
    const noise = rt.compile((key: Tensor) => ({
      u: rt.random.uniform([5], { key }),
      n: rt.random.normal([5], { key }),
      i: rt.random.integers([5], { key, high: 100 }),
      b: rt.random.bernoulli([5], { key }),
    }));
    for (const seed of [0, 3, 2 ** 40 + 7, -1]) {
      const got = noise(rt.random.key(seed));
      expect(list(got.u)).toEqual(list(rt.random.uniform([5], { seed })));
      expect(list(got.n)).toEqual(list(rt.random.normal([5], { seed })));
      expect(list(got.i)).toEqual(list(rt.random.integers([5], { seed, high: 100 })));
      expect(list(got.b)).toEqual(list(rt.random.bernoulli([5], { seed })));
    }
    const keys = (await rt.random.split(rt.random.key(1), 50).array()) as number[][];
    expect(new Set(keys.map(String)).size).toBe(50);
    expect(() => rt.random.normal([2], { key: rt.tensor([0.5, 1]) })).toThrow(ArgumentError);
    expect(() => rt.random.normal([2], { key: rt.random.key(1), seed: 2 })).toThrow(/both a seed and a key/);
  });

  it('come from a key for each row', async () => {
    const rt = await runtime();
    const seeds = [5, 2 ** 33, 9];
    const keys = rt.concat(seeds.map((s) => rt.random.key(s).reshape([1, 2])));
    for (const draw of ['normal', 'uniform'] as const) {
      const rows = (await rt.random[draw]([3, 4, 2], { key: keys }).reshape([3, 8]).array()) as number[][];
      for (const [i, seed] of seeds.entries()) expect(rows[i]).toEqual(list(rt.random[draw]([8], { seed })));
    }
    expect(list(rt.random.normal([1, 3], { key: rt.random.key(5).reshape([1, 2]) }))).toEqual(
      list(rt.random.normal([3], { seed: 5 })),
    );
    expect(() => rt.random.normal([2, 4], { key: keys })).toThrow(/3 keys for the shape/);
    expect(() => rt.random.normal([3], { key: keys.slice([null, [0, 1]]) })).toThrow(ArgumentError);
  });
});

describe('indices', () => {
  it('are looked up and checked', async () => {
    const rt = await runtime();
    const table = rt.tensor([10, 20, 30]);
    const f = rt.compile((i: Tensor) => table.gather(i, 0).add(1));
    const at = (v: number[]): Tensor => rt.tensor(v, [v.length], { dtype: 'i32' });
    expect(list(f(at([2, 0, -1])))).toEqual([31, 11, 31]);
    const bytes = rt.stats().bytes;
    expect(() => f(at([1, 3, 0]))).toThrow(IndexError);
    expect(rt.stats().bytes).toBeLessThanOrEqual(bytes + 64);
    expect(list(f(at([1, 1, 0])))).toEqual([21, 21, 11]);
    const put = rt.compile((i: Tensor, v: Tensor) => table.scatter(i, v, { mode: 'add' }));
    expect(list(put(at([0, 2]), rt.tensor([1, 2])))).toEqual([11, 20, 32]);
    expect(() => put(at([0, 5]), rt.tensor([1, 2]))).toThrow(IndexError);
  });
});

describe('clipped indices', () => {
  it('are taken to the nearest position, as NumPy does, in functions and outside', async () => {
    const rt = await runtime();
    const table = rt.tensor([10, 20, 30]);
    for (const dtype of ['i32', 'i64', 'u8', 'u32'] as const) {
      const values = dtype.startsWith('u') ? [0, 2, 3, 250] : [-7, -1, 1, 9];
      const right = values.map((v) => [10, 20, 30][Math.min(Math.max(v, 0), 2)]!);
      const at = rt.tensor(values, [4]).cast(dtype);
      expect(list(table.gather(at, 0, { mode: 'clip' }))).toEqual(right);
      expect(list(table.takeAlongAxis(at, 0, { mode: 'clip' }))).toEqual(right);
      expect(list(rt.compile((i: Tensor) => table.gather(i, 0, { mode: 'clip' }))(at))).toEqual(right);
      const put = rt.zeros([3]).scatter(at, rt.ones([4]), { mode: 'add', bounds: 'clip' });
      expect(list(put)).toEqual([10, 20, 30].map((v) => right.filter((r) => r === v).length));
    }
    expect(list(table.gather([-5, 5], 0, { mode: 'clip' }))).toEqual([10, 30]);
    expect(() => table.gather([0], 0, { mode: 'wrap' as never })).toThrow(ArgumentError);
    expect(() => rt.zeros([0]).gather([0], 0, { mode: 'clip' })).toThrow(IndexError);
  });
});

describe('functions in functions', () => {
  it('become part of them', async () => {
    const rt = await runtime();
    const twice = rt.compile((t: Tensor) => t.mul(2));
    const blur = rt.kernel((t) => t.at(-1).add(t.at(1)));
    const all = rt.compile((t: Tensor) => blur(twice(t.add(1)).tanh()).sub(twice(t)));
    const x = rt.tensor([0.1, 0.2, 0.3, 0.4]);
    const y = x.add(1).mul(2).tanh();
    expect(list(all(x))).toEqual(list(y.roll(1, 0).add(y.roll(-1, 0)).sub(x.mul(2))));
    expect(all.kernels).toHaveLength(1);
  });

  it('see tensors from outside as they were when they were first used', async () => {
    const rt = await runtime();
    const bias = rt.tensor([1, 1]).add(rt.tensor([1, 2]));
    const f = rt.compile((t: Tensor) => t.add(bias));
    expect(list(f(rt.tensor([0, 0])))).toEqual([2, 3]);
    bias.dispose();
    expect(list(f(rt.tensor([1, 0])))).toEqual([3, 3]);
  });
});

describe('recurrences', () => {
  it('with a number that changes keep every state right', async () => {
    const rt = await runtime();
    const step = rt.compile((t: Tensor, k: number) => t.mul(0.5).add(k));
    const states: Tensor[] = [rt.tensor(new Float32Array(5000).fill(1))];
    for (let i = 0; i < 12; i++) states.push(step(states[i]!, i % 3));
    let expected = 1;
    for (let i = 0; i < 12; i++) {
      expect(states[i]!.dataSync()[0]).toBe(Math.fround(expected));
      expected = expected * 0.5 + (i % 3);
    }
  });

  it('with noise keep every state as it was', async () => {
    const rt = await runtime();
    const step = rt.compile((t: Tensor) => t.mul(0.5).add(rt.random.uniform([5000])));
    const states: Tensor[] = [rt.zeros([5000]).compute()];
    for (let i = 0; i < 8; i++) states.push(step(states[i]!));
    const last = list(states[8]!);
    const seen = states.map((s) => list(s)[0]);
    expect(states.map((s) => list(s)[0])).toEqual(seen);
    expect(list(states[8]!)).toEqual(last);
  });
});

/** A random program with numbers, slices, rolls and keys as arguments. */
interface Move {
  readonly op: 'mul' | 'add' | 'slice' | 'roll' | 'noise' | 'stencil' | 'gather' | 'max';
  readonly by: number;
}

const moves: fc.Arbitrary<Move[]> = fc.array(
  fc.record({
    op: fc.constantFrom('mul', 'add', 'slice', 'roll', 'noise', 'stencil', 'gather', 'max') as fc.Arbitrary<Move['op']>,
    by: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 1, maxLength: 8 },
);

function play(rt: Runtime, program: readonly Move[], x: Tensor, n: readonly number[], key: Tensor, at: Tensor): Tensor {
  let t = x;
  program.forEach(({ op, by }, k) => {
    const v = n[k % n.length]! + by;
    const rows = t.shape[0]!;
    if (op === 'mul') t = t.mul(v / 4);
    else if (op === 'add') t = t.add(v);
    else if (op === 'max') t = t.maximum(t.max().mul(v / 8));
    else if (op === 'roll') t = t.roll(v, k % 2);
    else if (op === 'noise') t = t.add(rt.random.uniform(t.shape, { key: key.add(v) }));
    else if (op === 'stencil') t = t.roll(1, 0).add(t.roll(-1, 0)).add(t.roll(v, 1));
    else if (op === 'gather') t = t.gather(at, 1);
    else if (rows > 2) t = t.slice([[v % 2, (v % 2) + rows - 1], null]);
  });
  return t;
}

describe('random programs', () => {
  it('give what they give without compile', { timeout: 120_000 }, async () => {
    const rt = await runtime();
    const x = rt.tensor(
      Float32Array.from({ length: 30 }, (_, i) => ((i * 7) % 11) - 4),
      [6, 5],
    );
    const numbers = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 3, maxLength: 3 });
    const one = fc.tuple(
      moves,
      fc.array(numbers, { minLength: 2, maxLength: 5 }),
      fc.array(fc.integer({ min: -5, max: 4 }), { minLength: 5, maxLength: 5 }),
    );
    fc.assert(
      fc.property(one, ([program, calls, at]) => {
        const f = rt.compile((t: Tensor, n: readonly number[], key: Tensor, i: Tensor) =>
          play(rt, program, t, n, key, i),
        );
        const indices = rt.tensor(at, [5], { dtype: 'i32' });
        for (const n of [...calls, calls[0]!]) {
          const key = rt.random.key(n[0]!);
          const got = f(x, n, key, indices);
          const right = play(rt, program, x, n, key, indices);
          expect(got.shape).toEqual(right.shape);
          expect(list(got)).toEqual(list(right));
        }
        f.dispose();
      }),
      { numRuns: 40 },
    );
  });
});
