// What sources, workers and those who retry do to a job that nobody asked for: one object for all chunks, silence, fewer chunks than before,
// a worker that leaves in the middle, two who retry at once. For every transport.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type BlobRef,
  type ChunkInput,
  createBatch,
  handlerOf,
  openTransport,
  type Transport,
  type WireOps,
  writeBlob,
} from '../../src/batch/index.ts';
import { noRedis } from '../support/redis.ts';
import { within } from '../support/time.ts';
import { cpu, fileRedis, transportsOn } from './file-redis.ts';

const redis = fileRedis();

async function outcomes(job: Awaited<ReturnType<Transport['submit']>>): Promise<unknown[]> {
  const out: unknown[] = [];
  for await (const o of job.results()) out.push(o.ok ? o.result.value : o.dead.error);
  return out;
}

const echo: WireOps = { echo: ({ params }) => ({ value: params }) };
const params = (...list: number[]): ChunkInput[] => list.map((n) => ({ params: n }));
const never = new Promise<never>(() => {});

describe.each(transportsOn(redis))('on the %s transport', (kind, open) => {
  const missing = kind === 'redis' ? noRedis : null;
  const test = (name: string, body: (transport: Transport) => Promise<void>): void => {
    it(name, async (context) => {
      if (missing !== null) context.skip(missing);
      const transport = await open();
      try {
        await body(transport);
      } finally {
        await transport.close();
      }
    });
  };

  test('a source may give one object again and again: each chunk is what it was when it was given', async (transport) => {
    const one = { params: { n: 0, list: [0] } };
    const next = (n: number): ChunkInput => {
      one.params.n = n;
      one.params.list[0] = n;
      return one;
    };
    function* inTurn(): Generator<ChunkInput> {
      for (let n = 0; n < 5; n++) yield next(n);
    }
    async function* later(): AsyncGenerator<ChunkInput> {
      for (let n = 0; n < 5; n++) yield next(n);
    }
    const jobs = [await transport.submit({ op: 'echo' }, inTurn()), await transport.submit({ op: 'echo' }, later())];
    await transport.worker(handlerOf({ ops: echo }), cpu);
    const expected = [0, 1, 2, 3, 4].map((n) => ({ n, list: [n] }));
    for (const job of jobs) expect(await outcomes(job)).toEqual(expected);
  });

  test('what an operation does to its params is gone at the next attempt; what it does to a value later changes no result', async (transport) => {
    const total = { sum: 0 };
    const ops: WireOps = {
      takes: ({ params: given, attempt }) => {
        const list = given as number[];
        const value = { took: list.pop()! };
        if (attempt === 1) throw new Error('once more');
        return { value };
      },
      adds: ({ params: given }) => {
        total.sum += given as number;
        return { value: total };
      },
    };
    await transport.worker(handlerOf({ ops }), cpu);
    expect(await outcomes(await transport.submit({ op: 'takes' }, [{ params: [1, 2] }]))).toEqual([{ took: 2 }]);
    expect(await outcomes(await transport.submit({ op: 'adds' }, params(1, 2, 3)))).toEqual([
      { sum: 1 },
      { sum: 3 },
      { sum: 6 },
    ]);
  });

  test('a source that falls silent is left when its job is cancelled, and when the transport closes', async (transport) => {
    await transport.worker(handlerOf({ ops: echo }), cpu);
    const left: string[] = [];
    const silent = (name: string): AsyncIterable<ChunkInput> => ({
      [Symbol.asyncIterator]: () => {
        let given = false;
        return {
          next: async () => {
            if (given) await never;
            given = true;
            return { done: false, value: { params: name } };
          },
          return: async () => {
            left.push(name);
            return { done: true, value: undefined };
          },
        };
      },
    });
    const submitting = transport.submit({ op: 'echo', id: 'silent' }, silent('silent'));
    const done = async (): Promise<number> => (await (await transport.job('silent'))?.status())?.done ?? 0;
    await expect.poll(done, { timeout: within(2000) }).toBe(1);
    await (await transport.job('silent'))!.cancel();
    expect(await (await submitting).status()).toMatchObject({ state: 'cancelled', total: null });
    const ending = transport.submit({ op: 'echo', id: 'closed' }, silent('closed')).catch((e: unknown) => e);
    await expect.poll(() => transport.job('closed'), { timeout: within(2000) }).not.toBe(null);
    await transport.close();
    await ending;
    await expect.poll(() => left, { timeout: within(2000) }).toEqual(['silent', 'closed']);
  });

  test('fewer chunks under the id of a job are other ones', async (transport) => {
    await transport.worker(handlerOf({ ops: echo }), cpu);
    const job = await transport.submit({ op: 'echo', id: 'less' }, params(1, 2, 3));
    const less = transport.submit({ op: 'echo', id: 'less' }, params(1, 2));
    await expect(less).rejects.toMatchObject({
      code: 'JOB_CHANGED',
      message: expect.stringContaining('3 chunks, not 2'),
    });
    expect(await outcomes(job)).toEqual([1, 2, 3]);
    expect(await job.status()).toMatchObject({ state: 'done', total: 3, done: 3 });
  });

  test('a worker that closes tells what it runs; that is no failed attempt, and goes to another worker', async (transport) => {
    let [began, stopped] = [0, 0];
    let waits = true;
    const ops: WireOps = {
      waits: ({ params: given, signal }) =>
        new Promise((resolve, reject) => {
          began++;
          if (!waits || given !== 'long') resolve({ value: 1 });
          signal.addEventListener('abort', () => {
            if (given === 'long') stopped++;
            reject(new Error('told to stop'));
          });
        }),
    };
    // Chunks that travel alone, and those of parcels.
    for (const count of [1, 300]) {
      waits = true;
      [began, stopped] = [0, 0];
      const at = count - 1;
      const worker = await transport.worker(handlerOf({ ops }), cpu);
      const list = Array.from({ length: count }, (_, i) => ({ params: i === at ? 'long' : 'short' }));
      const job = await transport.submit({ op: 'waits', attempts: 1 }, list);
      await expect.poll(() => began, { timeout: within(5000) }).toBe(count);
      await worker.close();
      expect(stopped).toBe(1);
      waits = false;
      const next = await transport.worker(handlerOf({ ops }), cpu);
      expect(await job.finished()).toMatchObject({ state: 'done', done: count, dead: 0, retries: 0 });
      await next.close();
    }
  });

  test('each chunk has a signal of its own: whoever listens to it need not stop', async (transport) => {
    const signals = new Set<AbortSignal>();
    const ops: WireOps = {
      listens: ({ signal }) => {
        signals.add(signal);
        return { value: signal.aborted };
      },
    };
    await transport.worker(handlerOf({ ops }), cpu);
    expect(await outcomes(await transport.submit({ op: 'listens' }, params(1, 2, 3)))).toEqual([false, false, false]);
    expect(signals.size).toBe(3);
  });

  test('of two who retry at once only one does so with each chunk', async (transport) => {
    let fails = true;
    let runs = 0;
    const ops: WireOps = {
      shaky: () => {
        runs++;
        if (fails) throw new Error('not yet');
        return { value: 1 };
      },
    };
    await transport.worker(handlerOf({ ops }), cpu);
    const job = await transport.submit({ op: 'shaky', attempts: 1 }, params(1, 2, 3, 4));
    await job.finished();
    fails = false;
    const counts = await Promise.all([job.retry(), job.retry(), job.retry()]);
    expect(counts.reduce((n, c) => n + c, 0)).toBe(4);
    expect(await job.finished()).toMatchObject({ state: 'done', done: 4, duplicates: 0 });
    expect(runs).toBe(8);
  });

  test('slower workers do the work of faster ones that are not there', async (transport) => {
    await transport.worker(handlerOf({ ops: echo }), cpu);
    const overflow = { to: 'cpu', slowdown: 20 };
    const job = await transport.submit({ op: 'echo', needs: 'gpu:cuda', overflow }, params(1, 2, 3));
    expect(await outcomes(job)).toEqual([1, 2, 3]);
  });

  test('what refers to no data is refused when it is submitted, by its part', async (transport) => {
    const folder = mkdtempSync(join(tmpdir(), 'gpuforge-references-'));
    try {
      const bytes = new Uint8Array(12);
      const ref = await writeBlob(folder, { dtype: 'f32', shape: [3], bytes });
      const wrong: Partial<Record<keyof BlobRef, unknown>>[] = [
        { uri: 'nowhere' },
        { sha256: 'abc' },
        { dtype: 'float' },
        { shape: [1, -3, -1] },
        { shape: ['3'] },
        { offset: -4 },
        { length: 1.5 },
      ];
      for (const part of wrong) {
        const inputs = [ref, { ...ref, ...part } as BlobRef];
        await expect(transport.submit({ op: 'echo' }, [{ inputs }])).rejects.toThrow(
          `input 1 of chunk 0 is no reference to data: ${Object.keys(part)[0]} is`,
        );
      }
      await expect(writeBlob(folder, { dtype: 'f32', shape: [3], bytes: bytes.subarray(1) })).rejects.toThrow(
        'there are 11 bytes, and f32 [3] has 12',
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('an item that no worker can do is told with what helps', async (transport) => {
    await transport.worker(handlerOf({ ops: echo }), cpu);
    await using batch = createBatch([1], { transport });
    await expect(batch.executeParallel({ op: 'ecko' })).rejects.toMatchObject({
      index: 0,
      fix: expect.stringContaining('Start a worker whose module exports it'),
    });
  });
});

it('a database that a Redis does not have is refused, and so is one without a number', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  await expect(openTransport(`${redis.url}/99`)).rejects.toMatchObject({ code: 'NO_DATABASE' });
  await expect(openTransport(`${redis.url}/jobs`)).rejects.toThrow('databases of Redis have numbers');
  const own = await openTransport(`${redis.url}/3`);
  const other = await openTransport(redis.url);
  await own.submit({ op: 'echo', id: 'own' }, []);
  expect([await own.job('own'), await other.job('own')].map((job) => job?.id)).toEqual(['own', undefined]);
  await Promise.all([own.close(), other.close()]);
});

it('a job whose transport is closed says so, whatever it is asked', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  const transport = await openTransport(redis.url, { prefix: 'over' });
  const job = await transport.submit({ op: 'echo', id: 'over' }, params(1));
  await transport.close();
  for (const what of ['status', 'cancel', 'retry', 'remove', 'deadLetters', 'finished'] as const)
    await expect(job[what]()).rejects.toThrow('the transport of job over was closed');
});
