// Many callers at once: results as in a sequence, and no promise that stays pending, whatever is mixed.

import { describe, expect, it } from 'vitest';
import { cpuFacade, facade, fakeGpu, values } from '../../test/support/facade.ts';
import { within } from '../../test/support/time.ts';
import { seededBits } from '../base/seeded.ts';
import { withDeadline } from '../governor/recovery/deadline.ts';
import type { Tensor } from '../index.ts';
import { ComputeError, DisposedError } from './errors.ts';
import type { GPUCompute } from './gpu-compute.ts';

function random(seed: number): (below: number) => number {
  const bits = seededBits(seed);
  return (below) => bits() % below;
}

describe('calls at the same time', () => {
  it('16 batches of 10 tensors of 64 KB each equal the sequential run', async () => {
    const gpu = cpuFacade();
    const sets = await Promise.all(
      Array.from({ length: 16 }, (_, k) =>
        Promise.all(Array.from({ length: 10 }, (_, i) => gpu.transferToGPU(values(16_384, 10 * k + i)))),
      ),
    );
    const read = async (set: (typeof sets)[number]): Promise<number[]> => {
      const results = await gpu.computeBatch(set);
      return Promise.all(results.map(async (r) => Number((await gpu.transferFromGPU(r))[0])));
    };
    const sequential: number[][] = [];
    for (const set of sets) sequential.push(await read(set));
    const start = performance.now();
    const together = await Promise.all(sets.map(read));
    expect(performance.now() - start).toBeLessThan(within(5000));
    expect(together).toEqual(sequential);
    await gpu.dispose();
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'in a random mix of transfers, batches, resets, losses and disposals all end (seed %i)',
    async (seed) => {
      const next = random(seed);
      const fake = fakeGpu();
      const { gpu, devices } = facade(fake);
      const tensors = [await gpu.transferToGPU(values(2000))];
      const wrong: string[] = [];
      const actions: readonly (() => Promise<unknown>)[] = [
        async () => {
          tensors.push(await gpu.transferToGPU(values(500 + next(2000), next(100))));
        },
        async () => {
          const data = await gpu.transferFromGPU(tensors[next(tensors.length)]!);
          if (!data.some((v) => v !== 0)) wrong.push('zeros in place of a result');
        },
        async () => {
          for (const r of await gpu.computeBatch(tensors.slice(0, 1 + next(8)), 'norm')) {
            const [norm] = await gpu.transferFromGPU(r);
            if (!(Number(norm) > 0)) wrong.push(`norm ${norm}`);
          }
        },
        () => gpu.processDataset(values(100 * 20), { recordLength: 100, op: 'sum' }),
        () => gpu.resetDevice(),
        async () => {
          if (next(3) === 0) fake.device().lose('at random');
        },
        () => devices.selectDevice({ preferGPU: next(3) > 0 }),
      ];
      const calls: Promise<unknown>[] = [];
      const failures: unknown[] = [];
      for (let i = 0; i < 60; i++) {
        calls.push(actions[next(actions.length)]!().catch((e) => failures.push(e)));
        if (next(4) === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      if (seed % 2 === 0) calls.push(gpu.dispose());
      // Rejects if a call stays pending.
      await withDeadline(Promise.all(calls), 30_000, { what: 'all calls' });
      await gpu.dispose();
      expect(wrong).toEqual([]);
      expect(failures.filter((e) => !(e instanceof ComputeError))).toEqual([]);
      expect(fake.device().counters().live).toBe(0);
    },
  );

  it.each<[string, (gpu: GPUCompute, t: Tensor) => Promise<unknown>]>([
    ['an upload', (gpu) => gpu.transferToGPU(values(100))],
    ['a batch', (gpu, t) => gpu.processBatch([t], (x) => x.add(1))],
  ])('%s that ends after its facade was disposed of leaves nothing behind', async (_name, call) => {
    const fake = fakeGpu();
    // The devices stay open: they may be those of others too.
    const { gpu, devices } = facade(fake, { owned: false });
    const t = await gpu.transferToGPU(values(100));
    let arrive = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const mark = { done: () => false, whenDone: () => arrived, since: () => null };
    Object.assign(fake.device(), { mark: () => mark });
    const underWay = call(gpu, t).catch((e: unknown) => e);
    await gpu.dispose();
    arrive();
    expect(await underWay).toBeInstanceOf(DisposedError);
    expect(fake.device().counters().live).toBe(0);
    await devices.dispose();
  });

  it.each<[string, (gpu: GPUCompute, t: Tensor) => Promise<unknown>]>([
    ['uploads', async (gpu) => (await gpu.transferToGPU(values(10))).dispose()],
    ['downloads', (gpu, t) => gpu.transferFromGPU(t)],
    ['batches', async (gpu, t) => (await gpu.processBatch([t], 'sum'))[0]!.dispose()],
    ['batches of a function', async (gpu, t) => (await gpu.processBatch([t], (x) => x.add(1)))[0]!.dispose()],
  ])('a loop of %s lets timers fire', async (_name, call) => {
    await using gpu = cpuFacade();
    const t = await gpu.transferToGPU(values(100));
    let fired = 0;
    const timer = setInterval(() => fired++, 10);
    // None ever fires if the loop never turns.
    const end = performance.now() + within(500);
    while (fired < 3 && performance.now() < end) await call(gpu, t);
    clearInterval(timer);
    expect(fired).toBe(3);
  });

  it('reset every few calls, a loop stays right and leaves nothing behind', async () => {
    const fake = fakeGpu();
    const { gpu } = facade(fake, { manager: { maxResets: 1000 } });
    const t = await gpu.transferToGPU(values(3000));
    const want = await gpu.transferFromGPU((await gpu.computeBatch([t]))[0]!);
    for (let i = 0; i < 12; i++) {
      if (i % 4 === 3) await gpu.resetDevice();
      const [r] = await gpu.computeBatch([t]);
      expect(await gpu.transferFromGPU(r!)).toEqual(want);
      r!.dispose();
    }
    expect(gpu.monitor.getMemoryUsage().numBytes).toBe(12_000);
    await gpu.dispose();
  });
});
