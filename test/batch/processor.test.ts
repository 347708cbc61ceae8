// BatchProcessor: sizes, order, failures by index, limits of time, aborts, pressure, statistics, worker threads.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CurveStore, measureCurve } from '../../src/batch/curve.ts';
import { BatchOperationError, BatchProcessor, batchElementwise, createBatch } from '../../src/batch/index.ts';
import { Pressure, sizeFor } from '../../src/batch/memory-size.ts';
import type { GPUCompute } from '../../src/compute/index.ts';
import { createRuntime, OutOfMemory, type PressureLevel, type Runtime, type Tensor } from '../../src/index.ts';
import { Lattice } from '../../src/lattice/index.ts';
import { cpuFacade, fakeGpu, TestClock, TurnClock, values } from '../support/facade.ts';
import { within } from '../support/time.ts';

let rt: Runtime;
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-batch-'));
beforeAll(async () => {
  process.env.GPUFORGE_CACHE_DIR = join(folder, 'cache');
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
});
afterAll(async () => {
  await rt.close();
  delete process.env.GPUFORGE_CACHE_DIR;
  rmSync(folder, { recursive: true, force: true });
});

const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe('sizes', () => {
  const limits = { maxBatchSize: 16, minBatchSize: 2, safetyMargin: 0.2 };
  it.each([
    [0, 2],
    [100, 8],
    [199, 15],
    [200, 16],
    [1000, 16],
  ])('with %i MB free a batch has %i items', (available, size) => {
    expect(sizeFor(limits, 20, available, 10)).toBe(size);
    expect(sizeFor(limits, 1, available, 10)).toBe(1);
  });
  it('unknown memory counts as 256 MB', () => {
    expect(sizeFor({ ...limits, maxBatchSize: 100 }, 100, null, 10)).toBe(20);
  });

  it('limit every operation: 20 lattices in batches of at most 4, 8 and 16', async () => {
    for (const [maxBatchSize, batches] of [
      [4, 5],
      [8, 3],
      [16, 2],
    ] as const) {
      const sizes: number[] = [];
      await using batch = createBatch(
        numbers(20).map(() => new Lattice({ dimensions: 4, size: 8 })),
        { maxBatchSize, runtime: rt, autoOptimize: false },
      );
      batch.onBatch((e) => sizes.push(e.items));
      const edges = await batch.executeParallel(async (l) => (await l.analyze()).edges);
      expect(edges).toEqual(numbers(20).map(() => 4 * 7 * 512));
      expect(sizes).toHaveLength(batches);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(maxBatchSize);
      expect(batch.stats().parallel).toBe('device');
      sizes.length = 0;
      const squares = await batch.batchElementwise(
        numbers(20).map((i) => Float32Array.of(i)),
        'square',
      );
      expect(squares.map((s) => s[0])).toEqual(numbers(20).map((i) => i * i));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(maxBatchSize);
      expect(sizes).toHaveLength(batches);
    }
  });

  it('are what fits together, where a function says what each item takes', async () => {
    // Nobody knows how much memory is free: 256 MB count as free, and a fifth of them stays so.
    const sizes: number[] = [];
    const mb = [1, 1, 1, 150, 100, 1, 300, 1, 1];
    await using batch = createBatch(mb, { mbPerItem: (n) => n, maxBatchSize: 4, minBatchSize: 1 });
    batch.onBatch((e) => sizes.push(e.items));
    expect(await batch.executeParallel((n) => n)).toEqual(mb);
    // 153, 101 (with 300 there is no room), 300 by itself, 2.
    expect(sizes).toEqual([4, 2, 1, 2]);
    expect(batch.stats()).toMatchObject({ memory: 'assumed', mbPerItem: { mb: 1, source: 'declared' } });
  });

  it('are halved while memory is short, wait while it is critical, and grow again slowly', async () => {
    const clock = new TestClock();
    let level: PressureLevel = 'low';
    const p = new Pressure(clock, () => level);
    expect(p.limit(16)).toBe(16);
    level = 'high';
    expect([p.limit(16), p.limit(16)]).toEqual([8, 4]);
    level = 'moderate';
    expect(p.limit(16)).toBe(4);
    clock.pass(9_999);
    expect(p.limit(16)).toBe(4);
    clock.pass(1);
    expect([p.limit(16), p.limit(16)]).toEqual([8, 8]);
    clock.pass(10_000);
    expect(p.limit(16)).toBe(16);
    clock.pass(100_000);
    expect(p.limit(16)).toBe(16);
    expect(p.ready(undefined, () => null)).toBeNull();
    level = 'critical';
    const before = clock.now();
    await p.ready(undefined, () => null);
    expect(clock.now() - before).toBeGreaterThanOrEqual(5000);
    expect(p.limit(16)).toBe(1);
  });

  it('that run out of memory are halved in few attempts, and the size that fitted is kept for the next call', async () => {
    const items = numbers(100).map((i) => rt.tensor([i]) as Tensor);
    await using batch = createBatch(items, { runtime: rt, maxBatchSize: 64, concurrency: 1, autoOptimize: false });
    const sizes: number[] = [];
    let running = 0;
    let refusals = 0;
    const work = async (t: Tensor): Promise<number> => {
      try {
        if (++running > 5) throw new OutOfMemory({ message: 'full', fix: '', where: 'x', requested: 1, available: 0 });
        await null;
        return t.size;
      } finally {
        running--;
      }
    };
    batch.onBatch((e) => {
      if (e.kind === 'failed') refusals++;
      else sizes.push(e.items);
    });
    expect(await batch.executeParallel(work)).toEqual(items.map(() => 1));
    expect(refusals).toBeGreaterThan(0);
    expect(refusals).toBeLessThanOrEqual(Math.log2(64) + 4);
    expect(Math.max(...sizes)).toBe(4);
    refusals = 0;
    await batch.executeParallel(work);
    expect(refusals).toBe(0);
    for (const t of items) t.dispose();
  });

  it('that do not fit are halved, and what fitted is kept', async () => {
    // 64 products of 64 KB results in 2 MB.
    await using small = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, memory: { budget: 2 << 20 } });
    const a = numbers(64).map((i) => values(128 * 128, i + 1));
    await using batch = new BatchProcessor(a, { runtime: small, maxBatchSize: 64, device: 'cpu' });
    const got = await batch.batchMatrix(a, a, { shapes: [[128, 128, 128]] });
    expect(got).toHaveLength(64);
    expect(small.stats().peakBytes).toBeLessThanOrEqual(2 << 20);
    const one = await rt
      .tensor(a[63]!, [128, 128])
      .matmul(rt.tensor(a[63]!, [128, 128]))
      .data();
    got[63]!.forEach((v, i) => {
      expect(Math.abs(v - Number(one[i]))).toBeLessThan(1e-4);
    });
  });
});

describe('the best size', () => {
  it('is where the rate stops rising, found in few sizes', async () => {
    const clock = new TestClock();
    const cost = (n: number): number => (n <= 8 ? 100 + 10 * n : 100 + 25 * n) / 1000;
    const { best, curve, device } = await measureCurve(clock, 'simulated', 64, (n) => clock.pass(cost(n)));
    expect([best, device]).toEqual([8, 'simulated']);
    expect(curve.length).toBeLessThanOrEqual(7);
    expect(curve.map((p) => p.size).slice(0, 4)).toEqual([1, 2, 4, 8]);
    expect(curve[3]!.itemsPerSecond).toBeCloseTo(8e6 / 180, 0);
  });
  it('is 1 where larger batches gain nothing', async () => {
    const clock = new TestClock();
    expect((await measureCurve(clock, 'simulated', 64, (n) => clock.pass(n / 1000))).best).toBe(1);
  });
  it('is measured on the device, remembered, used, and measured again on request', async () => {
    const items = numbers(4).map((i) => values(1000, i));
    await using batch = createBatch(items, { runtime: rt, maxBatchSize: 4 });
    const first = await batch.optimalBatchSize('square');
    expect(first.curve.length).toBeGreaterThanOrEqual(1);
    expect(batch.stats().totalBatchOps).toBe(0);
    await using other = createBatch(items, { runtime: rt, maxBatchSize: 4 });
    expect(await other.optimalBatchSize('square')).toEqual(first);
    const sizes: number[] = [];
    other.onBatch((e) => sizes.push(e.items));
    await other.batchElementwise(items, 'square');
    expect(Math.max(...sizes)).toBe(first.best);
    expect((await other.optimalBatchSize('square', { fresh: true })).curve).not.toEqual(first.curve);
    await expect(other.optimalBatchSize('cube')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('a remembered size', () => {
  const curve = (sizes: readonly number[], best: number) => ({
    best,
    device: 'simulated',
    curve: sizes.map((size) => ({ size, itemsPerSecond: 1, spread: 0 })),
  });
  it('counts only up to where it was measured, unless the rate had stopped rising before', async () => {
    const store = new CurveStore(null);
    await store.set('rising', curve([1, 2, 4], 4));
    expect(await store.get('rising', 4)).not.toBeNull();
    expect(await store.get('rising', 32)).toBeNull();
    await store.set('settled', curve([1, 2, 4, 8, 16], 4));
    expect((await store.get('settled', 32))?.best).toBe(4);
  });
  it('is for items of about that size', async () => {
    const short = numbers(4).map((i) => values(10, i));
    await using batch = createBatch(short, { runtime: rt, maxBatchSize: 2 });
    const first = await batch.optimalBatchSize('exp');
    await using long = createBatch(
      numbers(2).map((i) => values(20_000, i)),
      { runtime: rt, maxBatchSize: 2 },
    );
    expect((await long.optimalBatchSize('exp')).curve).not.toEqual(first.curve);
  });
});

describe('settings', () => {
  it.each<[string, unknown]>([
    ['maxBatchSize', 0],
    ['maxBatchSize', 2.5],
    ['maxBatchSize', Number.NaN],
    ['safetyMargin', 1],
    ['safetyMargin', -0.1],
    ['timeoutMs', 0],
    ['attempts', 0],
    ['concurrency', 0],
    ['mbPerItem', -1],
    ['autoOptimize', 'yes'],
    ['size', 3],
  ])('%s: %s is refused by name', (key, value) => {
    expect(() => createBatch([1], { [key]: value } as never)).toThrow(
      expect.objectContaining({
        code: key === 'size' ? 'UNKNOWN_OPTION' : 'BAD_OPTION',
        message: expect.stringContaining(key),
      }),
    );
  });
  it('a minimum above the maximum is refused; a maximum of 1 is not', () => {
    expect(() => createBatch([1], { minBatchSize: 8, maxBatchSize: 4 })).toThrow(/minBatchSize/);
    expect(() => createBatch([1], { maxBatchSize: 1 })).not.toThrow();
  });
});

describe('executeParallel', () => {
  it('keeps order, takes one function or one for each, and says that host functions run in turn', async () => {
    await using batch = createBatch(numbers(50), { maxBatchSize: 7 });
    const running: number[] = [];
    let most = 0;
    const got = await batch.executeParallel(async (n) => {
      running.push(n);
      most = Math.max(most, running.length);
      await null;
      running.pop();
      return 2 * n;
    });
    expect(got).toEqual(numbers(50).map((n) => 2 * n));
    expect([most, batch.stats().parallel]).toEqual([1, 'none']);
    expect(await batch.executeParallel(numbers(50).map((k) => (n: number) => n + k))).toEqual(got);
    await expect(batch.executeParallel([(n: number) => n])).rejects.toMatchObject({ code: 'LENGTH_MISMATCH' });
    await expect(batch.executeParallel(7 as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await using none = createBatch<number>([]);
    expect(await none.executeParallel((n) => n)).toEqual([]);
  });

  it('an item that throws is named; what was made before is in the error; collect goes on', async () => {
    await using batch = createBatch(numbers(20), { maxBatchSize: 4 });
    const fn = (n: number): number => {
      if (n === 7) throw new RangeError('seven');
      return n;
    };
    const error = (await batch.executeParallel(fn).catch((e) => e)) as BatchOperationError;
    expect(error).toBeInstanceOf(BatchOperationError);
    expect(error).toMatchObject({ index: 7, op: 'function', completed: 7, batch: { first: 7, size: 1 } });
    expect(error.results.slice(0, 7)).toEqual(numbers(7));
    expect((error.cause as Error).message).toBe('seven');
    const all = await batch.executeParallel(fn, { onError: 'collect' });
    expect(all.map((o) => o.ok)).toEqual(numbers(20).map((n) => n !== 7));
    expect(all[19]).toEqual({ ok: true, value: 19 });
  });

  it('a batch that takes too long is tried smaller, then fails; the others keep their results', async () => {
    await using batch = createBatch(numbers(12), { maxBatchSize: 4, timeoutMs: 60, clock: new TurnClock() });
    let calls = 0;
    const fn = (n: number): number | Promise<number> => {
      calls++;
      return n === 5 ? new Promise(() => {}) : n;
    };
    const all = await batch.executeParallel(fn, { onError: 'collect' });
    expect(all.map((o) => o.ok)).toEqual(numbers(12).map((n) => n !== 5));
    expect(calls).toBeGreaterThan(12);
    const error = await batch.executeParallel(fn).catch((e) => e);
    expect(error).toMatchObject({ code: 'TIMEOUT', index: 5 });
  });

  it('a list that is one launch and never ends fails when its device is not free in time, and is not run again behind itself', async () => {
    let launches = 0;
    const gpu = fakeGpu({ launched: () => launches++ });
    const rt = (await gpu.open({ routing: { device: 'cuda:0' } })) as Runtime;
    const x = numbers(8).map((i) => rt.tensor(values(40, i)) as Tensor);
    await using batch = createBatch(x, { runtime: rt, timeoutMs: within(100) });
    for (const t of await batch.batchElementwise(x, 'square')) t.dispose();
    const [each, before] = [launches, rt.stats().tensors];
    const mark = gpu.device().mark;
    Object.assign(gpu.device(), {
      mark: () => ({ done: () => false, whenDone: () => new Promise(() => {}), since: () => null }),
    });
    const start = performance.now();
    const error = await batch.batchElementwise(x, 'square').catch((e) => e);
    // It waits twice: for the launch, and for the device.
    expect(performance.now() - start).toBeLessThan(within(2.9 * within(100)));
    expect(error).toBeInstanceOf(BatchOperationError);
    expect(error).toMatchObject({ code: 'TIMEOUT', index: null, batch: { first: 0, size: 8 }, device: 'cuda:0' });
    expect(launches).toBe(2 * each);
    expect(rt.stats().tensors).toBe(before);
    expect(batch.stats().operations.square).toMatchObject({ calls: 1, failures: 1 });
    Object.assign(gpu.device(), { mark });
    for (const t of await batch.batchElementwise(x, 'square')) t.dispose();
    await rt.close();
  });

  it.each([
    ['one launch', 8],
    ['batches of four', 4],
  ])('%s that takes too long is run again in halves, when the device is free', async (_, maxBatchSize) => {
    const gpu = fakeGpu();
    const rt = (await gpu.open({ routing: { device: 'cuda:0' } })) as Runtime;
    const x = numbers(8).map((i) => rt.tensor(values(40, i)) as Tensor);
    await using batch = createBatch(x, { runtime: rt, timeoutMs: within(60), maxBatchSize, autoOptimize: false });
    const before = rt.stats().tensors;
    const mark = gpu.device().mark.bind(gpu.device());
    // The first is seen late, the others in time.
    let marks = 0;
    let late: Promise<void> | undefined;
    const whenDone = (): Promise<void> => (late ??= new Promise((resolve) => setTimeout(resolve, 1.5 * within(60))));
    Object.assign(gpu.device(), {
      mark: (timed?: boolean) =>
        timed === false && marks++ < 2 ? { done: () => false, whenDone, since: () => null } : mark(timed),
    });
    const made = await batch.batchElementwise(x, 'square');
    expect(made.report.retries).toBeGreaterThan(0);
    expect(made.report.launches).toBeGreaterThan(1);
    for (const [i, t] of made.entries()) expect(await t.data()).toEqual(values(40, i).map((v) => v * v));
    for (const t of made) t.dispose();
    // What was late is freed when it has ended.
    await late;
    await new Promise((resolve) => setImmediate(resolve));
    expect(rt.stats().tensors - before).toBeLessThanOrEqual(1);
    await rt.close();
  });

  it('abort: no further batch starts, and the call ends although a function never does', async () => {
    await using batch = createBatch(numbers(100), {
      maxBatchSize: 5,
      concurrency: 2,
      clock: new TestClock(),
      timeoutMs: Number.POSITIVE_INFINITY,
    });
    const stop = new AbortController();
    const started: number[] = [];
    const call = batch.executeParallel(
      (n) => {
        started.push(n);
        if (n === 12) stop.abort();
        return n < 12 ? n : new Promise(() => {});
      },
      { signal: stop.signal },
    );
    await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
    const count = started.length;
    expect(count).toBeLessThanOrEqual(20);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(started).toHaveLength(count);
    await expect(batch.executeParallel((n) => n, { signal: stop.signal })).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('errors that may pass are tried again, others are not', async () => {
    await using batch = createBatch([1], { clock: new TestClock(), timeoutMs: Number.POSITIVE_INFINITY });
    const { ForgeError } = await import('../../src/index.ts');
    let tries = 0;
    const passing = (): number => {
      if (++tries < 3) throw new OutOfMemory({ message: 'full', fix: '', where: 'x', requested: 1, available: 0 });
      return 7;
    };
    expect(await batch.executeParallel(passing)).toEqual([7]);
    expect(tries).toBe(3);
    let calls = 0;
    const lasting = (): number => {
      calls++;
      throw new ForgeError({ message: 'no', fix: '', where: 'x' });
    };
    await expect(batch.executeParallel(lasting)).rejects.toMatchObject({ index: 0 });
    expect(calls).toBe(1);
  });

  it('worker threads: results in order, errors by index, closures refused', async () => {
    const module = join(folder, 'work.mjs');
    writeFileSync(
      module,
      `import { threadId } from 'node:worker_threads';
       export const square = (n) => { if (n === 13) throw new RangeError('unlucky'); return [n * n, threadId]; };
       export const dies = () => process.exit(3);`,
    );
    await using batch = createBatch(numbers(12), { maxBatchSize: 2 });
    const got = await batch.executeParallel<[number, number]>({ module: pathToFileURL(module), export: 'square' });
    expect(got.map(([n]) => n)).toEqual(numbers(12).map((n) => n * n));
    expect(got.every(([, thread]) => thread > 0)).toBe(true);
    expect(batch.stats().parallel).toBe('workers');
    // The same threads serve the next call.
    const threads = new Set(got.map(([, thread]) => thread));
    const again = await batch.executeParallel<[number, number]>({ module: pathToFileURL(module), export: 'square' });
    expect(again.every(([, thread]) => threads.has(thread))).toBe(true);
    await using unlucky = createBatch(numbers(20));
    await expect(unlucky.executeParallel({ module, export: 'square' })).rejects.toMatchObject({ index: 13 });
    await expect(unlucky.executeParallel({ module, export: 'nothing' })).rejects.toThrow(/exports no function/);
    await expect(unlucky.executeParallel({ module, export: 'dies' })).rejects.toThrow(/ended with code 3/);
    await expect(unlucky.executeParallel((n) => n, { workers: true })).rejects.toThrow(
      /cannot be sent to another thread/,
    );
  });

  it('tells progress, at the end of all items', async () => {
    await using batch = createBatch(numbers(10), { maxBatchSize: 3 });
    const told: [number, number][] = [];
    await batch.executeParallel((n) => n, { onProgress: (done, total) => told.push([done, total]) });
    expect(told).toEqual([
      [3, 10],
      [6, 10],
      [9, 10],
      [10, 10],
    ]);
  });
});

describe('statistics', () => {
  it('after batches of 3, 5 and 10 items each is counted once, and printed so', async () => {
    await using batch = createBatch([], { runtime: rt, autoOptimize: false });
    for (const n of [3, 5, 10])
      await batch.batchElementwise(
        numbers(n).map((i) => Float32Array.of(i)),
        'square',
      );
    const stats = batch.stats();
    expect(stats).toMatchObject({ totalBatchOps: 3, totalItemsProcessed: 18, avgBatchSize: 6 });
    expect(stats.totalTimeMs).toBeGreaterThan(0);
    expect(stats.avgTimeMs).toBeCloseTo(stats.totalTimeMs / 3, 9);
    expect(stats.avgPerItemMs).toBeCloseTo(stats.totalTimeMs / 18, 9);
    const lines: string[] = [];
    batch.printStats((line) => lines.push(line));
    expect(lines.slice(0, 2)).toEqual([
      'batch operations 3   items 18   mean size 6.0',
      'operation  calls  items  total ms  ms/item  device',
    ]);
    expect(lines[2]).toMatch(/^square {9}3 {5}18 +[\d.]+ +[\d.]+ {2}cpu$/);
    batch.resetStats();
    expect(batch.stats()).toMatchObject({ totalBatchOps: 0, totalItemsProcessed: 0, avgBatchSize: 0 });
  });

  it('a batch of the facade appears in the statistics of its processor', async () => {
    await using gpu: GPUCompute = cpuFacade();
    const tensors = await Promise.all(numbers(5).map((i) => gpu.transferToGPU(values(100, i))));
    await using batch = await gpu.createBatch(tensors);
    await gpu.computeBatch(tensors);
    expect(batch.stats().operations.computeBatch).toMatchObject({ calls: 1, items: 5 });
    await batch.executeParallel((t: Tensor) => t.sum().compute());
    expect(gpu.batchCounts().operations.function).toMatchObject({ calls: 1, items: 5 });
  });
});

describe('lattices', () => {
  it('5 of (4, 8): XOR with new keys, and shortest paths', async () => {
    await using batch = createBatch(
      numbers(5).map(() => new Lattice({ dimensions: 4, size: 8 })),
      { runtime: rt },
    );
    const data = numbers(5).map((i) => values(20, i + 1));
    const { data: mixed, keys } = await batch.batchXorTransform(data);
    const bytes = (a: Float32Array): number[] => [...new Uint8Array(a.buffer)];
    mixed.forEach((m, i) => {
      expect(bytes(m as Float32Array)).toEqual(bytes(data[i]!).map((b, j) => b ^ bytes(keys[i] as Float32Array)[j]!));
    });
    const paths = (await batch.batchShortestPaths(numbers(5).map((i) => [0, 4095 - i] as const))) as {
      length: number;
    }[];
    expect(paths.map((p) => p.length)).toEqual(numbers(5).map((i) => 28 - i));
    await expect(batch.batchShortestPaths([[0, 1]])).rejects.toMatchObject({ code: 'LENGTH_MISMATCH' });
    // Items that are keys are used as keys.
    await using keyed = createBatch(keys as readonly Float32Array[], { runtime: rt });
    const back = await keyed.batchXorTransform(mixed as unknown as readonly Float32Array[]);
    expect(bytes(back.data[3] as Float32Array)).toEqual(bytes(data[3]!));
  });
});

describe('a device that is lost', () => {
  it('in batch 3 of 5: the others keep their results, that one is repeated, the result is equal', async () => {
    const gpu = fakeGpu();
    const lossy = (await gpu.open({ routing: { device: 'cuda:0' }, recovery: { backoffMs: [0] } })) as Runtime;
    const data = numbers(20).map((i) => values(50, i + 1));
    await using batch = createBatch(data, { runtime: lossy, maxBatchSize: 4, concurrency: 1 });
    let batches = 0;
    batch.onBatch(() => {
      if (++batches === 2) gpu.device().lose('in the middle');
    });
    const got = await batch.batchElementwise(data, 'square');
    got.forEach((g, i) => {
      expect(g).toEqual(data[i]!.map((x) => x * x));
    });
    expect(batches).toBe(5);
    expect(gpu.opened()).toBeGreaterThanOrEqual(2);
    await lossy.close();
  });

  it.each([1, 2, 12])('while %i arrays are on it, of which nobody keeps a copy: they are run again', async (count) => {
    const gpu = fakeGpu();
    const lossy = (await gpu.open({ routing: { device: 'cuda:0' }, recovery: { backoffMs: [0] } })) as Runtime;
    const data = numbers(count).map((i) => values(50, i + 1));
    const device = gpu.device();
    const launch = device.launch.bind(device);
    let first = true;
    device.launch = (...args) => {
      if (first) device.lose('with the data on it');
      first = false;
      launch(...args);
    };
    const got = await batchElementwise(data, 'square', undefined, { runtime: lossy });
    expect(first).toBe(false);
    expect(gpu.opened()).toBe(2);
    expect(got).toHaveLength(count);
    got.forEach((g, i) => {
      expect(g).toEqual(data[i]!.map((x) => x * x));
    });
    await lossy.close();
  });

  it('abort leaves nothing behind', async () => {
    // A runtime of its own: on the shared one the collector takes what earlier tests forgot.
    const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const stop = new AbortController();
    const tensors = numbers(30).map((i) => rt.tensor(values(64, i)) as Tensor);
    await using batch = createBatch(tensors, { runtime: rt, maxBatchSize: 3 });
    batch.onBatch(() => stop.abort());
    const start = performance.now();
    await expect(batch.batchElementwise(tensors, 'exp', undefined, { signal: stop.signal })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(performance.now() - start).toBeLessThan(within(5000));
    for (const t of tensors) t.dispose();
    expect(rt.stats()).toMatchObject({ tensors: 0, bytes: 0 });
    await rt.close();
  });
});
