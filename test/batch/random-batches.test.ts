// Random processors and datasets, each beside a plain loop over the same items: any size of batch, any function, failures, sources
// that come slowly, fail or are given up.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BatchOperationError, createBatch } from '../../src/batch/index.ts';
import type { RecordArray } from '../../src/batch/reader.ts';
import type { GPUCompute } from '../../src/compute/index.ts';
import type { Tensor } from '../../src/index.ts';
import { random } from '../support/cpu.ts';
import { all } from '../support/extent.ts';
import { cpuFacade, facade, fakeGpu } from '../support/facade.ts';
import { seed } from '../support/seed.ts';
import { ownRuntimes } from './own-runtimes.ts';

const runtimes = ownRuntimes();
const facades: GPUCompute[] = [];
beforeAll(() => {
  facades.push(cpuFacade(), facade(fakeGpu()).gpu);
});
afterAll(async () => {
  for (const f of facades) await f.dispose();
});

const draw = random(seed + 41);
const below = (n: number): number => Math.floor(draw() * n);
const oneOf = <const L extends readonly unknown[]>(...list: L): L[number] => list[below(list.length)]!;
const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, below(3)));

/** Sizes, and how many batches there may be at once. */
const settings = () => {
  const maxBatchSize = 1 + below(9);
  return { maxBatchSize, minBatchSize: 1 + below(maxBatchSize), concurrency: 1 + below(4), autoOptimize: false };
};

/** How a function answers: at once, later, or by a promise that is there. */
const answering =
  <T, R>(how: 'now' | 'later' | 'promise' | 'mixed', work: (item: T, i: number) => R) =>
  (item: T, i: number): R | Promise<R> => {
    const way = how === 'mixed' ? oneOf('now', 'later', 'promise') : how;
    if (way === 'now') return work(item, i);
    if (way === 'promise') return new Promise((resolve) => resolve(work(item, i)));
    return later().then(() => work(item, i));
  };

describe('random processors', () => {
  it('give what a loop gives, in its order, and name an item that fails', async () => {
    for (let round = 0; round < (all ? 400 : 60); round++) {
      const items = numbers(below(30));
      const bad = new Set(items.filter(() => draw() < oneOf(0, 0, 0.1)));
      const work = (n: number, i: number): number => {
        if (bad.has(i)) throw new RangeError(`item ${i}`);
        return 3 * n + i;
      };
      const how = oneOf('now', 'later', 'promise', 'mixed');
      const fn = answering(how, work);
      const each = draw() < 0.3 ? items.map(() => fn) : fn;
      await using batch = createBatch(items, settings());
      const told: number[] = [];
      const options = { onProgress: (done: number) => told.push(done) };
      const got = await batch.executeParallel(each, { ...options, onError: 'collect' });
      expect(got.map((o) => o.ok)).toEqual(items.map((i) => !bad.has(i)));
      for (const [i, o] of got.entries()) {
        if (o.ok) expect(o.value).toBe(4 * i);
        else expect((o.error as Error).message).toBe(`item ${i}`);
      }
      expect(told).toEqual([...told].sort((a, b) => a - b));
      expect(told.at(-1) ?? 0).toBe(items.length);
      const thrown = await batch.executeParallel(each).then(
        (values) => {
          expect(values).toEqual(items.map((n) => 4 * n));
          return null;
        },
        (e: BatchOperationError) => e,
      );
      expect(thrown === null).toBe(bad.size === 0);
      if (thrown) {
        expect(bad).toContain(thrown.index);
        for (const [i, r] of thrown.results.entries()) if (typeof r === 'number') expect(r).toBe(4 * i);
        // Whatever else runs at the same time, what comes before the first failure in its batch is kept.
        expect(thrown.completed).toBe(thrown.results.filter((r) => typeof r === 'number').length);
      }
      const { totalItemsProcessed } = batch.stats();
      expect(totalItemsProcessed).toBe(items.length - bad.size + (thrown?.completed ?? items.length));
    }
  });

  it('of tensors leave as many as they return, on a device that can be lost too', async () => {
    for (let round = 0; round < (all ? 200 : 24); round++) {
      const rt = oneOf(runtimes.cpu, runtimes.gpu);
      const shapes = numbers(1 + below(3)).map(() => numbers(below(3)).map(() => below(6)));
      const items = numbers(1 + below(20)).map((i) => {
        const shape = oneOf(...shapes);
        const size = shape.reduce((n, d) => n * d, 1);
        return rt.tensor(
          Float32Array.from({ length: size }, (_, k) => k + i),
          shape,
        ) as Tensor;
      });
      const bad = new Set(numbers(items.length).filter(() => draw() < oneOf(0, 0, 0.15)));
      const { tensors } = rt.stats();
      await using batch = createBatch(items, { ...settings(), runtime: rt });
      const fn = answering(oneOf('now', 'later', 'mixed'), (t: Tensor, i: number): Tensor => {
        if (bad.has(i)) throw new RangeError(`item ${i}`);
        return t.add(1);
      });
      const made = await batch.executeParallel(fn, { onError: 'collect' });
      for (const [i, o] of made.entries()) {
        expect(o.ok).toBe(!bad.has(i));
        if (!o.ok) continue;
        const want = ((await items[i]!.data()) as Float32Array).map((v) => v + 1);
        expect(await o.value.data()).toEqual(want);
        o.value.dispose();
      }
      expect(rt.stats().tensors).toBe(tensors);
      const squares = await batch.batchElementwise(items, 'square');
      for (const [i, t] of squares.entries()) {
        expect(t.shape).toEqual(items[i]!.shape);
        expect(await t.data()).toEqual(((await items[i]!.data()) as Float32Array).map((v) => v * v));
        t.dispose();
      }
      expect(rt.stats().tensors).toBe(tensors);
      for (const t of items) t.dispose();
    }
  });
});

/** What is held: notes on how well that is known change with the first device that is opened. */
const held = (of: GPUCompute): readonly number[] => {
  const { numTensors, numBytes } = of.monitor.getMemoryUsage();
  return [numTensors, numBytes];
};

const classes = [Float32Array, Float64Array, Int32Array, Uint8Array] as const;

/** The same records as a list, a generator, or one that makes one wait; `fails`: before which of them it throws. */
function sourceOf(records: readonly RecordArray[], fails: number | null) {
  const kind = oneOf('list', 'generator', 'slow', 'iterator');
  if (kind === 'list' && fails === null) return records;
  if (kind === 'generator' || kind === 'list')
    return (function* () {
      for (const [i, r] of records.entries()) {
        if (i === fails) throw new RangeError('the source failed');
        yield r;
      }
      if (fails === records.length) throw new RangeError('the source failed');
    })();
  if (kind === 'slow')
    return (async function* () {
      for (const [i, r] of records.entries()) {
        if (i === fails) throw new RangeError('the source failed');
        if (draw() < 0.2) await later();
        yield r;
      }
      if (fails === records.length) throw new RangeError('the source failed');
    })();
  return {
    [Symbol.asyncIterator]: () => {
      let i = 0;
      // An iterator without `return`, as written by hand.
      return {
        next: async () => {
          if (i === fails) throw new RangeError('the source failed');
          return i < records.length
            ? { done: false as const, value: records[i++]! }
            : { done: true as const, value: undefined };
        },
      };
    },
  };
}

describe('random datasets', () => {
  it('give what a loop gives, whatever the source and the chunks are, and leave nothing', async () => {
    for (let round = 0; round < (all ? 300 : 40); round++) {
      const facade = oneOf(...facades);
      const records = numbers(below(40)).map((i): RecordArray => {
        const Class = oneOf(...classes);
        return new Class(oneOf(1, 3, 3, 3, 200)).fill((i % 7) + 1);
      });
      const op = oneOf(
        'sum',
        'square',
        'max',
        (x: Tensor) => x.add(1),
        (x: Tensor) => x,
      );
      const want = records.map((r) => {
        const list = Array.from(r, Number);
        if (op === 'sum') return [list.reduce((a, b) => a + b, 0)];
        if (op === 'max') return [Math.max(...list)];
        return list.map((v) =>
          op === 'square' ? v * v : typeof op === 'function' && String(op).includes('add') ? v + 1 : v,
        );
      });
      const fails = draw() < 0.2 ? below(records.length + 1) : null;
      const chunkSize = oneOf('adaptive' as const, 1 + below(12));
      const before = held(facade);
      const told: number[] = [];
      const run = facade.processDataset(sourceOf(records, fails) as never, {
        op,
        chunkSize,
        onProgress: (done) => told.push(done),
      });
      if (fails === null) {
        const { results, records: count } = await run;
        expect(count).toBe(records.length);
        expect(results.map((r) => Array.from(r, Number))).toEqual(want);
        expect(told.at(-1) ?? 0).toBe(records.length);
      } else await expect(run).rejects.toThrow('the source failed');
      expect(held(facade)).toEqual(before);
    }
  });

  it('given up at any moment end so, and leave nothing', async () => {
    for (let round = 0; round < (all ? 120 : 16); round++) {
      const facade = oneOf(...facades);
      const records = numbers(2 + below(20)).map((i) => new Float32Array(50).fill(i));
      const before = held(facade);
      const stop = new AbortController();
      const at = below(records.length);
      let computed = 0;
      const run = facade.processDataset(sourceOf(records, null) as never, {
        chunkSize: 1 + below(5),
        signal: stop.signal,
        op: (x) => {
          if (computed++ === at) stop.abort();
          return x.mul(2);
        },
      });
      const outcome = await run.then(
        ({ results }) => results.length,
        (e: { code: string }) => e.code,
      );
      // In the last chunk there may be nothing left to give up.
      expect(['ABORTED', records.length]).toContain(outcome);
      expect(held(facade)).toEqual(before);
    }
  });

  it.each<[string, (x: Tensor) => unknown]>([
    ['nothing', () => undefined],
    ['a promise', async (x) => x],
    ['a number', () => 7],
    [
      'a tensor that is disposed of',
      (x) => {
        const y = x.add(1);
        y.dispose();
        return y;
      },
    ],
  ])('a function that returns %s is told so', async (_, op) => {
    for (const facade of facades) {
      const before = held(facade);
      const run = facade.processDataset([Float32Array.of(1, 2)], { op: op as never });
      await expect(run).rejects.toThrow(/processBatch|processDataset|dispose|runtime/);
      expect(held(facade)).toEqual(before);
    }
  });
});
