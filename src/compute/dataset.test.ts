import { describe, expect, it, vi } from 'vitest';
import { cpuFacade, facade, fakeGpu, keptFacades, values } from '../../test/support/facade.ts';
import type { RecordArray } from '../batch/reader.ts';
import { AbortError, InvalidArgumentError, OutOfMemoryError } from './errors.ts';

const keep = keptFacades();

const meanSquare = (d: ArrayLike<number>): number => {
  let sum = 0;
  for (let i = 0; i < d.length; i++) sum += d[i]! * d[i]!;
  return sum / d.length;
};
const flat = (results: readonly ArrayLike<number | bigint>[]): number[] =>
  results.flatMap((r) => Array.from(r, Number));

describe('a dataset', () => {
  it('goes to the device and back, with right values, times and metrics', async () => {
    const gpu = keep(cpuFacade());
    const data = values(64 * 300);
    const report = await gpu.processDataset(data, { recordLength: 64, op: 'meanSquare' });
    expect(report).toMatchObject({ records: 300, device: 'cpu', overlapped: false });
    expect(report.results).toHaveLength(300);
    report.results.forEach((r, i) => {
      expect(Number(r[0])).toBeCloseTo(meanSquare(data.subarray(64 * i, 64 * i + 64)), 6);
    });
    const { upload, compute, download, total } = report.times;
    for (const ms of [upload, compute, download]) expect(ms).toBeGreaterThan(0);
    expect(upload + compute + download).toBeLessThanOrEqual(total);
    expect(report.metrics.computeTime).toBeCloseTo(compute, 6);
    expect(report.metrics.memoryUsage).toMatchObject({ numTensors: 0, numBytes: 0 });
  });

  it.each(['meanSquare', 'sum', 'exp', 'norm', 'variance'] as const)(
    'of %s gives the same bits for any size of chunk',
    async (op) => {
      const gpu = keep(cpuFacade());
      const data = values(50 * 200);
      const one = flat((await gpu.processDataset(data, { recordLength: 50, op, chunkSize: 200 })).results);
      for (const chunkSize of [7, 100, 'adaptive'] as const) {
        expect(flat((await gpu.processDataset(data, { recordLength: 50, op, chunkSize })).results)).toEqual(one);
      }
    },
  );

  it('may have records of any length and type, in their order', async () => {
    const gpu = keep(cpuFacade());
    const records: RecordArray[] = [values(3), Int32Array.of(1, 2, 3, 4), values(3, 2), Float64Array.of(5), values(7)];
    const { results } = await gpu.processDataset(records, { op: 'sum' });
    expect(results.map((r) => r.constructor.name)).toEqual([
      'Float32Array',
      'BigInt64Array',
      'Float32Array',
      'Float64Array',
      'Float32Array',
    ]);
    results.forEach((r, i) => {
      expect(Number(r[0])).toBeCloseTo(
        Array.from(records[i]!, Number).reduce((a, b) => a + b, 0),
        5,
      );
    });
  });

  it('may be given to a function, record by record', async () => {
    const gpu = keep(cpuFacade());
    const { results } = await gpu.processDataset([Float32Array.of(1, 2), Float32Array.of(3)], { op: (x) => x.mul(10) });
    expect(results).toEqual([Float32Array.of(10, 20), Float32Array.of(30)]);
  });

  it('larger than memory is streamed, whatever the size of chunks is', async () => {
    const gpu = keep(cpuFacade({ cpu: { threads: 1, memoryBytes: 4 << 20 } }));
    let made = 0;
    async function* records(): AsyncGenerator<Float32Array> {
      for (let i = 0; i < 24; i++) {
        made++;
        yield values(100_000, i + 1);
      }
    }
    const { results, chunks } = await gpu.processDataset(records(), { chunkSize: 16 });
    expect(made).toBe(24);
    expect(chunks).toBe(2);
    results.forEach((r, i) => {
      expect(Number(r[0])).toBeCloseTo(meanSquare(values(100_000, i + 1)), 5);
    });
  });

  it('is read ahead while a chunk is processed, by one chunk at most', async () => {
    const gpu = keep(cpuFacade());
    let asked = 0;
    async function* records(): AsyncGenerator<Float32Array> {
      for (let i = 0; i < 20; i++) {
        asked++;
        yield values(300_000, i + 1);
      }
    }
    const ahead: number[] = [];
    const { results } = await gpu.processDataset(records(), {
      chunkSize: 4,
      onProgress: (done) => ahead.push(asked - done),
    });
    expect(ahead).toEqual([4, 4, 4, 4, 0]);
    results.forEach((r, i) => {
      expect(Number(r[0])).toBeCloseTo(meanSquare(values(300_000, i + 1)), 5);
    });
  });

  it('that arrives slowly is processed as it comes, with the same bits as all at once', async () => {
    const gpu = keep(cpuFacade());
    const records = Array.from({ length: 12 }, (_, i) => values(50, i + 1));
    const wanted = flat((await gpu.processDataset(records, { op: 'sum' })).results);
    let told: (done: number) => void = () => {};
    let done = 0;
    // Each record after the first is only there once the one before it is done: whoever waits for a whole chunk waits for ever.
    async function* slow(): AsyncGenerator<RecordArray> {
      for (const [i, record] of records.entries()) {
        while (done < i) {
          await new Promise<void>((resolve) => {
            told = () => resolve();
          });
        }
        yield record;
      }
    }
    const { results, chunks } = await gpu.processDataset(slow(), {
      op: 'sum',
      onProgress: (n) => {
        done = n;
        told(n);
      },
    });
    expect(flat(results)).toEqual(wanted);
    expect(chunks).toBe(12);
  });

  it('whose next record never comes can be aborted', async () => {
    const gpu = keep(cpuFacade());
    const stop = new AbortController();
    async function* stuck(): AsyncGenerator<Float32Array> {
      yield values(10);
      setTimeout(() => stop.abort(), 10);
      await new Promise(() => {});
    }
    await expect(gpu.processDataset(stuck(), { signal: stop.signal })).rejects.toThrow(AbortError);
  });

  it('travels to the device while the records before it are computed', async () => {
    const fake = fakeGpu();
    const { gpu } = facade(fake);
    keep(gpu);
    await gpu.devices.ready();
    const device = fake.device();
    const [launch, write] = [device.launch.bind(device), device.write.bind(device)];
    const order: string[] = [];
    const note = (what: string): void => {
      if (order.at(-1) !== what || what === 'copy') order.push(what);
    };
    Object.assign(device, {
      launch: (...args: Parameters<typeof launch>) => {
        note('compute');
        launch(...args);
      },
      write: (...args: Parameters<typeof write>) => {
        note('copy');
        write(...args);
      },
      // A device that takes its time, and tells when it is done.
      mark: () => ({
        done: () => false,
        whenDone: () => new Promise((resolve) => setTimeout(resolve, 1)),
        since: () => null,
      }),
    });
    const records = Array.from({ length: 6 }, (_, i) => values(1 << 18, i + 1));
    const { results, overlapped } = await gpu.processDataset(records, { op: 'meanSquare', chunkSize: 6 });
    results.forEach((r, i) => {
      expect(Number(r[0])).toBeCloseTo(meanSquare(records[i]!), 5);
    });
    // A copy starts behind the work that was enqueued before it, so each sets out before the work it is to overlap with.
    const step = ['copy', 'compute'];
    expect(order).toEqual(['copy', ...step, ...step, ...step, ...step, ...step]);
    expect(overlapped).toBe(true);
  });

  it('whose source fails, or never answers again, ends with that error or when it is aborted', async () => {
    const gpu = keep(cpuFacade());
    async function* broken(): AsyncGenerator<Float32Array> {
      for (let i = 0; i < 6; i++) yield values(10);
      throw new RangeError('the disk is gone');
    }
    await expect(gpu.processDataset(broken(), { chunkSize: 3 })).rejects.toThrow('the disk is gone');
    const stop = new AbortController();
    const stuck: AsyncIterable<Float32Array> = {
      [Symbol.asyncIterator]: () => {
        let n = 0;
        return { next: () => (n++ < 4 ? Promise.resolve({ done: false, value: values(10) }) : new Promise(() => {})) };
      },
    };
    const aborted = gpu.processDataset(stuck, { chunkSize: 4, signal: stop.signal, onProgress: () => stop.abort() });
    await expect(aborted).rejects.toThrow(AbortError);
  });

  it('whose source answers with promises of another kind, or never ends when it is left, is read and left', async () => {
    const gpu = keep(cpuFacade());
    const source = (end: () => unknown): AsyncIterable<Float32Array> => ({
      [Symbol.asyncIterator]: () => {
        let n = 0;
        const next = () =>
          Promise.resolve(n++ < 6 ? { done: false, value: values(10, n) } : { done: true, value: null });
        const thenable = () => ({
          // biome-ignore lint/suspicious/noThenProperty: that is what is tested.
          then: (...told: Parameters<Promise<never>['then']>) => next().then(...(told as [])),
        });
        return { next: thenable, return: end } as unknown as AsyncIterator<Float32Array>;
      },
    });
    const { results } = await gpu.processDataset(source(() => {}));
    expect(results.map((r) => Number(r[0]))).toEqual(
      [1, 2, 3, 4, 5, 6].map((n) => expect.closeTo(meanSquare(values(10, n)), 6)),
    );
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const stop = (): never => {
        throw new RangeError('enough');
      };
      const left = gpu.processDataset(
        source(() => new Promise(() => {})),
        { chunkSize: 2, onProgress: stop },
      );
      const ended = expect(left).rejects.toThrow('enough');
      await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
      await vi.advanceTimersByTimeAsync(5000);
      await ended;
    } finally {
      vi.useRealTimers();
    }
  });

  it('whose source gives one array again and again has the records as they were given', async () => {
    const gpu = keep(cpuFacade());
    const one = new Float32Array(3);
    const inTurn = function* () {
      for (let i = 0; i < 9; i++) yield one.fill(i);
    };
    const later = async function* () {
      for (let i = 0; i < 9; i++) yield one.fill(i);
    };
    for (const source of [inTurn, later]) {
      const { results } = await gpu.processDataset(source(), { op: 'sum', chunkSize: 4 });
      expect(results.map((r) => r[0])).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24]);
    }
  });

  it('whose source has ended is not left once more; what leaving it throws hides no error', async () => {
    const gpu = keep(cpuFacade());
    let left = 0;
    const source = (values: readonly unknown[], fails?: Error) => ({
      [Symbol.asyncIterator]: () => {
        let i = 0;
        return {
          next: async () => {
            if (fails && i === values.length) throw fails;
            return i < values.length ? { done: false, value: values[i++] } : { done: true, value: undefined };
          },
          return: () => {
            left++;
            throw new Error('it was closed before');
          },
        };
      },
    });
    const { records } = await gpu.processDataset(source([new Float32Array(2)]) as never);
    expect([records, left]).toEqual([1, 0]);
    const gone = new RangeError('the disk is gone');
    await expect(gpu.processDataset(source([new Float32Array(2)], gone) as never)).rejects.toThrow('the disk is gone');
    expect(left).toBe(0);
    await expect(gpu.processDataset(source(['x', 'y']) as never)).rejects.toThrow("record 0 is 'x'");
    expect(left).toBe(1);
  });

  it('whose function throws what is no error is told of it', async () => {
    const gpu = keep(cpuFacade());
    const told = gpu.processDataset([new Float32Array(2)], {
      op: () => {
        throw undefined;
      },
    });
    const error: unknown = await told.catch((e: unknown) => e);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toContain('from record 0 on: undefined was thrown');
  });

  it('may give its results away as they come: none is kept, all are in order, and the source waits for who takes them', async () => {
    const gpu = keep(cpuFacade());
    let [read, taken, ahead] = [0, 0, 0];
    async function* source(): AsyncGenerator<Float32Array> {
      for (; read < 200; ahead = Math.max(ahead, read - taken)) yield Float32Array.of(read++, 1);
    }
    const firsts: number[] = [];
    const { records, results } = await gpu.processDataset(source(), {
      op: 'sum',
      chunkSize: 8,
      onResults: async (made, first) => {
        firsts.push(first);
        await new Promise((resolve) => setImmediate(resolve));
        made.forEach((r, i) => {
          expect(r[0]).toBe(first + i + 1);
        });
        taken += made.length;
      },
    });
    expect({ records, taken, results }).toEqual({ records: 200, taken: 200, results: [] });
    expect(firsts).toEqual(Array.from({ length: 25 }, (_, i) => 8 * i));
    expect(ahead).toBeLessThanOrEqual(3 * 8);
  });

  it.each(['onResults', 'onProgress'] as const)('whose %s fails or never ends is left', async (name) => {
    const gpu = keep(cpuFacade());
    let closed = 0;
    function* source(): Generator<Float32Array> {
      try {
        for (;;) yield values(10);
      } finally {
        closed++;
      }
    }
    const failing = gpu.processDataset(source(), { [name]: () => Promise.reject(new RangeError('the disk is full')) });
    await expect(failing).rejects.toThrow('the disk is full');
    const stop = new AbortController();
    const listener = (): Promise<void> => {
      queueMicrotask(() => stop.abort());
      return new Promise(() => {});
    };
    await expect(gpu.processDataset(source(), { [name]: listener, signal: stop.signal })).rejects.toThrow(AbortError);
    expect(closed).toBe(2);
    expect(gpu.monitor.getMemoryUsage()).toMatchObject({ numTensors: 0, numBytes: 0 });
  });

  it('of a record that fits nowhere ends in an error that says so, with nothing left', async () => {
    const gpu = keep(cpuFacade({ cpu: { threads: 1, memoryBytes: 4 << 20 } }));
    const kept = await gpu.transferToGPU(values(10));
    const before = gpu.monitor.getMemoryUsage();
    await expect(gpu.processDataset([values(10), new Float32Array(2 << 20)])).rejects.toThrow(OutOfMemoryError);
    expect(gpu.monitor.getMemoryUsage()).toEqual(before);
    expect(kept.disposed).toBe(false);
  });

  it('leaves nothing behind when it is aborted, fails, or loses its device', async () => {
    const fake = fakeGpu();
    const { gpu } = facade(fake);
    keep(gpu);
    const kept = await gpu.transferToGPU(values(5000));
    const before = gpu.monitor.getMemoryUsage();
    const stop = new AbortController();
    const data = values(4000 * 20);
    const aborted = gpu.processDataset(data, {
      recordLength: 4000,
      chunkSize: 5,
      signal: stop.signal,
      onProgress: (done) => done >= 10 && stop.abort(),
    });
    await expect(aborted).rejects.toThrow(AbortError);
    expect(gpu.monitor.getMemoryUsage()).toEqual(before);
    const failing = gpu.processDataset(data, {
      recordLength: 4000,
      op: () => {
        throw new RangeError('no');
      },
    });
    await expect(failing).rejects.toThrow(/from record 0 on: no/);
    expect(gpu.monitor.getMemoryUsage()).toEqual(before);
    const launches = fake.device().counters().calls.launch;
    fake.device().plan({ strict: true, faults: [{ at: 'launch', nth: launches + 2, as: 'lost' }] });
    const { results } = await gpu.processDataset(data, { recordLength: 4000, chunkSize: 5, op: 'meanSquare' });
    results.forEach((r, i) => {
      expect(Number(r[0])).toBeCloseTo(meanSquare(data.subarray(4000 * i, 4000 * (i + 1))), 6);
    });
    // What lived before waits in host memory until it is used.
    expect(gpu.monitor.getMemoryUsage()).toMatchObject({ numTensors: 1, numBytes: 0 });
    expect(await gpu.transferFromGPU(kept)).toEqual(values(5000));
  });

  it.each<[string, unknown, object]>([
    ['a record length that does not divide', values(10), { recordLength: 3 }],
    ['no record length', values(10), {}],
    ['something else', 7, {}],
    ['plain arrays', [[1, 2]], {}],
    ['an empty record', [new Float32Array(0)], {}],
    ['a bad size of chunk', [values(3)], { chunkSize: -1 }],
    ['an operation that does not exist', [values(3)], { op: 'cube' }],
  ])('refuses %s', async (_name, data, options) => {
    const gpu = keep(cpuFacade());
    await expect(gpu.processDataset(data as never, options)).rejects.toThrow(InvalidArgumentError);
  });

  it('may be empty', async () => {
    const gpu = keep(cpuFacade());
    expect(await gpu.processDataset([])).toMatchObject({ records: 0, chunks: 0, results: [] });
  });
});
