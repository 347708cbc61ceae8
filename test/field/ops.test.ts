// Evolution, gradient, metrics and patterns by themselves, against plain numbers.

import { afterAll, describe, expect, it } from 'vitest';
import {
  createField,
  extractGradient,
  FieldConfigError,
  fieldMetrics,
  fusedEvolution,
  PatternLibrary,
} from '../../src/field/index.ts';
import type { Runtime, Tensor } from '../../src/index.ts';
import { ShapeError } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { closeAll, kinds, ownRuntime, runtimeOf } from './devices.ts';
import { evolve, gradientMotors, type PlainField, sobel } from './plain.ts';

afterAll(closeAll);

const plain = (
  edges: [number, number, number],
  channels: number,
  boundary: PlainField['boundary'],
  values: ArrayLike<number>,
): PlainField => ({
  edges,
  channels,
  content: channels,
  temporal: 0,
  dynamics: 0,
  sensorDim: 1,
  boundary,
  values: Float64Array.from(values),
});
const read = async (t: Tensor): Promise<Float32Array> => {
  using held = t;
  return (await held.data()) as Float32Array;
};
const furthest = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((m, v, i) => Math.max(m, Math.abs(v - b[i]!)), 0);

describe.each(kinds)('on %s', (kind) => {
  it('fused evolution of a single 1 gives the known values', async () => {
    const rt = await runtimeOf(kind);
    const data = new Float32Array(64);
    data[0] = 1;
    using x = rt.tensor(data, [4, 4, 4, 1]);
    const got = await read(fusedEvolution(rt, x));
    expect(got[0]).toBeCloseTo(0.9509, 4);
    const others = [...got].slice(1).filter((v) => v > 0);
    expect(others).toHaveLength(26);
    for (const v of others) expect(v).toBeCloseTo(0.00185, 6);
    expect(got.reduce((a, b) => a + b)).toBeCloseTo(0.999, 6);
    expect(await x.data()).toEqual(data);
  });

  it('fused evolution in place gives the same, and takes its input over', async () => {
    await using rt = await ownRuntime(kind);
    const make = (): Tensor => rt.random.normal([4, 5, 6, 3], { seed: 3 }).compute();
    const [x, y] = [make(), make()];
    const apart = await read(fusedEvolution(rt, x));
    expect(x.disposed).toBe(false);
    const before = rt.stats().bytes;
    const next = fusedEvolution(rt, y, { inPlace: true });
    expect(y.disposed).toBe(true);
    expect(await next.data()).toEqual(apart);
    expect(rt.stats().bytes).toBe(before);
    for (const t of [x, next]) t.dispose();
  });

  it('fused evolution equals its three steps, and keeps the sum, at both boundaries', async () => {
    const rt = await runtimeOf(kind);
    for (const boundary of ['periodic', 'reflecting'] as const) {
      for (const blur of ['mean', 'separable'] as const) {
        using x = rt.random.normal([4, 5, 6, 2], { seed: 3 });
        const f = plain([4, 5, 6], 2, boundary, (await x.data()) as Float32Array);
        using key = rt.random.key(9);
        using drawn = rt.random.normal([4, 5, 6, 2], { key });
        const noise = ((await drawn.data()) as Float32Array).map((v) => v * 0.02);
        evolve(f, { keep: 0.99, diffusion: 0.3, blur, gain: 1 }, noise);
        const options = { keep: 0.99, diffusion: 0.3, blur, boundary };
        expect(
          furthest(await read(fusedEvolution(rt, x, { ...options, spontaneous: 0.01, noiseScale: 2, key })), f.values),
        ).toBeLessThan(1e-5);
        const before = ((await x.data()) as Float32Array).reduce((a, b) => a + Math.abs(b), 0);
        const sum = (v: Float32Array): number => v.reduce((a, b) => a + b, 0);
        const kept = await read(fusedEvolution(rt, x, { ...options, keep: 1 }));
        expect(Math.abs(sum(kept) - sum((await x.data()) as Float32Array)) / before).toBeLessThan(1e-6);
      }
    }
  });

  it('the gradient of a constant is 0 and of a unit ramp 1, at the walls too', async () => {
    const rt = await runtimeOf(kind);
    const edges = [4, 5, 6] as const;
    using constant = rt.full([...edges, 2], 7);
    for (const boundary of ['periodic', 'reflecting'] as const) {
      const { magnitude, components } = extractGradient(rt, constant, { boundary });
      expect((await read(magnitude)).every((v) => v === 0)).toBe(true);
      for (const c of components) c.dispose();
    }
    for (const axis of [0, 1, 2]) {
      using ramp = rt.iota([...edges, 2], axis, { dtype: 'f32' });
      const { magnitude, components } = extractGradient(rt, ramp, { boundary: 'reflecting' });
      expect(furthest(await read(magnitude), new Array(120).fill(1))).toBeLessThan(1e-6);
      for (const [a, c] of components.entries())
        expect(furthest(await read(c), new Array(120).fill(a === axis ? 1 : 0))).toBeLessThan(1e-6);
    }
    using x = rt.random.normal([...edges, 3], { seed: 5 });
    const values = (await x.data()) as Float32Array;
    for (const boundary of ['periodic', 'reflecting'] as const) {
      const f = plain([...edges], 3, boundary, values);
      const { magnitude, components } = extractGradient(rt, x, { boundary, content: 2 });
      const got = await read(magnitude);
      for (const c of components) c.dispose();
      for (const [i, cell] of (
        [
          [0, 0, 0],
          [3, 4, 5],
          [1, 2, 3],
          [0, 4, 2],
        ] as const
      ).entries()) {
        const size = [0, 1].map((ch) =>
          Math.hypot(...sobel(f, (a, b, c) => values[((a * 5 + b) * 6 + c) * 3 + ch]!, cell)),
        );
        expect(got[(cell[0] * 5 + cell[1]) * 6 + cell[2]], `cell ${i} ${boundary}`).toBeCloseTo(
          (size[0]! + size[1]!) / 2,
          5,
        );
      }
    }
  });

  it('metrics are those of doubles', async () => {
    const rt = await runtimeOf(kind);
    using x = rt.random.normal([6, 6, 6, 8], { seed: 2 }).mul(0.05).add(0.01);
    const v = Float64Array.from((await x.data()) as Float32Array);
    const [n, sum] = [v.length, v.reduce((a, b) => a + b, 0)];
    const squares = v.reduce((a, b) => a + b * b, 0);
    const variance = squares / n - (sum / n) ** 2;
    const got = await fieldMetrics(rt, x);
    const close = (a: number, b: number): void =>
      expect(Math.abs(a - b) / Math.max(1e-3, Math.abs(b))).toBeLessThan(1e-5);
    close(got.mean, sum / n);
    close(got.std, Math.sqrt(variance));
    close(got.energy, Math.sqrt(squares));
    close(got.max, Math.max(...v));
    expect(got.sparsity).toBeCloseTo(v.filter((a) => Math.abs(a) < 0.01).length / n, 6);
    close(got.information, (v.reduce((a, b) => a + Math.abs(b), 0) / n) * (1 + variance));
  });

  it('a library gives back a stored pattern bit by bit, and blends several by their weights', async () => {
    const rt = await runtimeOf(kind);
    const device = rt.devices().find((d) => d.open)!.id;
    const library = new PatternLibrary({ runtime: rt, device, capacity: 2 });
    expect(library.find([1, 2])).toEqual({ empty: true, pattern: null, parts: [] });
    const make = (seed: number): Tensor => rt.random.normal([4, 4, 4, 3], { seed });
    using a = make(1);
    using b = make(2);
    using c = make(3);
    library.add(a, [1, 0]);
    library.add(b, [0, 1]);
    const best = library.find([0.1, 1], { k: 1 });
    expect(await read(best.pattern!)).toEqual(await b.data());
    const both = library.find([1, 1], { k: 2 });
    expect(both.parts.map((p) => p.share)).toEqual([0.5, 0.5]);
    const [x, y] = [(await a.data()) as Float32Array, (await b.data()) as Float32Array];
    expect(
      furthest(
        await read(both.pattern!),
        x.map((v, i) => (v + y[i]!) / 2),
      ),
    ).toBeLessThan(1e-6);
    // Ages count: the older of two equal ones weighs less. A full library gives up its oldest.
    library.advance(5);
    library.add(c, [1, 0]);
    expect(library.size).toBe(2);
    expect(await read(library.find([1, 0], { k: 1 }).pattern!)).toEqual(await c.data());
    const told = library.find([1, 0.01], { k: 1, fieldState: [0, 1] });
    expect(told.parts).toHaveLength(1);
    told.pattern!.dispose();
    expect(() => library.find([0, 0])).toThrow(FieldConfigError);
    expect(() => library.add(a, [])).toThrow(FieldConfigError);
    library.dispose();
  });
});

it('refuses what it cannot use', async () => {
  const rt: Runtime = await runtimeOf('cpu');
  using flat = rt.zeros([4, 4]);
  using field = rt.zeros([4, 4, 4, 2]);
  expect(() => fusedEvolution(rt, flat)).toThrow(ShapeError);
  expect(() => extractGradient(rt, flat)).toThrow(ShapeError);
  expect(() => fusedEvolution(rt, field, { keep: 2 })).toThrow(/keep is 2/);
  expect(() => fusedEvolution(rt, field, { spontaneous: 1 })).toThrow(/no key/);
  expect(() => extractGradient(rt, field, { content: 3 })).toThrow(/content is 3/);
});

describe.runIf(all)('at full sizes', () => {
  it.each([16, 32, 96])('diffusion at %i³ × 32 is that of plain numbers', async (n) => {
    const rt = await runtimeOf('cpu');
    using x = rt.random.normal([n, n, n, 32], { seed: 3 });
    const f = plain([n, n, n], 32, 'periodic', (await x.data()) as Float32Array);
    evolve(f, { keep: 0.999, diffusion: 0.05, blur: 'mean', gain: 1 }, null);
    expect(furthest(await read(fusedEvolution(rt, x)), f.values)).toBeLessThan(1e-5);
  });

  it.each([16, 32, 64])('motors at %i³ are those of plain numbers', async (n) => {
    const rt = await runtimeOf('cpu');
    await using field = await createField({
      runtime: rt,
      device: 'cpu',
      resolution: n,
      channels: 16,
      sensorDim: 4,
      settings: { gain: 200 },
    });
    const { motors } = await field.step([0.5, -0.5, 0.3, 0.2]);
    const { content } = field.options.shape.layout;
    const values = (await field.tensors.field!.data()) as Float32Array;
    const right = gradientMotors({ ...plain([n, n, n], 16, 'periodic', values), content }, 200);
    right.forEach((m, i) => {
      expect(Math.abs(motors[i]! - m)).toBeLessThan(1e-4);
    });
  });
});
