// Functions of the caller that are async and fail: the compiler takes them where nothing is to be returned. The call ends with what
// they fail with, or whoever listens is told; a promise that nobody waits for would end the process.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchElementwise, createBatch } from '../../src/batch/index.ts';
import { DeviceManager, GPUCompute } from '../../src/compute/index.ts';
import { createField } from '../../src/field/index.ts';
import { createRuntime, type Runtime, type Tensor, turn } from '../../src/index.ts';

let rt: Runtime;
let x: Tensor;
const unheard: unknown[] = [];
const note = (error: unknown): void => void unheard.push(error);
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  x = rt.tensor([1, 2, 3]);
  process.on('unhandledRejection', note);
});
afterAll(async () => {
  process.off('unhandledRejection', note);
  await rt.close();
});

const broken = new RangeError('broken');
const fails = async (): Promise<void> => {
  await turn();
  throw broken;
};
/** What types would refuse. */
const untyped = fails as never;

/** Rejections are told of after the turn in which nobody took them. */
async function nothingUnheard(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn();
  expect(unheard.splice(0)).toEqual([]);
}

const arrays = [Float32Array.of(1), Float32Array.of(2)];
const long = Array.from({ length: 5 }, () => new Float32Array(20_000));

describe('an async onProgress that fails ends', () => {
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    'a list of small arrays': () => batchElementwise(arrays, 'square', undefined, { runtime: rt, onProgress: fails }),
    'a list of tensors': () => batchElementwise([x, x], 'square', undefined, { runtime: rt, onProgress: fails }),
    'a list in chunks': () =>
      createBatch([1], { runtime: rt, maxBatchSize: 2 }).batchElementwise(long, 'exp', undefined, {
        onProgress: fails,
      }),
    functions: () => createBatch([1, 2, 3], { maxBatchSize: 1 }).executeParallel((n) => n, { onProgress: fails }),
    'a data set': async () => {
      const gpu = await GPUCompute.create({ devices: await DeviceManager.create({ kinds: ['cpu'] }) });
      const work = gpu.processDataset(Float32Array.of(1, 2), { recordLength: 1, op: 'square', onProgress: fails });
      return work.finally(() => gpu.dispose());
    },
  };
  it.each(Object.entries(calls))('%s', async (_, call) => {
    await expect(call()).rejects.toBe(broken);
    await nothingUnheard();
  });

  it('one that succeeds is waited for, and an abort ends the wait for one that does not end', async () => {
    let told = 0;
    const counts = async (): Promise<void> => {
      await turn();
      told++;
    };
    await createBatch([1, 2, 3], { maxBatchSize: 1 }).executeParallel((n) => n, { onProgress: counts });
    expect(told).toBe(3);
    const stop = new AbortController();
    const endless = (): Promise<void> => {
      setTimeout(() => stop.abort(), 5);
      return new Promise(() => {});
    };
    const work = createBatch([1], { concurrency: 1 }).executeParallel((n) => n, {
      onProgress: endless,
      signal: stop.signal,
    });
    await expect(work).rejects.toMatchObject({ code: 'ABORTED' });
  });
});

describe('async functions that fail', () => {
  it('are told of where a field cannot be saved, and the field goes on', async () => {
    const field = await createField({ resolution: 4, channels: 32, runtime: rt, quiet: true });
    const errors: unknown[] = [];
    field.on('error', ({ error }) => errors.push(error));
    const folder = join(tmpdir(), 'gpuforge-no-such-folder', 'none', '\0');
    for (const onError of [
      fails,
      (): never => {
        throw broken;
      },
    ]) {
      field.autosave({ folder, every: 1, onError });
      await field.step(new Float32Array(16));
      await expect.poll(() => errors.splice(0)).toEqual([broken]);
    }
    field.autosave(null);
    await field.dispose();
    await nothingUnheard();
  });

  it('are told of by rt.attribute', async () => {
    const errors: unknown[] = [];
    const off = rt.on('error', ({ error }) => errors.push(error));
    const end = rt.attribute(fails);
    x.add(1).dispose();
    end();
    await expect.poll(() => errors).toContain(broken);
    off();
    await nothingUnheard();
  });

  it('are refused where their result is needed at once', async () => {
    const calls: readonly (() => unknown)[] = [
      () => rt.compile(untyped)(x),
      () => rt.kernel(untyped)(x),
      () => rt.loop((s) => s.max().less(9), untyped, x),
      () => rt.loop(untyped, (s) => s, x),
      () => rt.memory.borrow([x], untyped),
    ];
    for (const call of calls) {
      await expect((async () => call())()).rejects.toMatchObject({ name: 'ArgumentError' });
      await nothingUnheard();
    }
    expect(() => rt.compile(untyped)(x)).toThrow(/not async/);
    await nothingUnheard();
  });
});
