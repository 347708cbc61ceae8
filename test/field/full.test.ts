// Model `full` against the same cycle in plain numbers. What the host tells the device (`Thought`) is taken from the field; its formulas have tests
// of their own below.

import { afterAll, describe, expect, it } from 'vitest';
import { BlockGrid } from '../../src/field/full/block-grid.ts';
import { cosineOf } from '../../src/field/full/cosine.ts';
import type { FullThought } from '../../src/field/full/mind.ts';
import { modulate, startMood } from '../../src/field/full/modulation.ts';
import { Novelty } from '../../src/field/full/novelty.ts';
import { updateRegions } from '../../src/field/full/regions.ts';
import { tablesOf } from '../../src/field/full/tables.ts';
import { createField, Field, type FieldOptions } from '../../src/field/index.ts';
import { checkInput } from '../../src/field/input.ts';
import { rangeOf } from '../../src/field/layout.ts';
import { nextConfidence } from '../../src/field/predictor.ts';
import { HostRandom, streamKey } from '../../src/field/random.ts';
import { resolveSettings } from '../../src/field/settings.ts';
import { loadedArray } from '../../src/field/snapshot.ts';
import { contentMeans, startCarried } from '../../src/field/state.ts';
import { all } from '../support/extent.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';

afterAll(closeAll);

const options: FieldOptions = {
  model: 'full',
  resolution: [4, 6, 8],
  channels: 30,
  sensorDim: 3,
  motorDim: 4,
  seed: 5,
  settings: { spontaneous: 0.01, placeNoise: 0 },
};
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const input = (t: number): Float32Array => Float32Array.from({ length: 3 }, (_, i) => Math.sin(0.9 * t + 2 * i) * 0.6);

/** One cycle, cell by cell, as section 4 of the model's description has it. */
async function plainCycle(
  field: Field,
  sensors: Float32Array,
  thought: FullThought,
  noise: Float32Array,
): Promise<Float64Array> {
  const { edges, layout } = field.options.shape;
  const { settings, boundary } = field.options;
  const before = await field.snapshot();
  const x = Float64Array.from(loadedArray<Float32Array>(before.tensors.field!));
  const activity = loadedArray<Float32Array>(before.tensors.activity!);
  const C = 30;
  const cells = edges[0] * edges[1] * edges[2];
  const [dec] = rangeOf(layout, 'decay');
  const [dif] = rangeOf(layout, 'diffusion');
  const [cou] = rangeOf(layout, 'coupling');
  const [pla] = rangeOf(layout, 'plasticity');
  const [tem, temEnd] = rangeOf(layout, 'temporal');
  const K = layout.content;
  const v = thought.values;
  const at = (p: readonly number[]): number => (p[0]! * edges[1] + p[1]!) * edges[2] + p[2]!;
  const where = (i: number): number[] => [
    Math.floor(i / (edges[1] * edges[2])),
    Math.floor(i / edges[2]) % edges[1],
    i % edges[2],
  ];
  const beside = (i: number, d: readonly number[]): number =>
    at(
      where(i).map((q, a) =>
        boundary === 'periodic' ? (q + d[a]! + edges[a]!) % edges[a]! : Math.min(edges[a]! - 1, Math.max(0, q + d[a]!)),
      ),
    );
  const unit = (axis: number, side: number): number[] => [0, 1, 2].map((a) => (a === axis ? side : 0));
  const dyn = (i: number, c: number): number => x[i * C + c]!;

  // Place: the resonance's peak if it is above 0.3, unless the host knows better; else the emptiest cell.
  let [best, peak] = [0, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < cells; i++) {
    let [dot, a, b] = [0, 0, 0];
    for (let c = 0; c < K; c++) {
      const s = sensors[c % 3]!;
      dot += x[i * C + c]! * s;
      a += x[i * C + c]! ** 2;
      b += s * s;
    }
    const cosine = dot / Math.max(1e-12, Math.sqrt(a * b));
    if (cosine > peak) [best, peak] = [i, cosine];
  }
  let [empty, least] = [0, Number.POSITIVE_INFINITY];
  for (let i = 0; i < cells; i++) {
    let sum = 0;
    for (let d = 0; d < 27; d++) {
      const o = beside(i, [Math.floor(d / 9) - 1, (Math.floor(d / 3) % 3) - 1, (d % 3) - 1]);
      for (let c = 0; c < C; c++) sum += Math.abs(x[o * C + c]!);
    }
    if (sum < least - 1e-4) [empty, least] = [i, sum];
  }
  const place = v.remembered
    ? [v.remembered0, v.remembered1, v.remembered2]
    : peak > 0.3
      ? where(best)
      : v.similar
        ? [v.similar0, v.similar1, v.similar2]
        : where(empty);

  const waves = new HostRandom(field.seed, 'waves');
  const vectors = Array.from({ length: 4 }, () => {
    const w = [waves.normal(), waves.normal(), waves.normal()];
    const n = Math.hypot(...w);
    return w.map((q) => q / n);
  });
  const active = new Float64Array(cells * K);
  for (let i = 0; i < cells; i++) {
    const p = where(i);
    const off = p.map((q, a) =>
      boundary === 'periodic'
        ? Math.min(Math.abs(q - place[a]!), edges[a]! - Math.abs(q - place[a]!))
        : Math.abs(q - place[a]!),
    );
    const cube = off.every((o) => o <= 2) ? 0.8 ** (off[0]! + off[1]! + off[2]!) : 0;
    const wave =
      0.2 *
      vectors.reduce((s, w) => s + 0.005 * Math.sin(v.phase + (w[0]! * p[0]! + w[1]! * p[1]! + w[2]! * p[2]!) / 3), 0);
    for (let c = 0; c < K; c++) {
      const imprinted = x[i * C + c]! + v.intensity * cube * sensors[c % 3]!;
      const keep = sigmoid(dyn(i, dec + (c % 4))) * v.keep;
      const rest = settings.restingLevel;
      active[i * K + c] =
        rest + (imprinted - rest) * keep + v.drive * (settings.spontaneous * noise[i * K + c]! + wave);
    }
  }
  const diffused = active.slice();
  for (let i = 0; i < cells; i++)
    for (let axis = 0; axis < 3; axis++)
      for (const side of [-1, 1]) {
        const o = beside(i, unit(axis, side));
        const face = Math.max(0, 0.1 * ((Math.tanh(dyn(i, dif + axis)) + Math.tanh(dyn(o, dif + axis))) / 2));
        for (let c = 0; c < K; c++) diffused[i * K + c]! += face * (active[o * K + c]! - active[i * K + c]!);
      }
  const limited = new Float64Array(cells * K);
  for (let i = 0; i < cells; i++)
    for (let c = 0; c < K; c++) {
      let sum = 0;
      for (let d = 0; d < 27; d++) {
        if (d === 13) continue;
        const o = beside(i, [Math.floor(d / 9) - 1, (Math.floor(d / 3) % 3) - 1, (d % 3) - 1]);
        sum += 0.1 * Math.tanh(diffused[o * K + c]! * sigmoid(dyn(o, pla)));
      }
      const coupling =
        ((dyn(i, cou) + dyn(i, cou + 1) + dyn(i, cou + 2) + dyn(i, cou + 3)) / 4) * sigmoid(dyn(i, pla + 1));
      limited[i * K + c] = 2 * Math.tanh((diffused[i * K + c]! + coupling * sum) / 2);
    }
  const next = x.slice();
  const tables = tablesOf(field.options.shape);
  const regions = (before.values.mind as { regions: { block: number; strength: number }[] }).regions;
  const patterns = loadedArray<Float32Array>(before.tensors['mind.regions']!);
  for (let i = 0; i < cells; i++) {
    const p = where(i);
    const sizes = tables.blocks.map((g, a) => edges[a]! / g);
    const block = tables.blocks.reduce((n, g, a) => n * g + Math.floor(p[a]! / sizes[a]!), 0);
    const near = p.every((q, a) => Math.abs((q % sizes[a]!) - (sizes[a]! - 1) / 2) <= 2);
    const region = near ? regions.findIndex((r) => r.block === block) : -1;
    for (let c = 0; c < K; c++) {
      let value = limited[i * K + c]!;
      for (let axis = 0; axis < 3; axis++)
        value +=
          (settings.diffusion *
            (limited[beside(i, unit(axis, -1)) * K + c]! +
              limited[beside(i, unit(axis, 1)) * K + c]! -
              2 * limited[i * K + c]!)) /
          2;
      if (region >= 0) value += 0.01 * regions[region]!.strength * (patterns[region * K + c]! - value);
      next[i * C + c] = value;
    }
    const fade = ([0, 1, 2, 3].reduce((s, k) => s + sigmoid(dyn(i, dec + k)), 0) / 4) * v.keep;
    for (let c = tem; c < temEnd; c++)
      next[i * C + c] = fade * (c === tem ? dyn(i, c) : 0.85 * dyn(i, c) + 0.15 * dyn(i, c - 1));
    for (let c = dec; c < C; c++) {
      const group = Math.floor((c - dec) / 4);
      const aim = [v.aim0, v.aim1, v.aim2, v.aim3][group]! + (activity[i]! > v.activityMean ? v.aimOfError : 0);
      next[i * C + c] = Math.min(5, Math.max(-5, (group === 0 ? 1 : 0.95) * dyn(i, c) + 0.05 * aim));
    }
  }
  return next;
}

describe.each(kinds)('model full on %s', (kind) => {
  for (const boundary of kind === 'cpu' || all ? (['periodic', 'reflecting'] as const) : (['periodic'] as const))
    it(`does what the plain numbers do: ${boundary}`, async () => {
      const rt = await runtimeOf(kind);
      await using field = await createField({
        ...options,
        boundary,
        runtime: rt,
        device: kind === 'cpu' ? 'cpu' : 'gpu',
      });
      const [a, b] = streamKey(field.seed, 'spontaneous');
      const content = field.options.shape.layout.content;
      // Regions are there from the sixth cycle on.
      for (let t = 0; t < (kind === 'cpu' ? 8 : 2); t++) {
        using key = rt.tensor(Uint32Array.from([a + t, b]), [1, 2]);
        using drawn = rt.random.normal([4, 6, 8, content], { key });
        const noise = (await drawn.data()) as Float32Array;
        const checked = checkInput(input(t), field.options.shape, 'test');
        const expected = await plainCycle(field, checked.sensors, field.thoughtOf(input(t)) as FullThought, noise);
        await field.step(input(t));
        const got = (await field.tensors.field!.data()) as Float32Array;
        const off = got.reduce((most, g, i) => Math.max(most, Math.abs(g - expected[i]!)), 0);
        expect(off, `cycle ${t}`).toBeLessThan(1e-5);
      }
    });
});

describe('model full', () => {
  it('holds its activity, whatever the input says', async () => {
    await using field = await createField({
      runtime: await runtimeOf('cpu'),
      device: 'cpu',
      model: 'full',
      resolution: 4,
      channels: 30,
      sensorDim: 4,
    });
    const cycles = all ? 10_000 : 600;
    for (let t = 0; t < cycles; t++) {
      await field.step(new Float32Array(4).fill(0.3));
      const { absolute } = contentMeans(field.statistics!, field.options.shape);
      if (!(absolute >= 0.05 && absolute <= 0.6)) expect(absolute, `cycle ${t}`).toBeGreaterThanOrEqual(0.05);
      if (!(absolute <= 0.6)) expect(absolute, `cycle ${t}`).toBeLessThanOrEqual(0.6);
    }
    expect(field.kernels.length).toBeLessThanOrEqual(16);
  });

  it('saves all of its memories, and goes on bit by bit', async () => {
    const rt = await runtimeOf('cpu');
    const make = () => createField({ ...options, runtime: rt, device: 'cpu', settings: { prediction: 'legacy' } });
    await using one = await make();
    await using two = await make();
    // A reward makes an attractor; ten cycles make regions, novelty samples and remembered imprints.
    for (let t = 0; t < 12; t++) await one.step([...input(t), t === 4 ? 1 : 0]);
    const saved = await one.snapshot();
    expect(Object.keys(saved.tensors).sort()).toEqual([
      'activity',
      'attractors',
      'field',
      'mind.activity',
      'mind.content',
      'mind.imprints',
      'mind.regions',
      'mind.samples',
      'positions',
      'predicted',
      'recent',
      'tail',
    ]);
    expect(Object.keys(saved.values.mind as object).sort()).toEqual([
      'attractors',
      'imprints',
      'mood',
      'regions',
      'samples',
      'sparsity',
    ]);
    await two.restore(saved);
    for (let t = 12; t < 18; t++) {
      const [a, b] = [await one.step(input(t)), await two.step(input(t))];
      expect(b.motors).toEqual(a.motors);
      expect(b.state.regions).toBe(a.state.regions);
      expect(b.state.predictionConfidence).toBe(a.state.predictionConfidence);
    }
    expect((await two.snapshot()).tensors.field!.bytes).toEqual((await one.snapshot()).tensors.field!.bytes);
  });

  it('blends in the pattern that fits the last sensor values, and keeps its library when saved', async () => {
    const rt = await runtimeOf('cpu');
    const make = (): Promise<Field> =>
      createField({ ...options, runtime: rt, device: 'cpu', settings: { spontaneous: 0 } });
    await using plain = await make();
    await using led = await make();
    const { layout } = led.options.shape;
    const shape = [4, 6, 8, layout.temporal];
    expect(led.patterns.size).toBe(0);
    expect(() => led.patterns.add(rt.ones([2, 2]), [1])).toThrow(/a pattern of \[2,2\]/);
    const context = (x: number): number[] => [x, x, x];
    led.patterns.add(rt.full(shape, 1), context(0.5));
    led.patterns.add(rt.full(shape, -1), [...context(0.5).slice(0, 2), -0.9]);
    // In the first cycle there is nothing to choose a pattern by.
    const first = [await plain.step(context(0.5)), await led.step(context(0.5))];
    expect(first[1]!.motors).toEqual(first[0]!.motors);
    const temporal = async (f: Field): Promise<number> => {
      const t = (await f.tensors.field!.data()) as Float32Array;
      const [from, end] = rangeOf(layout, 'temporal');
      const own = t.filter((_, i) => i % 30 >= from && i % 30 < end);
      return own.reduce((a, b) => a + b, 0) / own.length;
    };
    const before = await temporal(led);
    await led.step(context(0.5));
    await plain.step(context(0.5));
    // 0.7 of what is there and 0.3 of the pattern of ones.
    const unled = await temporal(plain);
    expect(await temporal(led)).toBeCloseTo(0.7 * unled + 0.3, 4);
    expect(before).not.toBeCloseTo(0.7 * unled + 0.3, 2);
    // Other sensor values, the other pattern.
    for (let t = 0; t < 8; t++) await led.step([0.5, 0.5, -0.9]);
    expect(await temporal(led)).toBeLessThan(-0.5);
    await using two = await make();
    const saved = await led.snapshot();
    await two.restore(saved);
    expect(two.patterns.size).toBe(2);
    for (let t = 0; t < 12; t++) {
      const [a, b] = [await led.step(context(0.5)), await two.step(context(0.5))];
      expect(b.motors).toEqual(a.motors);
    }
    expect((await two.snapshot()).tensors.field!.bytes).toEqual((await led.snapshot()).tensors.field!.bytes);
    await expect(Field.stepBatch([led, plain], [context(0.5), context(0.5)])).rejects.toThrow(/strategic patterns/);
    await using fused = await createField({ runtime: rt, device: 'cpu', resolution: 4, channels: 16, sensorDim: 3 });
    expect(() => fused.patterns).toThrow(/model 'fused'/);
  });

  it('keeps attractors within their bytes, and counts them in its memory', async () => {
    const rt = await runtimeOf('cpu');
    await using like = await createField({ ...options, runtime: rt, device: 'cpu' });
    const { layout, edges } = like.options.shape;
    const one = 4 * layout.content * edges[0] * edges[1] * edges[2];
    for (const room of [0, 2]) {
      const settings = { attractorBytes: room * one + one / 2 };
      await using field = await createField({ ...options, runtime: rt, device: 'cpu', settings });
      const before = field.report().memory.state;
      for (let t = 0; t < 6; t++) await field.step([...input(t), 1]);
      expect(field.report().memory.state - before).toBe(room * one);
    }
  });

  it('is drawn to what was rewarded and away from what was punished', async () => {
    const rt = await runtimeOf('cpu');
    const distances: number[] = [];
    for (const reward of [1, -1]) {
      await using field = await createField({ ...options, runtime: rt, device: 'cpu', settings: { spontaneous: 0 } });
      await field.step([...input(0), 0]);
      const target = (await field.snapshot()).tensors.field!.bytes;
      await field.step([...input(1), reward]);
      for (let t = 2; t < 5; t++) await field.step([0, 0, 0]);
      const [a, b] = [new Float32Array(target.slice().buffer), (await field.tensors.field!.data()) as Float32Array];
      distances.push(Math.hypot(...Array.from(b, (v, i) => (i % 30 < 10 ? v - a[i]! : 0))));
    }
    expect(distances[0]).toBeLessThan(distances[1]!);
  });
});

describe('the host’s formulas', () => {
  it('confidence has its known value', () => {
    expect(nextConfidence(0.5, 0.1, 2, 0)).toBeCloseTo(0.5357, 4);
  });

  it('modulation follows information, calm and error', () => {
    const settings = resolveSettings({}, 'full', 'test', {});
    const means = { mean: 0, absolute: 0.3, variance: 0.04, sparsity: 0.2, information: 0.312 };
    const m = modulate({
      mood: startMood(),
      carried: { ...startCarried(), information: 0.75 },
      means,
      sparsity: 0.5,
      idle: 0,
      reward: -1,
      settings,
    });
    expect(m.drive).toBeCloseTo((0.5 + 1) / 2, 12);
    expect(m.exploration).toBeCloseTo(0.5 * 1 + 0.3, 12);
    expect(m.keep).toBeCloseTo((0.999 - 0.005) * 0.999, 12);
    expect(m.intensity).toBeCloseTo(1 * (0.1 + 0.7 * 0.25) * 1 * 1, 12);
    expect(m.aims[0]).toBeCloseTo(-20 * 0.01 * 0.1, 12);
    expect(m.aims.slice(1)).toEqual([0.01 * 0.04, 0.5 * 0.01 * 0.5, 0.5 * 0.01 * (0.3 * m.exploration - 0.5)]);
    const idle = modulate({
      mood: { ...startMood(), errors: [0.2] },
      carried: startCarried(),
      means,
      sparsity: 0.5,
      idle: 101,
      reward: 0,
      settings,
    });
    expect(idle.drive).toBe(0.95);
    expect(idle.calm).toBeCloseTo(0.9 + 0.1 / 2, 12);
  });

  it('regions are found at peaks, merged with their like, and forgotten', async () => {
    const grid = new BlockGrid([8, 8, 8], true);
    const activity = new Float32Array(512).fill(0.1);
    const content = new Float32Array(1024).fill(0.1);
    activity[100] = 2;
    content.set([1, 0], 200);
    let regions = updateRegions([], activity, content, 5, grid, 2);
    expect(regions).toMatchObject([{ block: 100, strength: 2, lastSeen: 5 }]);
    activity[100] = 0.1;
    activity[101] = 3;
    content.set([0.9, 0.05], 202);
    regions = updateRegions(regions, activity, content, 10, grid, 2);
    expect(regions).toHaveLength(1);
    expect(regions[0]!.strength).toBeCloseTo(0.9 * 2 + 0.1 * 3, 6);
    content.set([0, 1], 202);
    regions = updateRegions(regions, activity, content, 15, grid, 2);
    expect(regions.map((r) => r.block)).toEqual([100, 101]);
    expect(updateRegions(regions, new Float32Array(512), content, 600, grid, 2)).toEqual([]);
  });

  it.each([
    [[4, 3, 5], true],
    [[4, 3, 5], false],
    [[1, 2, 8], true],
    [[2, 1, 1], false],
  ] as const)('blocks of %j lie to each other as their coordinates say, periodic: %s', (blocks, periodic) => {
    const grid = new BlockGrid(blocks, periodic);
    const all = Array.from({ length: grid.count }, (_, i) => i);
    const at = (i: number): number[] => [
      Math.floor(i / (blocks[1] * blocks[2])),
      Math.floor(i / blocks[2]) % blocks[1],
      i % blocks[2],
    ];
    const far = (a: number, b: number): number =>
      Math.max(
        ...at(a).map((x, axis) => {
          const d = Math.abs(x - at(b)[axis]!);
          return periodic ? Math.min(d, blocks[axis]! - d) : d;
        }),
      );
    // Few different values, so that neighbours are equal now and then.
    const values = Float32Array.from(all, (i) => (i * 7) % 5);
    for (const a of all) {
      for (const b of all) expect(grid.distance(a, b)).toBe(far(a, b));
      const beside = all.filter((b) => b !== a && far(a, b) === 1);
      const peak = beside.every((b) => values[b]! < values[a]! || (values[b] === values[a] && b > a));
      expect(grid.isPeak(a, values), `block ${a}`).toBe(peak);
    }
  });

  it('novelty is how unlike the field is to what it looked like, and old looks fade', () => {
    const novelty = new Novelty();
    const looks = [1, 2, 3].map((k) => Float32Array.from({ length: 512 }, (_, i) => Math.sin(k * i)));
    expect(novelty.look(looks[0]!, 10)).toBe(1);
    const expected = 1 - Math.max(0, cosineOf(looks[0]!, looks[1]!) * Math.exp(-10 / 500));
    expect(novelty.look(looks[1]!, 20)).toBeCloseTo(expected, 12);
    expect(novelty.look(looks[0]!.slice(), 510)).toBeCloseTo(1 - Math.exp(-1), 6);
    expect(novelty.look(new Float32Array(512), 520)).toBe(1);
    const again = new Novelty();
    const { cycles, values } = novelty.save();
    again.restore(cycles, values);
    expect(again.count).toBe(4);
    expect(again.look(looks[2]!, 530)).toBe(novelty.look(looks[2]!.slice(), 530));
  });
});
