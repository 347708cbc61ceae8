import { describe, expect, it } from 'vitest';
import { batchElementwise, batchMatmul, batchXor, batchXorWithNewKeys, createBatch } from '../../src/batch/index.ts';
import type { FaultKind } from '../../src/governor/recovery/faults.ts';
import { createRuntime, type FaultyDevice, ForgeError, type Runtime, Tensor, withFaults } from '../../src/index.ts';
import { fakeGpu, values } from '../support/facade.ts';

// Lists on a device that fails at one call after the other: each is right or ends in an error that says what it is, and nothing is left
// of it. `GPUFORGE_TEST_ALL=1` tries more calls.

const all = process.env.GPUFORGE_TEST_ALL === '1';
const calls = all ? 120 : 40;

/** A runtime of a GPU and the CPU; the GPU fails when it is told to. */
async function faulty() {
  const gpu = fakeGpu();
  const rt = (await gpu.open({ routing: { device: 'cuda:0' } })) as Runtime;
  const some = Array.from({ length: 8 }, () => rt.ones([1]) as Tensor);
  // The first group makes the flag that all of them read.
  for (const t of [...some, ...(await batchElementwise(some, 'exp', 0, { runtime: rt }))]) t.dispose();
  return { gpu, rt };
}

type Work = (rt: Runtime, items: readonly Tensor[], arrays: readonly Float32Array[]) => Promise<readonly unknown[]>;

/** Sizes that make three groups, small ones and some that are released one by one. */
const lengths = [64, 3000, 64, 3000, 7, 64, 3000, 20_000, 7];
const works: Readonly<Record<string, Work>> = {
  'squares of tensors': (runtime, items) => batchElementwise(items, 'square', undefined, { runtime }),
  'squares in batches of two': async (runtime, items) => {
    await using batch = createBatch(items, { runtime, maxBatchSize: 2 });
    return batch.batchElementwise(items, 'square');
  },
  'squares of arrays to tensors': (runtime, _, arrays) =>
    batchElementwise(arrays, 'square', undefined, { runtime, out: 'tensors' }),
  'squares of tensors to arrays': (runtime, items) =>
    batchElementwise(items, 'square', undefined, { runtime, out: 'arrays' }),
};

describe.each(Object.keys(works))('%s', (name) => {
  it.each<FaultKind>(['out-of-memory', 'kernel', 'transient', 'lost'])(
    'with a call that fails (%s) are right or refused by name, and leave nothing',
    async (as) => {
      const { gpu, rt } = await faulty();
      for (let nth = 1; nth <= calls; nth += all ? 1 : 2) {
        const arrays = lengths.map((n, i) => values(n, i));
        const items = arrays.map((a) => rt.tensor(a) as Tensor);
        const { tensors } = rt.stats();
        const device = gpu.device();
        device.plan({ faults: [{ at: 'any', nth: device.counters().calls.any + nth, times: 1 + (nth % 3), as }] });
        const made = await works[name]!(rt, items, arrays).catch((e: unknown) => e);
        gpu.device().plan({ faults: [] });
        if (made instanceof Error) expect(made).toBeInstanceOf(ForgeError);
        else
          for (const [i, m] of (made as readonly (Tensor | Float32Array)[]).entries()) {
            expect(m instanceof Tensor ? await m.data() : m).toEqual(arrays[i]!.map((v) => v * v));
            if (m instanceof Tensor) m.dispose();
          }
        expect(rt.stats().tensors, `call ${nth}`).toBe(tensors);
        for (const t of items) t.dispose();
      }
      await rt.close();
    },
  );
});

it('XOR of floats, and with keys that repeat, leaves nothing on the way to its results', async () => {
  for (const rt of [await createRuntime({ devices: ['cpu'] }), (await faulty()).rt]) {
    const floats = Array.from({ length: 3 }, (_, i) => rt.tensor(values(20_000, i)) as Tensor);
    const whole = floats.map((t) => t.cast('i32').compute() as Tensor);
    const key = rt.tensor(Int32Array.of(1, 2, 3)) as Tensor;
    const one = rt.tensor(Int32Array.of(5)) as Tensor;
    const flat = rt.tensor(new Int32Array(20_000), [200, 100]) as Tensor;
    for (const t of [...floats, ...whole, key, one, flat]) await t.data();
    const before = rt.stats();
    for (const [data, keys] of [
      [floats, floats],
      [whole, key],
      [whole, one],
      [whole, flat],
    ] as const)
      for (const t of await batchXor(data, keys, { runtime: rt, cycle: true })) t.dispose();
    expect(rt.stats()).toMatchObject({ tensors: before.tensors, bytes: before.bytes });
    await rt.close();
  }
});

it('items that are disposed of while their batches run leave nothing', async () => {
  const { rt } = await faulty();
  const { tensors } = rt.stats();
  const items = lengths.map((n, i) => rt.tensor(values(n, i)) as Tensor);
  await using batch = createBatch(items, { runtime: rt, maxBatchSize: 2, concurrency: 1 });
  const running = batch.batchElementwise(items, 'square', undefined, {
    onProgress: () => {
      for (const t of items) t.dispose();
    },
  });
  await expect(running).rejects.toMatchObject({ name: 'BatchOperationError' });
  expect(rt.stats().tensors).toBe(tensors);
  await rt.close();
});

it('new keys whose XOR fails, or that there is no room for, are not left behind', async () => {
  const { gpu, rt } = await faulty();
  const items = lengths.map((n, i) => rt.tensor(values(n, i)) as Tensor);
  const { tensors } = rt.stats();
  await expect(batchXorWithNewKeys(items, { runtime: rt, signal: AbortSignal.abort() })).rejects.toThrow();
  expect(rt.stats().tensors).toBe(tensors);
  gpu.device().plan({ faults: [{ at: 'launch', nth: 1, times: Number.POSITIVE_INFINITY, as: 'kernel' }] });
  await batchXorWithNewKeys(items, { runtime: rt }).then(
    ({ data, keys }) => {
      for (const t of [...data, ...keys]) t.dispose();
    },
    () => {},
  );
  expect(rt.stats().tensors).toBe(tensors);
  await rt.close();
});

it('a processor whose devices are all lost says so, and tells of nothing else', async () => {
  let device: FaultyDevice | null = null;
  const rt = await createRuntime({
    devices: ['cpu'],
    routing: { mode: 'off' },
    wrap: (d) => {
      device = withFaults(d);
      return device;
    },
  });
  await using batch = createBatch([Float32Array.of(1), Float32Array.of(2)], { runtime: rt });
  device!.lose('unplugged');
  await expect(batch.batchElementwise(batch.items, 'square')).rejects.toBeInstanceOf(ForgeError);
  await expect(batch.optimalBatchSize('square')).rejects.toMatchObject({ code: 'DEVICE_UNAVAILABLE' });
  await rt.close();
});

it('a runtime that is closed, before or while a list runs, is no fault of an item', async () => {
  const closed = await createRuntime({ devices: ['cpu'] });
  const x = [closed.tensor(values(8)) as Tensor, closed.tensor(values(8)) as Tensor];
  await closed.close();
  const error = { name: 'DisposedError', code: 'RUNTIME_CLOSED' };
  const arrays = [values(8), values(8), values(8)];
  await expect(batchElementwise(arrays, 'square', undefined, { runtime: closed })).rejects.toMatchObject(error);
  await expect(batchXor(arrays, arrays, { runtime: closed })).rejects.toMatchObject(error);
  await expect(batchElementwise(x, 'square', undefined, { runtime: closed })).rejects.toMatchObject({
    code: expect.stringMatching(/RUNTIME_CLOSED|DISPOSED/),
  });
  const { rt } = await faulty();
  await using batch = createBatch(arrays, { runtime: rt, maxBatchSize: 1, concurrency: 1 });
  const running = batch.batchElementwise(arrays, 'square', undefined, { onProgress: () => rt.close() });
  await expect(running).rejects.toMatchObject(error);
});

it('products of a pair that fails leave nothing', async () => {
  const { gpu, rt } = await faulty();
  const [a, b] = [0, 1].map((k) => Array.from({ length: 5 }, (_, i) => rt.tensor(values(64, i + k), [8, 8]) as Tensor));
  const { tensors } = rt.stats();
  for (let nth = 1; nth <= 20; nth++) {
    const device = gpu.device();
    device.plan({ faults: [{ at: 'any', nth: device.counters().calls.any + nth, as: 'out-of-memory' }] });
    const made = await batchMatmul(a!, b!, { runtime: rt }).catch((e: unknown) => e);
    if (made instanceof Error) expect(made).toBeInstanceOf(ForgeError);
    else for (const t of made as readonly Tensor[]) t.dispose();
    expect(rt.stats().tensors, `call ${nth}`).toBe(tensors);
  }
  await rt.close();
});
