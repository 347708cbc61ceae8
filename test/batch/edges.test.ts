// What lists, functions and sources can be that nobody thinks of: shared and odd memory, duplicates, results that are inputs, functions
// that never end, listeners that throw, signals at every step.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { batchElementwise, batchMatmul, batchXor, batchXorWithNewKeys, createBatch } from '../../src/batch/index.ts';
import type { Runtime, Tensor, TypedArray } from '../../src/index.ts';
import { fakeGpu, TestClock, values } from '../support/facade.ts';
import { within } from '../support/time.ts';
import { ownRuntimes } from './own-runtimes.ts';
import { bytes, xorLoop } from './random-lists.ts';

const folder = mkdtempSync(join(tmpdir(), 'gpuforge-edges-'));
const runtimes = ownRuntimes();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(['cpu', 'gpu'] as const)('lists on the %s', (kind) => {
  it('results that are their inputs have a life of their own', async () => {
    const rt = runtimes[kind];
    const x = [rt.tensor([1, 2]) as Tensor, rt.tensor([3, 4]) as Tensor];
    for (const [op, by] of [
      ['multiply', 1],
      ['add', 0],
    ] as const) {
      const made = await batchElementwise(x, op, by, { runtime: rt });
      for (const t of made) t.dispose();
      expect(await x[1]!.data()).toEqual(Float32Array.of(3, 4));
      const [again] = await batchElementwise([x[0]!], op, by, { runtime: rt });
      expect(again).not.toBe(x[0]);
      expect(await again!.data()).toEqual(Float32Array.of(1, 2));
      again!.dispose();
    }
    for (const t of x) t.dispose();
  });

  it('inputs may be disposed of as soon as the call has returned', async () => {
    const rt = runtimes[kind];
    const x = numbers(12).map((i) => rt.tensor(values(40, i)) as Tensor);
    const wanted = numbers(12).map((i) => values(40, i).map((v) => v * v));
    const making = batchElementwise(x, 'square', undefined, { runtime: rt });
    for (const t of x) t.dispose();
    const made = await making;
    for (const [i, t] of made.entries()) expect(await t.data()).toEqual(wanted[i]);
    for (const t of made) t.dispose();
  });

  it('one tensor may be every item, and both operands', async () => {
    const rt = runtimes[kind];
    const t = rt.tensor([
      [1, 2],
      [3, 4],
    ]) as Tensor;
    const list = numbers(9).map(() => t);
    const live = rt.stats().tensors;
    for (const [made, want] of [
      [await batchMatmul(list, list, { runtime: rt }), [7, 10, 15, 22]],
      [await batchElementwise(list, 'square', undefined, { runtime: rt }), [1, 4, 9, 16]],
      [await batchXor(list, list, { runtime: rt }), [0, 0, 0, 0]],
      [await batchXor(list, t, { runtime: rt }), [0, 0, 0, 0]],
    ] as const) {
      expect(made).toHaveLength(9);
      expect(new Set(made).size).toBe(9);
      for (const m of made) {
        expect([...(await m.data())]).toEqual(want);
        m.dispose();
      }
    }
    expect(rt.stats().tensors).toBe(live);
    t.dispose();
  });

  it('products of no rows, no columns and no depth are empty, or zeros', async () => {
    const rt = runtimes[kind];
    for (const shape of [
      [0, 3, 2],
      [2, 3, 0],
      [2, 0, 3],
      [0, 0, 0],
    ] as const) {
      const [m, k, n] = shape;
      const [a, b] = [numbers(3).map(() => new Float32Array(m * k)), numbers(3).map(() => new Float32Array(k * n))];
      const made = await batchMatmul(a, b, { runtime: rt, shapes: [shape] });
      expect(made.map((x) => [...x])).toEqual(numbers(3).map(() => new Array(m * n).fill(0)));
      const [ta, tb] = [a.map((x) => rt.tensor(x, [m, k]) as Tensor), b.map((x) => rt.tensor(x, [k, n]) as Tensor)];
      const tensors = await batchMatmul(ta, tb, { runtime: rt });
      for (const t of tensors) {
        expect(t.shape).toEqual([m, n]);
        expect([...(await t.data())]).toEqual(new Array(m * n).fill(0));
      }
      for (const t of [...ta, ...tb, ...tensors]) t.dispose();
    }
  });

  it('XOR takes bytes of every class, at every offset, in shared memory too', async () => {
    const rt = runtimes[kind];
    const classes = [Int8Array, Uint8ClampedArray, Int16Array, Uint16Array, Uint8Array, Float64Array, BigInt64Array];
    for (const Class of classes) {
      const make = (seed: number, count: number): TypedArray => {
        const memory = new SharedArrayBuffer(4096);
        const all = new Uint8Array(memory);
        for (let i = 0; i < all.length; i++) all[i] = (i * 31 + seed * 17) & 255;
        const Any = Class as unknown as new (m: SharedArrayBuffer, offset: number, length: number) => TypedArray;
        return new Any(memory, Class.BYTES_PER_ELEMENT * (1 + (seed % 3)), count);
      };
      const data = numbers(5).map((i) => make(i, [1, 3, 3, 7, 0][i]!));
      const keys = numbers(5).map((i) => make(i + 9, [1, 3, 3, 7, 0][i]!));
      const made = await batchXor(data, keys, { runtime: rt });
      for (const [i, m] of made.entries()) {
        expect(m.constructor).toBe(Class);
        expect(bytes(m)).toEqual(data[i]!.length === 0 ? [] : xorLoop(data[i]!, keys[i]!));
      }
      const alone = await batchXor([data[3]!], keys[3]!, { runtime: rt });
      expect(bytes(alone[0]!)).toEqual(xorLoop(data[3]!, keys[3]!));
    }
  });

  it("XOR of Node's buffers gives buffers, and no warnings", async () => {
    const warnings: Error[] = [];
    const heard = (w: Error): void => void warnings.push(w);
    process.on('warning', heard);
    const data = ['hello', 'a', 'world', ''].map((t) => Buffer.from(t));
    for (const list of [data, data.slice(0, 1)]) {
      const made = await batchXor(list, Buffer.from('k'), { runtime: runtimes[kind] });
      expect(made.every((m) => Buffer.isBuffer(m))).toBe(true);
      expect(made.map(bytes)).toEqual(list.map((b) => [...b].map((x) => x ^ 107)));
      const { data: drawn, keys } = await batchXorWithNewKeys(list, { runtime: runtimes[kind], seed: 3 });
      expect(keys.every((k) => Buffer.isBuffer(k))).toBe(true);
      const back = await batchXor(drawn, keys, { runtime: runtimes[kind] });
      expect(back.map((b) => `${b}`)).toEqual(list.map((b) => `${b}`));
    }
    await pause(0);
    process.off('warning', heard);
    expect(warnings).toEqual([]);
    await expect(batchXorWithNewKeys(data, { runtime: runtimes[kind], seed: 1.5 })).rejects.toThrow('seed is 1.5');
  });

  it.each([
    ['undefined', [Float32Array.of(1), undefined]],
    ['a hole', Object.assign(new Array(3), { 0: Float32Array.of(1), 2: Float32Array.of(2) })],
    ['null first', [null, Float32Array.of(1)]],
    ['a plain array', [[1, 2]]],
    ['a DataView', [new DataView(new ArrayBuffer(4))]],
    ['a buffer', [new ArrayBuffer(4)]],
  ])('%s among the items is refused, and nothing runs', async (_, list) => {
    const rt = runtimes[kind];
    const before = rt.stats().launches;
    for (const call of [
      () => batchElementwise(list as never, 'exp', 0, { runtime: rt }),
      () => batchXor(list as never, list as never, { runtime: rt }),
      () => batchMatmul(list as never, list as never, { runtime: rt, shapes: [[1, 1, 1]] }),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(rt.stats().launches).toBe(before);
  });

  it('a listener that throws ends the call with its error, and leaves nothing', async () => {
    const rt = runtimes[kind];
    const x = numbers(3).map((i) => rt.tensor(values(50, i)) as Tensor);
    const { tensors, bytes: held } = rt.stats();
    const onProgress = (): void => {
      throw new RangeError('mine');
    };
    for (const call of [
      () => batchElementwise(x, 'square', undefined, { runtime: rt, onProgress }),
      () => batchElementwise(x, 'square', undefined, { runtime: rt, onProgress, signal: new AbortController().signal }),
      () => batchElementwise([values(9)], 'square', undefined, { runtime: rt, onProgress }),
    ])
      await expect(call()).rejects.toThrow('mine');
    expect(rt.stats()).toMatchObject({ tensors, bytes: held });
    for (const t of x) t.dispose();
  });

  it('a listener whose promise never ends is left when the call is aborted', async () => {
    const rt = runtimes[kind];
    const { tensors, bytes: held } = rt.stats();
    for (const out of ['arrays', 'tensors'] as const) {
      const stop = new AbortController();
      const onProgress = (): Promise<void> => {
        queueMicrotask(() => stop.abort());
        return new Promise(() => {});
      };
      const call = batchElementwise([values(9)], 'square', undefined, {
        runtime: rt,
        out,
        onProgress,
        signal: stop.signal,
      });
      await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
    }
    expect(rt.stats()).toMatchObject({ tensors, bytes: held });
  });

  it('aborted after any of its batches, it ends so and leaves nothing; the next call is right', async () => {
    const rt = runtimes[kind];
    const x = numbers(10).map((i) => rt.tensor(values(30 + (i % 3), i)) as Tensor);
    await using batch = createBatch(x, { runtime: rt, maxBatchSize: 2, autoOptimize: false });
    const { tensors, bytes: held } = rt.stats();
    for (let step = 0; step < 6; step++) {
      const stop = new AbortController();
      if (step === 0) stop.abort();
      let told = 0;
      const onProgress = (): void => {
        if (++told === step) stop.abort();
      };
      const made = batch.batchElementwise(x, 'square', undefined, { signal: stop.signal, onProgress });
      // After the last batch there is nothing left to abort.
      if (step < 5) await expect(made).rejects.toMatchObject({ code: 'ABORTED' });
      else for (const t of await made) t.dispose();
      expect(rt.stats()).toMatchObject({ tensors, bytes: held });
    }
    const made = await batch.batchElementwise(x, 'square');
    for (const [i, t] of made.entries()) expect(await t.data()).toEqual(values(30 + (i % 3), i).map((v) => v * v));
    for (const t of [...made, ...x]) t.dispose();
  });
});

it.each([
  ['a short list', 8],
  ['a long list', 1024],
])('the copies that stacking makes are part of what an item takes: %s', async (_, m) => {
  const rt = (await fakeGpu().open({ routing: { device: 'cuda:0' } })) as Runtime;
  const [count, n] = [8, 4];
  const make = (rows: number, columns: number): Tensor[] =>
    numbers(count).map((i) => rt.tensor(values(rows * columns, 7 * i), [rows, columns]) as Tensor);
  const [a, b] = [make(m, m), make(m, n)];
  for (const t of [...a, ...b]) t.compute();
  const { bytes: before } = rt.stats();
  const made = await batchMatmul(a, b, { runtime: rt });
  expect(made.report.launches).toBeLessThan(count);
  const [left, right, result] = [4 * m * m, 4 * m * n, 4 * m * n];
  const planned = made.report.mbPerItem.mb * 2 ** 20;
  expect(planned).toBe(2 * (left + right + result));
  expect(count * (left + right) + rt.stats().peakBytes - before).toBeLessThanOrEqual(count * planned);
  // One matrix for all is not copied.
  const one = numbers(count).map(() => b[0]!);
  const shared = await batchMatmul(a, one, { runtime: rt });
  expect(shared.report.mbPerItem.mb * 2 ** 20).toBe(2 * (left + result) + right);
  for (const t of [...a, ...b, ...made, ...shared]) t.dispose();
  await rt.close();
});

describe('functions', () => {
  it('may return nothing, undefined, a thenable, or reject with anything', async () => {
    await using batch = createBatch(numbers(6), { maxBatchSize: 2 });
    expect(await batch.executeParallel(() => {})).toEqual(numbers(6).map(() => undefined));
    // biome-ignore lint/suspicious/noThenProperty: what other libraries return.
    const thenable = { then: (ok: (v: number) => void) => ok(7) };
    expect(await batch.executeParallel(() => thenable as never)).toEqual(numbers(6).map(() => 7));
    for (const reason of ['text', undefined, null, 7, { code: 1 }]) {
      const fn = (n: number): Promise<number> => (n === 3 ? Promise.reject(reason) : Promise.resolve(n));
      await expect(batch.executeParallel(fn)).rejects.toMatchObject({ index: 3, code: 'BATCH_FAILED' });
      const all = await batch.executeParallel(fn, { onError: 'collect' });
      expect(all[3]).toEqual({ ok: false, error: reason });
      expect(all.filter((o) => o.ok)).toHaveLength(5);
    }
  });

  it('that took too long are not called for the items behind, once the batch goes on without them', async () => {
    await using batch = createBatch(numbers(4), { maxBatchSize: 4, timeoutMs: 40 });
    const calls: number[] = [];
    let release = (): void => {};
    const stuck = new Promise<void>((resolve) => {
      release = resolve;
    });
    const fn = async (n: number): Promise<number> => {
      calls.push(n);
      if (n === 1) await stuck;
      return n;
    };
    const all = await batch.executeParallel(fn, { onError: 'collect' });
    expect(all.map((o) => o.ok)).toEqual([true, false, true, true]);
    const before = calls.length;
    release();
    await pause(20);
    expect(calls).toHaveLength(before);
  });

  it('of tensors may return the item itself, one tensor for all, or one that is disposed of', async () => {
    const rt = runtimes.cpu;
    const x = numbers(5).map((i) => rt.tensor([i]) as Tensor);
    await using batch = createBatch(x, { runtime: rt, maxBatchSize: 2 });
    expect(await batch.executeParallel((t) => t)).toEqual(x);
    const one = rt.tensor([9]) as Tensor;
    expect(new Set(await batch.executeParallel(() => one))).toEqual(new Set([one]));
    const gone = rt.tensor([1]) as Tensor;
    gone.dispose();
    expect((await batch.executeParallel(() => gone))[0]).toBe(gone);
    for (const t of [...x, one]) t.dispose();
  });

  it('in worker threads that never end fail alone: the other items are done', async () => {
    const module = join(folder, 'stuck.mjs');
    writeFileSync(module, 'export const work = (n) => (n % 5 === 2 ? new Promise(() => {}) : n * n);');
    await using batch = createBatch(numbers(10), { maxBatchSize: 2, timeoutMs: within(150) });
    const all = await batch.executeParallel<number>({ module, export: 'work' }, { onError: 'collect' });
    expect(all.map((o) => o.ok)).toEqual(numbers(10).map((n) => n % 5 !== 2));
    for (const n of [2, 7]) expect(all[n]).toMatchObject({ error: { code: 'TIMEOUT', index: n } });
    expect(all.flatMap((o) => (o.ok ? [o.value] : []))).toEqual(
      numbers(10)
        .filter((n) => n % 5 !== 2)
        .map((n) => n * n),
    );
  }, 120_000);

  it('in worker threads that wait behind others that never end lose none of their time', async () => {
    const module = join(folder, 'behind.mjs');
    const stuck = 2 * availableParallelism();
    writeFileSync(module, `export const work = (n) => (n < ${stuck} ? new Promise(() => {}) : n * n);`);
    const settings = { maxBatchSize: 1, minBatchSize: 1, concurrency: stuck + 2, timeoutMs: within(100) };
    await using batch = createBatch(numbers(stuck + 2), settings);
    const all = await batch.executeParallel<number>({ module, export: 'work' }, { onError: 'collect' });
    const got = all.map((o) => (o.ok ? o.value : (o.error as { code: string }).code));
    expect(got).toEqual(numbers(stuck + 2).map((n) => (n < stuck ? 'TIMEOUT' : n * n)));
  }, 120_000);

  it('in worker threads have their whole time, however long importing their module takes', async () => {
    const module = join(folder, 'heavy.mjs');
    const ms = within(400);
    writeFileSync(
      module,
      `await new Promise((r) => setTimeout(r, ${ms}));
       export const work = (n) => (n === 1 ? new Promise(() => {}) : n * n);`,
    );
    await using batch = createBatch(numbers(6), { maxBatchSize: 2, timeoutMs: ms / 2 });
    const all = await batch.executeParallel<number>({ module, export: 'work' }, { onError: 'collect' });
    expect(all.map((o) => o.ok)).toEqual([true, false, true, true, true, true]);
  }, 120_000);

  it('in worker threads that die take nothing with them but the item they worked on', async () => {
    const module = join(folder, 'dies.mjs');
    // Short items lie ready beside a thread when it dies.
    writeFileSync(module, 'export const work = (n) => { if (n === 150) process.exit(3); return n * n; };');
    await using batch = createBatch(numbers(300), { maxBatchSize: 100 });
    const all = await batch.executeParallel<number>({ module, export: 'work' }, { onError: 'collect' });
    expect(all.map((o) => (o.ok ? o.value : -1))).toEqual(numbers(300).map((n) => (n === 150 ? -1 : n * n)));
    expect(all[150]).toMatchObject({ ok: false, error: { message: expect.stringContaining('ended with code 3') } });
  }, 120_000);

  it('in worker threads have items of their own, and their results are what they were when they were returned', async () => {
    const module = join(folder, 'own.mjs');
    writeFileSync(
      module,
      `const seen = [];
       export const add = (item) => { item[0] += 1; seen[0] = item[0]; return seen; };
       export const same = (n, index) => (n.count = (n.count ?? 0) + 1, { index, count: n.count });`,
    );
    // Short ones, which travel together once it is known that they are.
    const [list, record] = [[0], { name: 'one for all' }];
    await using lists = createBatch(
      numbers(200).map((n) => (n % 2 === 0 ? list : [n])),
      { maxBatchSize: 100 },
    );
    const want = numbers(200).map((n) => [n % 2 === 0 ? 1 : n + 1]);
    expect(await lists.executeParallel({ module, export: 'add' })).toEqual(want);
    expect(list).toEqual([0]);
    await using records = createBatch(
      numbers(200).map(() => record),
      { maxBatchSize: 100 },
    );
    expect(await records.executeParallel({ module, export: 'same' })).toEqual(
      numbers(200).map((index) => ({ index, count: 1 })),
    );
  }, 60_000);

  it('name the first item that fails, and results before it are there, whichever batch failed first', async () => {
    const items = numbers(12);
    const batch = createBatch(items, { maxBatchSize: 4, concurrency: 3 });
    // The third batch fails before the first one does.
    const fails = async (n: number): Promise<number> => {
      await pause(n < 4 ? 20 : 0);
      if (n === 2 || n === 9) throw new Error(`no ${n}`);
      return n;
    };
    const tensors = items.map((n) => runtimes.cpu.tensor([n]) as Tensor);
    const device = createBatch(tensors, { maxBatchSize: 4, concurrency: 3, runtime: runtimes.cpu });
    for (const run of [() => batch.executeParallel(fails), () => device.executeParallel((_, i) => fails(i))]) {
      const error = await run().catch((e) => e);
      expect([error.index, error.results.slice(0, 2)]).toEqual([2, [0, 1]]);
    }
    for (const t of tensors) t.dispose();
  });

  it('that never end are aborted when their processor is disposed of, and a list of it is waited for', async () => {
    // Its five seconds are over at once.
    const batch = createBatch([1, 2], { clock: new TestClock(), timeoutMs: Number.POSITIVE_INFINITY });
    const ended = expect(batch.executeParallel(() => new Promise(() => {}))).rejects.toThrow(
      'BatchProcessor: the processor was disposed of while this call ran',
    );
    await batch.dispose();
    await ended;
    // To open a runtime may take longer than those five seconds.
    const lists = createBatch([1], { runtime: runtimes.cpu });
    const data = numbers(40).map((i) => new Float32Array(1000).fill(i));
    const list = lists.batchElementwise(data, 'square');
    await lists.dispose();
    expect((await list).map((x) => x[7])).toEqual(numbers(40).map((i) => i * i));
  });

  it('a processor that is disposed of while it works refuses the next call, and ends this one', async () => {
    const batch = createBatch(numbers(8), { maxBatchSize: 2 });
    const running = batch.executeParallel(async (n) => {
      await pause(5);
      return n;
    });
    await batch.dispose();
    expect(await running).toEqual(numbers(8));
    await expect(batch.executeParallel((n) => n)).rejects.toThrow(/disposed/);
    await batch.dispose();
  });
});

describe('what makes no sense is told in words that help', () => {
  it('a module that cannot be loaded is named; one that sends messages of its own disturbs nothing', async () => {
    const [broken, talks] = [join(folder, 'broken.mjs'), join(folder, 'talks.mjs')];
    writeFileSync(broken, 'export const work = (n => ;');
    writeFileSync(
      talks,
      `import { parentPort } from 'node:worker_threads';
       export const work = (n) => { for (const m of ['hello', undefined, [{ value: 0 }]]) parentPort.postMessage(m); return n * n; };`,
    );
    await using batch = createBatch(numbers(40));
    await expect(batch.executeParallel({ module: broken, export: 'work' })).rejects.toThrow(
      /broken\.mjs cannot be imported: Unexpected token/,
    );
    expect(await batch.executeParallel({ module: talks, export: 'work' })).toEqual(numbers(40).map((n) => n * n));
  }, 60_000);

  it('a module without that function, items and results that cannot be sent', async () => {
    const module = join(folder, 'odd.mjs');
    writeFileSync(module, 'export const made = () => () => 1;');
    await using batch = createBatch([1, 2]);
    const run = (more: { module: string; export: string }) => batch.executeParallel(more, { onError: 'collect' });
    await expect(run({ module, export: 'none' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('exports no function none'),
    });
    await expect(run({ module: join(folder, 'gone.mjs'), export: 'made' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('gone.mjs'),
    });
    const [made] = await run({ module, export: 'made' });
    expect(String(made!.ok ? '' : made!.error)).toContain('its result cannot be sent from a worker thread');
    await using odd = createBatch([() => 1]);
    await expect(odd.executeParallel({ module, export: 'made' })).rejects.toThrow(
      'item 0 of 1 failed: the item cannot be sent to a worker thread',
    );
  });

  it('a size that is none, a key for all, a view that is no array', async () => {
    for (const mb of [Number.NaN, 0, 'x'] as number[]) {
      await using batch = createBatch([1], { mbPerItem: () => mb });
      await expect(batch.executeParallel((n) => n)).rejects.toMatchObject({ code: 'BAD_OPTION' });
    }
    await expect(batchXor([Uint8Array.of(1)], null as never)).rejects.toThrow('the key is null');
    const view = new DataView(new ArrayBuffer(4)) as never;
    await expect(batchElementwise([view], 'square')).rejects.toThrow('item 0 is a DataView');
    // Lists do not go on with the other items: no option is advised that they do not have.
    const gone = new Uint8Array(4);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    const error = await batchXor([gone, Uint8Array.of(1)], Uint8Array.of(1)).catch((e: unknown) => e);
    expect(error).toMatchObject({ index: 0, fix: expect.not.stringContaining('onError') });
  });
});
