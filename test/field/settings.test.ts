// Settings that change while a field runs: from the next cycle on, in the same program, all of them or none.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createField, Field, FieldConfigError, type FieldOptions, type FieldSettings } from '../../src/field/index.ts';
import { DisposedError } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';

afterAll(closeAll);

const input = (t: number): Float32Array => Float32Array.from([0, 1, 2, 3], (i) => Math.sin(0.7 * t + i) * 0.5);
const bits = async (field: Field): Promise<Uint8Array> => (await field.snapshot()).tensors.field!.bytes;

/** Changes that each model takes while it runs; every one must be seen in the field or in the motors. */
const changes: Readonly<Record<'fused' | 'full', readonly Partial<FieldSettings>[]>> = {
  fused: [
    { keep: 0.5 },
    { diffusion: 0.4 },
    { spontaneous: 0.05 },
    { noiseScale: 30 },
    { gain: 80 },
    { exploration: 1 },
  ],
  full: [
    { keep: 0.5 },
    { keepMultiplier: 0.5 },
    { diffusion: 0.4 },
    { spontaneous: 0.05 },
    { noiseScale: 30 },
    { gain: 80 },
    { restingLevel: 0.5 },
    { evolutionRate: 3 },
    { errorLearning: false },
    { exploration: 1 },
  ],
};

describe.each(kinds)('settings of a field on %s', (kind) => {
  const make = async (more: FieldOptions = {}): Promise<Field> =>
    createField({
      runtime: await runtimeOf(kind),
      device: kind === 'cpu' ? 'cpu' : 'gpu',
      resolution: 4,
      channels: more.model === 'full' ? 24 : 16,
      sensorDim: 4,
      motorDim: 3,
      seed: 3,
      ...more,
    });

  // The kernels of model full take a GPU in software seconds to compile; its settings reach them as those of fused do.
  it.each(kind === 'cpu' || all ? (['fused', 'full'] as const) : (['fused'] as const))(
    'of model %s hold from the next cycle on, as if it had been made with them',
    async (model) => {
      await using start = await make({ model });
      for (let t = 0; t < 3; t++) await start.step(input(t));
      const snapshot = await start.snapshot();
      await using same = await make({ model });
      await same.restore(snapshot);
      const plain = await same.step(input(3));
      const plainBits = await bits(same);
      // A GPU in software is slow: there, one of the device's own settings and one of the readout's.
      const taken = kind === 'cpu' ? changes[model] : changes[model].filter((c) => 'keep' in c || 'gain' in c);
      for (const change of taken) {
        await using changed = await make({ model });
        await changed.restore(snapshot);
        expect(await changed.configure(change)).toMatchObject(change);
        await using fresh = await make({ model, settings: change });
        await fresh.restore(snapshot);
        const [a, b] = [await changed.step(input(3)), await fresh.step(input(3))];
        const name = JSON.stringify(change);
        expect(a.motors, name).toEqual(b.motors);
        const own = await bits(changed);
        expect(own, name).toEqual(await bits(fresh));
        expect(own.every((v, i) => v === plainBits[i]) && a.motors.every((m, i) => m === plain.motors[i]), name).toBe(
          false,
        );
      }
    },
  );

  it('run in the same program: nothing is planned anew', async () => {
    await using field = await make();
    for (let t = 0; t < 4; t++) await field.step(input(t));
    const { kernels } = field;
    const planned: string[] = [];
    const end = field.runtime.on('compile', () => planned.push('compile'));
    for (let t = 0; t < 6; t++) {
      await field.configure({ keep: 0.9 + t / 100, diffusion: 0.1 + t / 20, gain: t, spontaneous: 0.01 * (t + 1) });
      await field.step(input(t));
    }
    end();
    expect(planned).toEqual([]);
    expect(field.kernels).toEqual(kernels);
  });

  it('begin and end noise and spreading, and go back', async () => {
    await using field = await make({ settings: { spontaneous: 0, diffusion: 0 } });
    await using other = await make({ settings: { spontaneous: 0, diffusion: 0 } });
    for (const f of [field, other]) await f.step(input(0));
    const before = await bits(field);
    await field.configure({ spontaneous: 0.1, diffusion: 0.5 });
    expect(await bits(field)).toEqual(before);
    await field.configure({ spontaneous: 0, diffusion: 0 });
    const [a, b] = [await field.step(input(1)), await other.step(input(1))];
    expect(a.motors).toEqual(b.motors);
    expect(await bits(field)).toEqual(await bits(other));
  });

  it('may differ between fields that run together', async () => {
    const keeps = [0.5, 0.9, 1];
    const [together, alone] = await Promise.all(
      [0, 1].map(() =>
        Promise.all(keeps.map((keep, seed) => make({ seed, settings: { keep, gain: 10 * (seed + 1) } }))),
      ),
    );
    const runs = async (): Promise<void> => {
      const inputs = keeps.map((_, i) => input(i));
      const batch = await Field.stepBatch(together!, inputs);
      for (const [i, f] of alone!.entries()) {
        const one = await f.step(inputs[i]!);
        batch[i]!.motors.forEach((m, k) => {
          expect(m).toBeCloseTo(one.motors[k]!, 5);
        });
        expect(batch[i]!.state.halfLifeCycles).toBe(one.state.halfLifeCycles);
      }
    };
    await runs();
    for (const f of [together![1]!, alone![1]!]) await f.configure({ keep: 0.2, diffusion: 0.3 });
    await runs();
    // One of them gets another program, and runs by itself from then on.
    await together![2]!.configure({ spontaneous: 0 });
    await expect(
      Field.stepBatch(
        together!,
        keeps.map((_, i) => input(i)),
      ),
    ).rejects.toThrow(/field 2 differs/);
    await together![2]!.step(input(0));
    for (const f of [...together!, ...alone!]) await f.dispose();
  });
});

describe('settings', () => {
  const make = async (more: FieldOptions = {}): Promise<Field> =>
    createField({
      runtime: await runtimeOf('cpu'),
      device: 'cpu',
      resolution: 4,
      channels: 16,
      sensorDim: 4,
      motorDim: 3,
      ...more,
    });

  it('that make no sense are refused, and nothing changes', async () => {
    await using field = await make();
    const before = { ...field.options.settings };
    const bad: [unknown, RegExp][] = [
      [{ keep: 1.5 }, /keep is 1.5/],
      [{ keep: Number.NaN }, /keep is NaN/],
      [{ keep: '0.5' }, /keep is 0.5/],
      [{ keep: undefined }, /keep is undefined/],
      [{ diffusion: 0.1, gain: Number.POSITIVE_INFINITY }, /gain is Infinity/],
      [{ decay: 1 }, /no setting 'decay'/],
      [JSON.parse('{"__proto__": 1}'), /no setting '__proto__'/],
      [{ placeNoise: 1 }, /no effect in model 'fused'/],
      [{ readout: 'slab' }, /readout is fixed/],
      [{ blur: 'separable' }, /blur is fixed/],
    ];
    for (const [change, reason] of bad) {
      const refused = field.configure(change as never);
      await expect(refused).rejects.toThrow(reason);
      await expect(refused).rejects.toThrow(FieldConfigError);
    }
    for (const none of [null, 7, 'keep', [0.5]])
      await expect(field.configure(none as never)).rejects.toThrow(/configure/);
    expect(field.options.settings).toEqual(before);
    // What is as it was already is no change.
    expect(await field.configure({ readout: 'gradient' })).toEqual(before);
  });

  it('change while a loop runs, are told with their cycle, and are saved', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'field-settings-'));
    try {
      await using field = await make();
      const told: [number, object][] = [];
      field.on('settings', ({ cycle, changed }) => told.push([cycle, changed]));
      const lives: number[] = [];
      field.on('cycle', ({ state }) => lives.push(state.halfLifeCycles));
      let ticks = 0;
      await field.loop({
        hz: 500,
        ticks: 6,
        source: async () => {
          if (++ticks === 4)
            await Promise.all([field.configure({ keep: 0.5 }), field.configure({ keep: 0.25, gain: 7 })]);
          return input(ticks);
        },
        sink: () => {},
      });
      expect(told).toEqual([
        [4, { keep: 0.5 }],
        [4, { keep: 0.25, gain: 7 }],
      ]);
      expect(lives.map((l) => l > 100)).toEqual([true, true, true, false, false, false]);
      expect(lives[3]).toBeCloseTo(0.5, 9);
      const file = join(folder, 'a.gfield');
      await field.save(file);
      await using loaded = await Field.load(file, { runtime: await runtimeOf('cpu'), device: 'cpu' });
      expect(loaded.options.settings).toEqual(field.options.settings);
      expect((await loaded.step(input(9))).motors).toEqual((await field.step(input(9))).motors);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('of a disposed field are refused; a snapshot keeps those of its time', async () => {
    const field = await make();
    const snapshot = await field.snapshot();
    await field.configure({ keep: 0.1 });
    expect(snapshot.options.settings.keep).toBe(0.999);
    await field.restore(snapshot);
    expect(field.options.settings.keep).toBe(0.1);
    await field.dispose();
    await expect(field.configure({ keep: 0.5 })).rejects.toThrow(DisposedError);
  });
});
