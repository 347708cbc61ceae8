// Elementwise work behind matrix products: on devices that take it into the product, results equal those of the CPU, which does not.

import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, type DType, type Runtime, type Tensor } from '../../src/index.ts';
import { targets } from '../cases/devices.ts';
import fc from '../support/properties.ts';

const fusing = targets.filter((t) => t.name === 'reference' || t.name === 'webgpu' || t.name === 'cuda');
const cpu = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
afterAll(() => cpu.close());

interface Shapes {
  readonly a: readonly number[];
  readonly b: readonly number[];
  /** Of the product. */
  readonly c: readonly number[];
  readonly transposed: boolean;
}

/** Whole numbers, so that every order of adding gives the same sum. */
function whole(rt: Runtime, shape: readonly number[], dtype: DType, seed: number): Tensor {
  const n = shape.reduce((p, d) => p * d, 1);
  const data = Array.from(
    { length: n },
    (_, i) => ((i * 7 + seed * 13 + ((i * i) % 5)) % 9) - (dtype[0] === 'u' ? 0 : 4),
  );
  return rt.tensor(data, shape, { dtype });
}

type Chain = (
  rt: Runtime,
  product: Tensor,
  extra: (shape: readonly number[], k: number) => Tensor,
  c: readonly number[],
) => Tensor;

/** What may follow a product, and how many kernels that leaves; the product itself included. */
const chains: Readonly<Record<string, { readonly kernels: number; readonly chain: Chain }>> = {
  scalar: { kernels: 1, chain: (_, p) => p.mul(2).add(1) },
  bias: { kernels: 1, chain: (_, p, extra, c) => p.add(extra([c.at(-1)!], 1)) },
  'bias per row': { kernels: 1, chain: (_, p, extra, c) => p.add(extra([c.at(-2)!, 1], 1)) },
  'bias, activation, residual': {
    kernels: 1,
    chain: (_, p, extra, c) =>
      p
        .add(extra([c.at(-1)!], 1))
        .maximum(0)
        .add(extra(c, 2)),
  },
  'cast and compare': { kernels: 1, chain: (_, p, extra, c) => p.less(extra(c, 1)).cast('i32').mul(3) },
  'the product twice': { kernels: 1, chain: (_, p) => p.mul(p).sub(p) },
  'reshaped and biased': {
    kernels: 1,
    chain: (_, p, extra, c) => p.reshape([-1, c.at(-1)!]).add(extra([c.at(-1)!], 3)),
  },
  'read elsewhere': { kernels: 2, chain: (_, p) => p.add(p.roll(1, 0)) },
  transposed: { kernels: 2, chain: (_, p, extra, c) => p.swapaxes(-1, -2).add(extra([c.at(-2)!], 1)) },
  reduced: { kernels: 2, chain: (_, p) => p.add(1).sum() },
};

function run(
  rt: Runtime,
  chain: Chain,
  s: Shapes,
  dtype: DType,
): { step: ReturnType<typeof rt.compile>; inputs: Tensor[] } {
  const shapes: (readonly number[])[] = [s.a, s.b];
  // The extra operands become inputs of the compiled function, so that they are leaves.
  const count = 2;
  const extras: Tensor[] = [];
  const note = (shape: readonly number[], k: number): Tensor => {
    shapes.push(shape);
    return whole(rt, shape, dtype, k);
  };
  const product = (x: Tensor, y: Tensor): Tensor => x.matmul(s.transposed ? y.swapaxes(-1, -2) : y);
  const inputs = [whole(rt, s.a, dtype, 5), whole(rt, s.b, dtype, 6)];
  const dry = product(inputs[0]!, inputs[1]!);
  chain(
    rt,
    dry,
    (shape, k) => {
      const t = note(shape, k);
      extras.push(t);
      return t;
    },
    s.c,
  );
  const step = rt.compile((...all: Tensor[]) => {
    let next = count;
    return chain(rt, product(all[0]!, all[1]!), () => all[next++]!, s.c);
  });
  return { step: step as unknown as ReturnType<typeof rt.compile>, inputs: [...inputs, ...extras] };
}

const list = (data: ArrayLike<unknown>): unknown[] => Array.from(data);

describe.each(fusing)('matrix products on $name', (target) => {
  const opened = createRuntime(target.options);
  afterAll(async () => (await opened).close());

  it.each(Object.entries(chains))('take what follows where they can: %s', async (_, { kernels, chain }) => {
    const rt = await opened;
    const sets: Shapes[] = [
      { a: [5, 7], b: [7, 6], c: [5, 6], transposed: false },
      { a: [33, 20], b: [40, 20], c: [33, 40], transposed: true },
      { a: [2, 3, 8, 5], b: [2, 3, 5, 12], c: [2, 3, 8, 12], transposed: false },
      { a: [4, 9, 3], b: [3, 10], c: [4, 9, 10], transposed: false },
    ];
    for (const s of sets) {
      const [ours, theirs] = [run(rt, chain, s, 'f32'), run(cpu, chain, s, 'f32')];
      for (let again = 0; again < 2; again++) {
        const [x, y] = [ours.step(...ours.inputs) as Tensor, theirs.step(...theirs.inputs) as Tensor];
        expect(x.shape).toEqual(y.shape);
        expect(list(await x.data())).toEqual(list(await y.data()));
      }
      expect(ours.step.kernels, JSON.stringify(s)).toHaveLength(kernels);
    }
  });

  it('keep a product that someone holds, and one that two things read', async () => {
    const rt = await opened;
    const [a, b] = [whole(rt, [6, 8], 'f32', 1), whole(rt, [8, 6], 'f32', 2)];
    const p = a.matmul(b);
    expect(rt.explain(p.add(1)).kernels).toHaveLength(2);
    const both = rt.compile((x: Tensor, y: Tensor) => {
      const q = x.matmul(y);
      return [q.add(1), q.sum()];
    });
    both(a, b);
    expect(both.kernels.length).toBeGreaterThan(1);
    const sum = rt.compile((x: Tensor, y: Tensor) =>
      x.matmul(y).add(
        y.matmul(x).slice([
          [0, 6],
          [0, 6],
        ]),
      ),
    );
    const [ours] = [sum(a, b)];
    const theirs = await whole(cpu, [6, 8], 'f32', 1)
      .matmul(whole(cpu, [8, 6], 'f32', 2))
      .add(
        whole(cpu, [8, 6], 'f32', 2)
          .matmul(whole(cpu, [6, 8], 'f32', 1))
          .slice([
            [0, 6],
            [0, 6],
          ]),
      )
      .data();
    expect(list(await ours.data())).toEqual(list(theirs));
  });

  it('names what it does, and counts its work', async () => {
    const rt = await opened;
    const step = rt.compile((x: Tensor, y: Tensor, z: Tensor) => x.matmul(y).add(z).tanh());
    step(whole(rt, [6, 8], 'f32', 1), whole(rt, [8, 4], 'f32', 2), whole(rt, [4], 'f32', 3));
    expect(step.kernels).toEqual(['matmul_f32_6x8x4_add_tanh']);
  });

  it('stores bias and activation, not the product, where windows read them next', async () => {
    const rt = await opened;
    const layers = rt.compile((x: Tensor, k: Tensor, own: Tensor, bias: Tensor) => {
      const point = x.conv2d(k, { layout: 'channelsLast' }).add(bias).maximum(0).minimum(6);
      return point.conv2d(own, { padding: 1, groups: 4, layout: 'channelsLast' });
    });
    const [x, k] = [whole(rt, [2, 6, 5, 3], 'f32', 1), whole(rt, [1, 1, 3, 4], 'f32', 2)];
    const [own, bias] = [whole(rt, [3, 3, 1, 4], 'f32', 3), whole(rt, [4], 'f32', 4)];
    const got = layers(x, k, own, bias);
    expect(layers.kernels).toHaveLength(2);
    expect(layers.kernels[0]).toBe('matmul_f32_60x3x4_add_max_min');
    expect(layers.kernels[1]).not.toContain('max');
    const point = x.conv2d(k, { layout: 'channelsLast' }).compute();
    const stored = point.add(bias).maximum(0).minimum(6).compute();
    const want = stored.conv2d(own, { padding: 1, groups: 4, layout: 'channelsLast' });
    expect(list(await got.data())).toEqual(list(await want.data()));
  });

  it('gives the right results for random chains of random types', { timeout: 60_000 }, async () => {
    const rt = await opened;
    const have = rt.device(rt.devices().find((d) => d.open)!.id).caps.dtypes;
    const types = (['f32', 'i32', 'u32', 'f16', 'u8'] as const).filter((t) => have.has(t));
    const op = fc.constantFrom('add', 'sub', 'mul', 'maximum', 'minimum');
    const step = fc.record({ op, shape: fc.nat(4), swap: fc.boolean() });
    const chain = fc.record({
      type: fc.constantFrom(...types),
      m: fc.integer({ min: 1, max: 20 }),
      k: fc.integer({ min: 1, max: 9 }),
      n: fc.integer({ min: 1, max: 20 }),
      batch: fc.constantFrom([], [1], [3], [2, 2]),
      shared: fc.boolean(),
      transposed: fc.boolean(),
      steps: fc.array(step, { minLength: 1, maxLength: 3 }),
      cast: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(chain, async (p) => {
        const c = [...p.batch, p.m, p.n];
        const bShape = p.transposed ? [p.n, p.k] : [p.k, p.n];
        const s: Shapes = {
          a: [...p.batch, p.m, p.k],
          b: p.shared ? bShape : [...p.batch, ...bShape],
          c,
          transposed: p.transposed,
        };
        const shapes = [[], [p.n], [p.m, 1], c, [1, p.n]];
        const follow: Chain = (_, product, extra) => {
          let v = product;
          for (const [i, { op: name, shape, swap }] of p.steps.entries()) {
            const other = extra(shapes[shape]!, i);
            v = swap ? other[name](v) : v[name](other);
          }
          return p.cast ? v.cast('f32') : v;
        };
        const [ours, theirs] = [run(rt, follow, s, p.type), run(cpu, follow, s, p.type)];
        const [x, y] = [ours.step(...ours.inputs) as Tensor, theirs.step(...theirs.inputs) as Tensor];
        expect(x.dtype).toBe(y.dtype);
        expect(list(await x.data())).toEqual(list(await y.data()));
        ours.step.dispose();
        theirs.step.dispose();
      }),
      { numRuns: target.name === 'reference' ? 60 : 25, seed: 4711 },
    );
  });
});
