// What nobody does on purpose: the smallest and oddest fields, calls that overlap, devices that fail in the middle, files and clocks that lie.

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { uniform } from '../../examples/field/src/cart.ts';
import { createField, Field, FieldFileError, FieldInputError, type FieldOptions } from '../../src/field/index.ts';
import { type LoopClock, runLoop } from '../../src/field/loop.ts';
import { createRuntime, DisposedError, type FaultyDevice, ForgeError, withFaults } from '../../src/index.ts';
import { crc32 } from '../../src/io/crc32.ts';
import { all, everyNth } from '../support/extent.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';

afterAll(closeAll);

const input = (t: number, n = 4): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.sin(0.7 * t + i) * 0.5);
const small: FieldOptions = { resolution: 4, channels: 16, sensorDim: 4, motorDim: 3, seed: 2 };
const bytesOf = async (field: Field): Promise<Uint8Array> => (await field.snapshot()).tensors.field!.bytes;

describe('fields of odd sizes', () => {
  const cases: [string, FieldOptions][] = [
    ['one channel, one sensor, one motor', { channels: 1, sensorDim: 1, motorDim: 1 }],
    ['odd and unequal edges', { resolution: [5, 7, 9], channels: 3, sensorDim: 1, motorDim: 2 }],
    ['odd and unequal edges, reflecting', { resolution: [7, 4, 5], channels: 5, sensorDim: 1, boundary: 'reflecting' }],
    ['one long edge', { resolution: [4, 4, 67], channels: 2, sensorDim: 1 }],
    ['more motors than anything reads', { channels: 2, sensorDim: 1, motorDim: 40 }],
    ['as many sensors as content channels', { channels: 64, sensorDim: 32 }],
    ['the fewest channels of model full', { model: 'full', channels: 20, sensorDim: 3 }],
    ['odd edges of model full', { model: 'full', resolution: [5, 7, 9], channels: 21, sensorDim: 3 }],
    ['half precision, odd', { resolution: [5, 4, 7], channels: 3, sensorDim: 1, precision: 'f16' }],
  ];
  it.each(everyNth(cases, 3))('%s: cycles, a batch, training and a file give the same values', async (_, options) => {
    const rt = await runtimeOf('cpu');
    const make = (seed = 5): Promise<Field> =>
      createField({ runtime: rt, device: 'cpu', resolution: 4, seed, ...options });
    await using a = await make();
    await using b = await make();
    await using other = await make(6);
    const { sensorDim, motorDim } = a.options.shape;
    for (let t = 0; t < 6; t++) {
      const x = input(t, sensorDim);
      const one = await a.step(x);
      const [first] = await Field.stepBatch([b, other], [x, x]);
      expect(one.motors).toHaveLength(motorDim);
      expect(one.motors.every((m) => Math.abs(m) <= 1)).toBe(true);
      first!.motors.forEach((m, i) => {
        expect(m).toBeCloseTo(one.motors[i]!, 5);
      });
    }
    const records = Array.from({ length: 5 }, (_, t) => ({
      input: input(t, sensorDim),
      target: input(t + 1, sensorDim),
    }));
    expect((await a.train(records, { method: 'rls', what: 'prediction' })).samples).toBe(5);
    await using copy = await make();
    await copy.restore(await a.snapshot());
    expect((await copy.step(input(9, sensorDim))).motors).toEqual((await a.step(input(9, sensorDim))).motors);
  });
});

describe.each(kinds)('calls that overlap, on %s', (kind) => {
  const make = async (more: FieldOptions = {}): Promise<Field> =>
    createField({ runtime: await runtimeOf(kind), device: kind === 'cpu' ? 'cpu' : 'gpu', ...small, ...more });

  it('run one after the other, in the order in which they came', async () => {
    await using field = await make();
    await using same = await make();
    const all = await Promise.all([0, 1, 2].map((t) => field.step(input(t))));
    for (const [t, { motors, state }] of all.entries()) {
      expect(state.cycle).toBe(t + 1);
      expect(motors).toEqual((await same.step(input(t))).motors);
    }
    const [, snapshot, , slice] = await Promise.all([
      field.step(input(3)),
      field.snapshot(),
      field.step(input(4)),
      field.slice(0, 1, 2),
      field.configure({ keep: 0.9 }),
      field.predict(),
    ]);
    expect([field.cycle, slice.length]).toEqual([5, 16]);
    expect([4, 5]).toContain(snapshot.cycle);
  });

  it('a batch waits for the cycles of its fields; two batches of the same fields wait for each other', async () => {
    const fields = await Promise.all([1, 2].map((seed) => make({ seed })));
    const xs = [input(0), input(1)];
    await Promise.all([
      fields[1]!.step(input(7)),
      Field.stepBatch(fields, xs),
      Field.stepBatch(fields, xs),
      fields[0]!.step(input(8)),
    ]);
    expect(fields.map((f) => f.cycle)).toEqual([3, 3]);
    for (const f of fields) await f.dispose();
  });

  it('disposing waits for the cycle that runs, and refuses those that wait', async () => {
    const field = await make();
    await field.step(input(0));
    const running = field.step(input(1));
    const ended = field.dispose();
    const late = field.step(input(2));
    late.catch(() => {});
    expect((await running).state.cycle).toBe(2);
    await ended;
    await expect(late).rejects.toThrow(DisposedError);
    await field.dispose();
  });

  it('disposing ends a loop with an error that says so, and a training', async () => {
    const field = await make();
    let ticks = 0;
    const looping = field.loop({
      hz: 200,
      source: () => input(ticks),
      sink: () => {
        if (++ticks === 3) void field.dispose();
      },
    });
    await expect(looping).rejects.toThrow(DisposedError);
    const other = await make();
    const records = Array.from({ length: 40 }, (_, t) => ({ input: input(t), target: input(t + 1) }));
    const training = other.train(records, { method: 'ridge', what: 'prediction' });
    training.catch(() => {});
    await other.step(input(0));
    await other.dispose();
    await expect(training).rejects.toThrow(DisposedError);
  });
});

describe.each(kinds)('a training, on %s', (kind) => {
  it('gets the features of its own cycles, whoever else calls meanwhile', async () => {
    const make = async (): Promise<Field> =>
      createField({ runtime: await runtimeOf(kind), device: kind === 'cpu' ? 'cpu' : 'gpu', ...small });
    await using field = await make();
    await using same = await make();
    // A cycle is under way when the training begins: it is done first, and not lost.
    const [first] = await Promise.all([field.step(input(9)), field.featuresAfter(input(0), 'test')]);
    expect([first.state.cycle, field.cycle]).toEqual([1, 2]);
    await same.step(input(9));
    const features = await same.featuresAfter(input(0), 'test');
    expect(await bytesOf(same)).toEqual(await bytesOf(field));
    await field.reset();
    await field.step(input(9));
    const [got] = await Promise.all([
      field.featuresAfter(input(0), 'test'),
      field.step(input(5)),
      field.step(input(6)),
    ]);
    expect(got).toEqual(features);
  });

  it('and a batch see what a call before them changed', async () => {
    const make = async (seed: number): Promise<Field> =>
      createField({ runtime: await runtimeOf(kind), device: kind === 'cpu' ? 'cpu' : 'gpu', ...small, seed });
    await using a = await make(1);
    await using b = await make(2);
    const stepping = a.step(input(0));
    const configured = a.configure({ spontaneous: 0 });
    const batch = Field.stepBatch([a, b], [input(1), input(1)]);
    await Promise.all([stepping, configured]);
    await expect(batch).rejects.toThrow('stepBatch: field 1 differs from field 0');
    expect([a.cycle, b.cycle]).toEqual([1, 0]);
  });
});

describe('training', () => {
  it('takes plain arrays, few records, and any rate of forgetting', async () => {
    await using field = await createField({
      runtime: await runtimeOf('cpu'),
      device: 'cpu',
      ...small,
      settings: { readout: 'trained' },
    });
    const record = (t: number) => ({ input: [...input(t)], target: [0.5, -0.5, 0.1] });
    for (const method of ['ridge', 'rls'] as const)
      expect((await field.train([record(0)], { method, what: 'motors' })).samples).toBe(1);
    // 0.5 to the power of 1,200 is no double any more.
    const many = Array.from({ length: 1200 }, (_, t) => record(t));
    const { mse } = await field.train(many, { method: 'rls', what: 'motors', forget: 0.5 });
    expect(mse).toBeLessThan(1e-3);
    const { motors } = await field.step(input(0));
    expect(motors[0]).toBeCloseTo(0.5, 1);
    await expect(field.train(many.slice(0, 3), { method: 'ridge', what: 'motors', lambda: 1e-300 })).rejects.toThrow(
      /no finite weights with lambda 1e-300[\s\S]*larger lambda/,
    );
    // What was learned before stays.
    expect((await field.step(input(0))).motors[0]).toBeCloseTo(0.5, 1);
  });

  it('looks at all of its records before the first cycle', async () => {
    await using field = await createField({ runtime: await runtimeOf('cpu'), device: 'cpu', ...small });
    const good = { input: input(0), target: input(1) };
    for (const bad of [new Float32Array(3), input(0).fill(Number.NaN), input(0).fill(11)])
      await expect(
        field.train([good, good, { input: bad, target: input(1) }], { method: 'ridge', what: 'prediction' }),
      ).rejects.toThrow(FieldInputError);
    await expect(
      field.train([good, { input: input(0), target: new Float32Array(9) }], { method: 'ridge', what: 'prediction' }),
    ).rejects.toThrow(/record 1/);
    expect(field.cycle).toBe(0);
  });
});

describe('a device that fails in the middle', () => {
  /** A field on a device that fails as it is told to. */
  async function faulty(rebirth: boolean) {
    let device!: FaultyDevice;
    const rt = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      wrap: (d) => (device = withFaults(d, rebirth ? { faults: [], rebirth: { faults: [] } } : { faults: [] })),
    });
    const make = (seed: number): Promise<Field> => createField({ runtime: rt, device: 'cpu', ...small, seed });
    return {
      rt,
      make,
      lose: () => device.lose('pulled out'),
      plan: (p: Parameters<FaultyDevice['plan']>[0]) => device.plan(p),
    };
  }

  const records = Array.from({ length: 6 }, (_, t) => ({ input: input(t), target: input(t + 1) }));
  const works: Readonly<Record<string, (field: Field, other: Field, folder: string) => Promise<unknown>>> = {
    step: (field) => field.step(input(5)),
    stepBatch: (field, other) => Field.stepBatch([field, other], [input(5), input(6)]),
    train: (field) => field.train(records, { method: 'ridge', what: 'prediction' }),
    loop: (field) => field.loop({ hz: 1000, ticks: 3, source: () => input(5), sink: () => {} }),
    save: (field, _, folder) => field.save(join(folder, 'a.gfield')),
    slice: (field) => field.slice(0, 0, 0),
    reset: (field) => field.reset(9),
  };

  it.each(Object.keys(works))(
    'lost for good during %s: an error of the library, no file, and nothing hangs',
    async (name) => {
      const folder = await mkdtemp(join(tmpdir(), 'field-lost-'));
      const { rt, make, lose } = await faulty(false);
      try {
        const [field, other] = [await make(1), await make(2)];
        for (let t = 0; t < 4; t++) for (const f of [field, other]) await f.step(input(t));
        lose();
        await expect(works[name]!(field, other, folder)).rejects.toThrow(ForgeError);
        expect(field.cycle).toBe(4);
        await expect(field.step(input(0))).rejects.toThrow(ForgeError);
        expect(await readdir(folder)).toEqual([]);
        await field.dispose();
        await other.dispose();
      } finally {
        await rt.close();
        await rm(folder, { recursive: true });
      }
    },
  );

  it.each(everyNth(['step', 'loop', 'stepBatch', 'train', 'save'], 2))(
    'any call of it failing once during %s: the same values as without, or an error and the state of before',
    async (name) => {
      const folder = await mkdtemp(join(tmpdir(), 'field-fault-'));
      /** What a run comes to, with some fault from the moment the work begins. */
      const run = async (fault: { nth: number; as: 'transient' | 'kernel' | 'out-of-memory' } | null) => {
        const { rt, make, plan } = await faulty(false);
        try {
          const [field, other] = [await make(1), await make(2)];
          for (let t = 0; t < 4; t++) for (const f of [field, other]) await f.step(input(t));
          const before = await bytesOf(field);
          // Counted from here on.
          if (fault) plan({ faults: [{ at: 'any', ...fault, nth: fault.nth }] });
          const error = await works[name]!(field, other, folder).then(
            () => null,
            (e: unknown) => e,
          );
          plan({ faults: [] });
          const cycle = field.cycle;
          const after = await bytesOf(field);
          await field.step(input(9));
          const result = { error, cycle, after, before, next: await bytesOf(field) };
          await field.dispose();
          await other.dispose();
          return result;
        } finally {
          await rt.close();
        }
      };
      const right = await run(null);
      expect(right.error).toBeNull();
      const calls = all ? [1, 2, 3, 5, 8, 13] : [1, 3];
      for (const as of all ? (['transient', 'kernel', 'out-of-memory'] as const) : (['transient', 'kernel'] as const))
        for (const nth of calls) {
          const got = await run({ nth, as });
          const what = `${as} at call ${nth} of ${name}`;
          if (got.error === null) expect([got.cycle, got.next], what).toEqual([right.cycle, right.next]);
          else {
            expect(got.error, what).toBeInstanceOf(ForgeError);
            // Of several cycles, those before the failure have counted.
            if (got.cycle === 4) expect(got.after, what).toEqual(got.before);
            else expect(got.cycle, what).toBeLessThanOrEqual(right.cycle);
          }
        }
      await rm(folder, { recursive: true });
    },
  );
});

describe('a damaged file', () => {
  it('is refused as a file, wherever the damage is, or read as it was', { timeout: 120_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'field-damage-'));
    const rt = await runtimeOf('cpu');
    try {
      await using field = await createField({ runtime: rt, device: 'cpu', ...small, model: 'full', channels: 24 });
      for (let t = 0; t < 12; t++) await field.step(input(t));
      const file = join(folder, 'a.gfield');
      await field.save(file);
      const right = new Uint8Array(await readFile(file));
      const headerEnd = 16 + new DataView(right.buffer).getUint32(8, true);
      const random = uniform(7);
      const pick = (n: number): number => Math.floor(random() * n);
      const broken = join(folder, 'b.gfield');
      const tried: Uint8Array[] = [];
      // A header with the right checksum for what it says now: what is wrong must be found all the same.
      const sealed = (made: Uint8Array): Uint8Array => {
        const view = new DataView(made.buffer);
        view.setUint32(12, crc32(made.subarray(16, 16 + view.getUint32(8, true))), true);
        return made;
      };
      // Bits anywhere, bytes of the header, pieces cut off: all of them are noticed.
      const damaged: Uint8Array[] = [];
      for (let i = 0; i < 40; i++) {
        const made = right.slice();
        made[pick(i % 2 === 0 ? made.length : headerEnd)]! ^= 1 << pick(8);
        damaged.push(made, right.slice(0, pick(right.length)));
      }
      // Bytes and words of the header replaced.
      for (let i = 0; i < (all ? 400 : 100); i++) {
        const made = right.slice();
        made[16 + pick(headerEnd - 16)] = 32 + pick(95);
        tried.push(sealed(made));
      }
      const text = new TextDecoder().decode(right.subarray(16, headerEnd));
      const swaps: [RegExp, string][] = [
        [/"carried":\{[^}]*\}/, '"carried":null'],
        [/"carried":\{[^}]*\}/, '"carried":{}'],
        [/"cycle":\d+/, '"cycle":"many"'],
        [/"statistics":\{[^}]*\}/, '"statistics":7'],
        [/"mind":\{/, '"mined":{'],
        [/"keep":[\d.]+/, '"keep":7'],
        [/"settings":\{[^}]*\}/, '"settings":null'],
        [/"edges":\[[^\]]*\]/, '"edges":[4,4]'],
        [/"edges":\[[^\]]*\]/, '"edges":[8,8,8]'],
        [/"dtype":"f32"/, '"dtype":"f99"'],
        [/"dtype":"f32"/, '"dtype":"f64"'],
        [/"name":"recent"/, '"name":"decent"'],
        [/"name":"mind.samples"/, '"name":"mind.simples"'],
        [/"shape":\[[^\]]*\],"offset"/, '"shape":[1,-1],"offset"'],
        [/"seed":\d+/, '"seed":-1'],
        [/"regions":\[/, '"regions":["x",'],
        [/"imprints":\[/, '"imprints":[7,'],
        [/"values":\{/, '"values":[],"valued":{'],
        [/"tensors":\[/, '"tensors":[null,'],
        [/"options":\{/, '"options":null,"option":{'],
      ];
      for (const [from, to] of swaps) {
        const changed = new TextEncoder().encode(text.replace(from, to));
        const length = 16 + changed.length;
        const start = Math.ceil(length / 64) * 64;
        const oldStart = Math.ceil(headerEnd / 64) * 64;
        const made = new Uint8Array(start + right.length - oldStart);
        made.set(right.subarray(0, 8));
        new DataView(made.buffer).setUint32(8, changed.length, true);
        made.set(changed, 16);
        made.set(right.subarray(oldStart), start);
        tried.push(sealed(made));
      }
      let refused = 0;
      await using victim = await createField({ runtime: rt, device: 'cpu', ...small, model: 'full', channels: 24 });
      await victim.step(input(0));
      const before = await bytesOf(victim);
      for (const bytes of tried) {
        await writeFile(broken, bytes);
        const loaded = await Field.load(broken, { runtime: rt, device: 'cpu' }).catch((e: unknown) => e as Error);
        if (loaded instanceof Field) {
          // Another name or digit, as somebody might write them: what they say must still be a field.
          expect((await loaded.step(input(0))).motors).toHaveLength(loaded.options.shape.motorDim);
          await loaded.dispose();
          continue;
        }
        refused++;
        expect(loaded, new TextDecoder().decode(bytes.subarray(0, 40))).toBeInstanceOf(FieldFileError);
      }
      expect(refused).toBeGreaterThan(80);
      for (const bytes of damaged) {
        await writeFile(broken, bytes);
        await expect(Field.load(broken, { runtime: rt, device: 'cpu' })).rejects.toThrow(FieldFileError);
      }
      expect(await bytesOf(victim)).toEqual(before);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('a loop', () => {
  class JumpingClock implements LoopClock {
    time = 0;
    now(): number {
      return this.time;
    }
    async until(time: number): Promise<void> {
      this.time = Math.max(this.time, time);
    }
  }
  const motors = Float32Array.of(1);
  const result = { motors, state: {} as never, exploration: null };

  it('whose clock jumps, forwards or back, counts and goes on', async () => {
    for (const jump of [3_600_000, -40, -3_600_000]) {
      const clock = new JumpingClock();
      let t = 0;
      const step = async () => {
        clock.time += ++t === 3 ? jump : 1;
        return result;
      };
      let sent = 0;
      const report = await runLoop(
        step,
        1,
        { hz: 100, ticks: 6, source: () => input(0), sink: () => void sent++ },
        clock,
      );
      expect([report.ticks, sent]).toEqual([6, 6]);
      expect(report.histogram.reduce((a, b) => a + b)).toBe(6);
      expect(Object.keys(report.histogram)).toHaveLength(32);
      expect(report.missed).toBe(jump > 0 ? jump / 10 : 0);
      for (const v of [...Object.values(report.latency), ...Object.values(report.jitter)])
        expect(v).toBeGreaterThanOrEqual(0);
    }
  });

  it('ends with what its source or its sink throws, and not at all where it was told to end before', async () => {
    await using field = await createField({ runtime: await runtimeOf('cpu'), device: 'cpu', ...small });
    const thrown = new Error('of a robot');
    const fails = (): never => {
      throw thrown;
    };
    await expect(field.loop({ hz: 100, source: fails, sink: () => {} })).rejects.toBe(thrown);
    await expect(field.loop({ hz: 100, source: () => input(0), sink: fails })).rejects.toBe(thrown);
    await expect(field.loop({ hz: 100, source: () => Promise.reject(thrown), sink: () => {} })).rejects.toBe(thrown);
    await expect(field.loop({ hz: 100, source: () => undefined as never, sink: () => {} })).rejects.toThrow(
      FieldInputError,
    );
    const end = new AbortController();
    end.abort();
    const report = await field.loop({ hz: 0.001, source: fails, sink: fails, signal: end.signal });
    expect(report).toMatchObject({ ticks: 0, missed: 0, ended: 'signal', latency: { p50: 0, max: 0 } });
  });

  it('may run beside another one of the same field: cycles take turns', async () => {
    await using field = await createField({ runtime: await runtimeOf('cpu'), device: 'cpu', ...small });
    const reports = await Promise.all(
      [100, 150].map((hz) => field.loop({ hz, ticks: 5, source: () => input(0), sink: () => {} })),
    );
    expect(reports.map((r) => r.ticks)).toEqual([5, 5]);
    expect(field.cycle).toBe(10);
  });
});
