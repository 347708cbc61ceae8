// What a field keeps to from cycle to cycle: the same bits from the same seed, nothing lost by saving, nothing changed by a failure.

import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  createField,
  Field,
  FieldConfigError,
  FieldFileError,
  FieldInputError,
  type FieldOptions,
  FieldStateError,
  type StepResult,
} from '../../src/field/index.ts';
import { within } from '../support/time.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'field-'));
});
afterAll(async () => {
  await closeAll();
  await rm(folder, { recursive: true });
});

const small: FieldOptions = { resolution: 5, channels: 24, sensorDim: 4, motorDim: 3, seed: 7 };
const input = (t: number, n = 4): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.sin(0.7 * t + i) * 0.5);

async function hashOf(field: Field): Promise<string> {
  const { tensors, values } = await field.snapshot();
  const hash = createHash('sha256').update(JSON.stringify(values));
  for (const name of Object.keys(tensors).sort()) hash.update(tensors[name]!.bytes);
  return hash.digest('hex');
}

describe.each(kinds)('a field on %s', (kind) => {
  const make = async (more: FieldOptions = {}): Promise<Field> =>
    createField({ runtime: await runtimeOf(kind), device: kind === 'cpu' ? 'cpu' : 'gpu', ...small, ...more });

  it('gives the same bits for the same seed, others for another', async () => {
    const run = async (seed: number): Promise<string> => {
      await using field = await make({ seed });
      for (let t = 0; t < 5; t++) await field.step(input(t));
      return hashOf(field);
    };
    const [a, b, c] = [await run(3), await run(3), await run(4)];
    expect(a).toBe(b);
    expect(c).not.toBe(a);
  });

  it('gives results that stay as they are, whenever they are looked at and whatever becomes of the input', async () => {
    const settled = ({ state, motors }: StepResult) => ({
      ...state,
      timestamp: 0,
      cycleTimeMs: 0,
      motors: [...motors],
    });
    await using field = await make();
    await using twin = await make();
    const heard: Float32Array[] = [];
    field.on('cycle', ({ sensors }) => heard.push(sensors));
    const given = new Float32Array(4);
    const [later, atOnce]: [StepResult[], object[]] = [[], []];
    for (let t = 0; t < 12; t++) {
      given.set(input(t));
      const [result] = t % 2 ? [await field.step(given)] : await Field.stepBatch([field], [given]);
      given.fill(9);
      later.push(result!);
      atOnce.push(settled(await twin.step(input(t))));
    }
    expect(later.map(settled)).toEqual(atOnce);
    expect(heard).toEqual(later.map((_, t) => input(t)));
    // What is remembered of the input too: it is saved with the field.
    expect(await hashOf(field)).toBe(await hashOf(twin));
  });

  it('goes on bit by bit after saving and loading', async () => {
    await using field = await make();
    for (let t = 0; t < 4; t++) await field.step([...input(t), t % 2]);
    const file = join(folder, `${kind}.gfield`);
    await field.save(file);
    await using loaded = await Field.load(file, {
      runtime: await runtimeOf(kind),
      device: kind === 'cpu' ? 'cpu' : 'gpu',
    });
    expect(await hashOf(loaded)).toBe(await hashOf(field));
    for (let t = 4; t < 12; t++) {
      const [a, b] = [await field.step(input(t)), await loaded.step(input(t))];
      expect(b.motors).toEqual(a.motors);
      expect({ ...b.state, timestamp: 0, cycleTimeMs: 0 }).toEqual({ ...a.state, timestamp: 0, cycleTimeMs: 0 });
    }
    expect(await hashOf(loaded)).toBe(await hashOf(field));
    // Two at once are two whole files, of which the later one stays.
    await Promise.all([field.save(file), field.save(file), field.save(file)]);
    await (await Field.load(file, { runtime: field.runtime })).dispose();
    expect(await readdir(folder).then((f) => f.filter((n) => n.endsWith('.tmp')))).toEqual([]);
  });

  it('is saved in the middle of a loop as it was between two cycles, and the loop goes on', async () => {
    await using field = await make();
    await using same = await make();
    const file = join(folder, `loop-${kind}.gfield`);
    let [asked, sent] = [0, 0];
    let saving: Promise<void> | null = null;
    const { ticks } = await field.loop({
      hz: 1000,
      ticks: 20,
      source: () => input(asked++),
      sink: () => {
        if (++sent === 5) saving = field.save(file);
      },
    });
    await saving;
    expect([ticks, field.cycle]).toEqual([20, 20]);
    await using loaded = await Field.load(file, { runtime: await runtimeOf(kind), device: field.device });
    expect(loaded.cycle).toBeGreaterThanOrEqual(5);
    for (let t = 0; t < loaded.cycle; t++) await same.step(input(t));
    expect(await hashOf(loaded)).toBe(await hashOf(same));
    for (let t = loaded.cycle; t < 20; t++) await loaded.step(input(t));
    expect(await hashOf(loaded)).toBe(await hashOf(field));
  });

  it('refuses bad inputs and stays as it is', async () => {
    await using field = await make();
    await field.step(input(0));
    const before = await hashOf(field);
    const bad = [
      [1, 2, 3],
      [1, 2, 3, 4, 5, 6],
      [0, 0, Number.NaN, 0],
      [0, Number.POSITIVE_INFINITY, 0, 0],
      [0, 0, 0, 10.5],
      [0, 0, 0, 0, -11],
      'abcd',
      null,
      [0, 0, '1', 0],
      [0, 0, 0n, 0],
      BigInt64Array.of(0n, 0n, 0n, 0n),
    ];
    for (const values of bad) {
      await expect(field.step(values as never)).rejects.toThrow(FieldInputError);
      await expect(Field.stepBatch([field], [values as never])).rejects.toThrow(FieldInputError);
    }
    expect(await hashOf(field)).toBe(before);
    expect(field.cycle).toBe(1);
    expect((await field.step(input(1))).motors).toHaveLength(3);
  });

  it('runs with others as it runs alone', async () => {
    const seeds = [1, 2, 3];
    const [together, alone] = [
      await Promise.all(seeds.map((seed) => make({ seed }))),
      await Promise.all(seeds.map((seed) => make({ seed }))),
    ];
    for (let t = 0; t < 4; t++) {
      // In the third cycle one of them runs by itself, and comes back.
      const some = t === 2 ? together.slice(1) : together;
      if (t === 2) await together[0]!.step(input(t));
      const got = await Field.stepBatch(
        some,
        some.map((f) => input(t + 10 * (f.seed - 1))),
      );
      const first = t === 2 ? 1 : 0;
      for (const [i, f] of alone.entries()) {
        const { motors, state } = await f.step(input(t === 2 && i === 0 ? t : t + 10 * (f.seed - 1)));
        if (i < first) continue;
        expect(got[i - first]!.motors).toEqual(motors);
        expect(got[i - first]!.state.energy).toBe(state.energy);
      }
    }
    for (const [i, f] of together.entries()) expect(await hashOf(f)).toBe(await hashOf(alone[i]!));
    await expect(Field.stepBatch([together[0]!, together[0]!], [input(0), input(0)])).rejects.toThrow(FieldConfigError);
    await using other = await make({ resolution: 6 });
    await expect(Field.stepBatch([together[0]!, other], [input(0), input(0)])).rejects.toThrow(/differs from field 0/);
    for (const f of [...together, ...alone]) await f.dispose();
  });

  it('moves one input up and one record down per cycle, and takes no new memory', async () => {
    const rt = await runtimeOf(kind);
    await using field = await make();
    for (let t = 0; t < 6; t++) await field.step(input(t));
    const seen = { upload: 0, download: 0 };
    const ends = [rt.on('upload', () => seen.upload++), rt.on('download', () => seen.download++)];
    const before = rt.memory.snapshot(field.device).reservedMb;
    for (let t = 0; t < 10; t++) expect((await field.step(input(t))).state.transfers).toEqual({ up: 1, down: 1 });
    for (const end of ends) end();
    expect(seen).toEqual({ upload: 10, download: 10 });
    expect(rt.memory.snapshot(field.device).reservedMb).toBe(before);
    expect(field.report()).toMatchObject({ cycles: 16, transfers: { up: 16, down: 16 } });
    if (kind === 'cpu') expect(field.kernels.length).toBeLessThanOrEqual(4);
  });

  it('throws where a value is no number any more, names the cell, and keeps the field', async () => {
    await using field = await make({ settings: { spontaneous: 0 } });
    await field.step(input(0));
    const saved = await field.snapshot();
    const bytes = saved.tensors.field!.bytes.slice();
    new Float32Array(bytes.buffer)[24 * 31 + 5] = Number.NaN;
    await field.restore({ ...saved, tensors: { ...saved.tensors, field: { ...saved.tensors.field!, bytes } } });
    const before = await hashOf(field);
    const error = await field.step(input(1)).then(
      () => null,
      (e: unknown) => e,
    );
    expect(error).toBeInstanceOf(FieldStateError);
    if (kind === 'cpu') expect((error as FieldStateError).cell).toHaveLength(4);
    expect((error as FieldStateError).cycle).toBe(2);
    expect(await hashOf(field)).toBe(before);
    await field.restore(saved);
    await field.step(input(1));
  });
});

describe('a field file', () => {
  it('is refused with the reason if anything in it is wrong', async () => {
    const rt = await runtimeOf('cpu');
    await using field = await createField({ runtime: rt, device: 'cpu', ...small });
    const file = join(folder, 'broken.gfield');
    await field.save(file);
    const right = new Uint8Array(await readFile(file));
    const cases: [RegExp, (bytes: Uint8Array) => Uint8Array][] = [
      [/no field file/, (b) => b.with(0, 0x48)],
      [/format is 1, this build reads 2/, (b) => b.with(7, 1)],
      [/checksum of tensor 'field'|checksum of tensor/, (b) => b.with(b.length - 3, b[b.length - 3]! ^ 1)],
      [/bytes follow/, (b) => Uint8Array.from([...b, 1])],
      [/beyond the end|does not lie/, (b) => b.slice(0, -1)],
      [/within its header/, (b) => b.slice(0, 100)],
      [/header claims/, (b) => b.with(11, 0x7f)],
      [/schema/, (b) => replaced(b, 'gpuforge.field/1', 'gpuforge.field/2')],
      [/checksum of its header/, (b) => replaced(b, '"keep":0.9', '"keep":0.5')],
      [/not zero/, (b) => b.with(16 + new DataView(b.buffer).getUint32(8, true), 1)],
      [/no JSON/, (b) => replaced(b, '{"schema"', '{schema""')],
    ];
    for (const [reason, change] of cases) {
      await writeFile(file, change(right));
      const error = await Field.load(file, { runtime: rt, device: 'cpu' }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(FieldFileError);
      expect((error as Error).message).toMatch(reason);
    }
    await expect(Field.load(join(folder, 'none'), { runtime: rt })).rejects.toThrow(FieldFileError);
    await expect(field.save(join(folder, 'no', 'where'))).rejects.toThrow(FieldFileError);
    await using other = await createField({ runtime: rt, device: 'cpu', ...small, resolution: 6 });
    await expect(other.restore(await field.snapshot())).rejects.toThrow(/another field: shape/);
  });

  it('has a name for everything a field keeps', async () => {
    await using field = await createField({ runtime: await runtimeOf('cpu'), device: 'cpu', ...small });
    const records = Array.from({ length: 12 }, (_, t) => ({ input: input(t), target: input(t + 1) }));
    await field.train(records, { method: 'ridge', what: 'prediction' });
    const { tensors, values } = await field.snapshot();
    expect(Object.keys(tensors).sort()).toEqual([
      'features',
      'field',
      'predicted',
      'recent',
      'tail',
      'trained.prediction',
    ]);
    expect(Object.keys(values).sort()).toEqual(['carried', 'features', 'library', 'mind', 'statistics']);
  });
});

function replaced(bytes: Uint8Array, from: string, to: string): Uint8Array {
  const at = Buffer.from(bytes).indexOf(from);
  const made = bytes.slice();
  made.set(Buffer.from(to), at);
  return made;
}

describe('saving by itself', () => {
  it('saves every so many cycles and at the end, keeps the last files, and tells of failures', async () => {
    const rt = await runtimeOf('cpu');
    const own = await mkdtemp(join(tmpdir(), 'gfield-auto-'));
    try {
      const field = await createField({ runtime: rt, device: 'cpu', ...small });
      field.autosave({ folder: own, every: 2, keep: 3 });
      for (let t = 0; t < 9; t++) {
        await field.step(input(t));
        // Saves go on beside cycles; waiting for each, none is left out.
        const name = `cycle-00000000${t + 1}.gfield`;
        if (t % 2 === 1) await vi.waitFor(async () => expect(await readdir(own)).toContain(name), within(2000));
        // What a save does after that, two or three operations on files, is done before ten of ours, however slow they are.
        for (let i = 0; i < 10; i++) await readdir(own);
      }
      const { motors } = await field.step(input(9));
      await field.dispose();
      const names = (await readdir(own)).sort();
      expect(names).toEqual(['cycle-000000006.gfield', 'cycle-000000008.gfield', 'cycle-000000010.gfield']);
      await using again = await Field.load(join(own, names[1]!), { runtime: rt, device: 'cpu' });
      await again.step(input(8));
      expect((await again.step(input(9))).motors).toEqual(motors);
      const errors: string[] = [];
      again.autosave({ folder: join(own, 'none'), every: 1, onError: (e) => errors.push(e.message) });
      await again.step(input(0));
      again.autosave(null);
      await vi.waitFor(() => expect(errors[0]).toMatch(/could not be written/), within(2000));
      expect(() => again.autosave({ folder: own, keep: 0 })).toThrow(/keep is 0/);
      // Another run in the same folder: its files are the newest, though they are of earlier cycles.
      const anew = await createField({ runtime: rt, device: 'cpu', ...small });
      anew.autosave({ folder: own, keep: 2 });
      await anew.step(input(0));
      await anew.dispose();
      expect((await readdir(own)).sort()).toEqual(['cycle-000000001.gfield', 'cycle-000000010.gfield']);
    } finally {
      await rm(own, { recursive: true });
    }
  });
});

describe('attention', () => {
  it('is measured where telemetry asks for it, and changes nothing else', async () => {
    const rt = await runtimeOf('cpu');
    for (const model of ['fused', 'full'] as const) {
      const options = { runtime: rt, device: 'cpu', model, resolution: [4, 5, 6] as const, channels: 24, sensorDim: 4 };
      await using looks = await createField({ ...options, telemetry: 'full' });
      await using plain = await createField(options);
      for (let t = 0; t < 5; t++) {
        const [a, b] = [await looks.step(input(t)), await plain.step(input(t))];
        expect(a.motors).toEqual(b.motors);
        expect(b.state.attention).toBeNull();
        const { cell, strength, centre } = a.state.attention!;
        const values = (await looks.tensors.field!.data()) as Float32Array;
        const { content } = looks.options.shape.layout;
        const sizes = Array.from({ length: 120 }, (_, i) =>
          values.subarray(i * 24, i * 24 + content).reduce((sum, v) => sum + Math.abs(v), 0),
        );
        const at = sizes.indexOf(Math.max(...sizes));
        expect(cell).toEqual([Math.floor(at / 30), Math.floor(at / 6) % 5, at % 6]);
        expect(strength).toBeCloseTo(sizes[at]! / content, 5);
        const total = sizes.reduce((sum, v) => sum + v, 0);
        expect(centre[2]).toBeCloseTo(sizes.reduce((sum, v, i) => sum + v * (i % 6), 0) / total, 4);
      }
      await looks.train([{ input: input(0), target: input(1) }], { method: 'ridge', what: 'prediction' });
      expect((await looks.step(input(9))).state.attention!.strength).toBeGreaterThan(0);
    }
  });
});
