// Model `fused` against the same cycle in plain numbers, cell by cell, on every device.

import { afterAll, describe, expect, it } from 'vitest';
import { createField, type Field, type FieldOptions } from '../../src/field/index.ts';
import { streamKey } from '../../src/field/random.ts';
import { all } from '../support/extent.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { emptiest, evolve, gradientMotors, imprint, type PlainField, slabMotors } from './plain.ts';

afterAll(closeAll);

const channels = { content: 6, temporal: 3, decay: 1, diffusion: 0, coupling: 1, plasticity: 0 };

/** The field of a simulator as plain numbers. */
async function plainOf(field: Field): Promise<PlainField> {
  const { shape, boundary } = field.options;
  const values = Float64Array.from((await field.tensors.field!.data()) as Float32Array);
  const { content, temporal } = shape.layout;
  const total = values.length / shape.edges.reduce((a, b) => a * b);
  return {
    edges: shape.edges,
    channels: total,
    content,
    temporal,
    dynamics: total - content - temporal,
    sensorDim: shape.sensorDim,
    boundary,
    values,
  };
}

/** What the device draws in a cycle. */
async function noiseOf(field: Field): Promise<Float32Array> {
  const [a, b] = streamKey(field.seed, 'spontaneous');
  const { runtime: rt, cycle, tensors } = field;
  using key = rt.tensor(Uint32Array.from([a + cycle, b]), [1, 2]);
  using noise = rt.random.normal(tensors.field!.shape, { key });
  return (await noise.data()) as Float32Array;
}

const input = (t: number, n: number): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.sin(0.7 * t + i) * 0.5);

describe.each(kinds)('model fused on %s', (kind) => {
  for (const boundary of ['periodic', 'reflecting'] as const) {
    for (const [readout, blur] of [
      ['gradient', 'mean'],
      ['slab', 'separable'],
    ] as const) {
      // A software GPU takes seconds for each program: two of the four, unless all is asked for.
      const wanted = kind === 'cpu' || all || (boundary === 'periodic') === (readout === 'gradient');
      it.runIf(wanted)(`does what the plain numbers do: ${boundary}, ${readout}, ${blur}`, async () => {
        const options: FieldOptions = {
          runtime: await runtimeOf(kind),
          device: kind === 'cpu' ? 'cpu' : 'gpu',
          resolution: [5, 4, 6],
          channels,
          sensorDim: 4,
          motorDim: 5,
          boundary,
          seed: 11,
          settings: { readout, blur, spontaneous: 0.01, keep: 0.99 },
        };
        await using field = await createField(options);
        const plain = await plainOf(field);
        const settings = { keep: 0.99, diffusion: 0.05, blur, gain: 5 };
        for (let t = 0; t < 4; t++) {
          const noise = (await noiseOf(field)).map((v) => v * 0.01);
          const sensors = t === 2 ? new Float32Array(4) : input(t, 4);
          const reward = t === 1 ? -0.6 : 0;
          const { motors, state } = await field.step([...sensors, reward]);
          if (t !== 2) imprint(plain, emptiest(plain), sensors, reward);
          evolve(plain, settings, noise);
          const got = (await field.tensors.field!.data()) as Float32Array;
          const off = got.reduce((most, v, i) => Math.max(most, Math.abs(v - plain.values[i]!)), 0);
          expect(off).toBeLessThan(2e-6);
          const wanted = readout === 'gradient' ? [...gradientMotors(plain, 5), 0, 0] : [...slabMotors(plain, 5), 0];
          wanted.forEach((m, i) => {
            expect(motors[i]).toBeCloseTo(m, 5);
          });
          const content = plain.values.filter((_, i) => i % plain.channels < plain.content);
          expect(state.energy).toBeCloseTo(Math.hypot(...content), 4);
          expect(state.maxActivation).toBeCloseTo(Math.max(...content.map(Math.abs)), 5);
          expect(state.sparsity).toBeCloseTo(content.filter((v) => Math.abs(v) < 0.01).length / content.length, 6);
          expect(state.evolutionState).toBe(t === 2 ? 'resting' : 'imprinting');
        }
      });
    }
  }
});
