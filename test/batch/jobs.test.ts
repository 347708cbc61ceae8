// What people do with jobs: cancel and go on, remove and begin anew, wait for too long, send what cannot travel. For every transport.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type ChunkInput,
  createBatch,
  handlerOf,
  localTransport,
  readBlob,
  type Transport,
  type WireOps,
  type WorkerHandle,
} from '../../src/batch/index.ts';
import { TestClock } from '../support/facade.ts';
import { noRedis } from '../support/redis.ts';
import { sleep, within } from '../support/time.ts';
import { cpu, fileRedis, transportsOn } from './file-redis.ts';

const redis = fileRedis();

const kinds = transportsOn(redis);

async function outcomes(job: Awaited<ReturnType<Transport['submit']>>): Promise<unknown[]> {
  const out: unknown[] = [];
  for await (const o of job.results()) out.push(o.ok ? o.result.value : o.dead.error);
  return out;
}

describe.each(kinds)('jobs on the %s transport', (kind, open) => {
  const missing = kind === 'redis' ? noRedis : null;
  /** A transport and a worker of its own, closed at the end. */
  const test = (name: string, body: (transport: Transport, work: Work) => Promise<void>): void => {
    it(`${name}`, async (context) => {
      if (missing !== null) context.skip(missing);
      const transport = await open();
      try {
        await body(transport, (ops, concurrency = 2) => transport.worker(handlerOf({ ops }), cpu, { concurrency }));
      } finally {
        await transport.close();
      }
    });
  };
  type Work = (ops: WireOps, concurrency?: number) => Promise<WorkerHandle>;
  const double: WireOps = { double: ({ params }) => ({ value: 2 * (params as number) }) };
  const params = (...list: number[]): ChunkInput[] => list.map((n) => ({ params: n }));

  test('what JSON would change is refused, by where it lies', async (transport, work) => {
    const given: [unknown, string][] = [
      [Number.NaN, 'params is NaN'],
      [{ rate: [1, Number.POSITIVE_INFINITY] }, 'params.rate[1] is Infinity'],
      [Float32Array.of(1), 'params is a Float32Array'],
      [{ at: new Date(0) }, 'params.at is a Date'],
      [[1, undefined], 'params[1] is undefined'],
      [{ f: () => 1 }, 'params.f is a function'],
      [new Map(), 'params is a Map'],
      [1n, 'params is a bigint'],
    ];
    for (const [value, message] of given)
      await expect(transport.submit({ op: 'double' }, [{ params: value as never }])).rejects.toThrow(message);
    await work({
      nan: () => ({ value: { mean: Number.NaN } as never }),
      plain: () => ({ value: { a: [1, null, 'x', true], b: undefined as never } }),
    });
    const [dead] = await outcomes(await transport.submit({ op: 'nan' }, [{}]));
    expect(dead).toContain('value.mean is NaN');
    expect(await outcomes(await transport.submit({ op: 'plain' }, [{}]))).toEqual([{ a: [1, null, 'x', true] }]);
  });

  test('what is no chunk, and options that do not exist, are refused by name', async (transport) => {
    await expect(transport.submit({ op: 'double' }, 5 as never)).rejects.toThrow('the chunks are number');
    const ring: unknown[] = [];
    ring.push({ ring });
    await expect(transport.submit({ op: 'double' }, [{ params: ring as never }])).rejects.toThrow(
      'params holds itself',
    );
    await expect(transport.submit({ op: 'double' }, [5 as never])).rejects.toThrow('chunk 0 is number');
    await expect(transport.submit({ op: 'double' }, [{}, { param: 1 } as never])).rejects.toThrow(
      "chunk 1 has 'param', which no chunk has",
    );
    await expect(transport.submit({ op: 'double' }, [{ inputs: ['file:///x'] as never }])).rejects.toThrow(
      'the inputs of chunk 0 are not references',
    );
    await expect(transport.submit({ op: 'double', neds: 'cpu' } as never, [])).rejects.toThrow(
      "there is no option 'neds'",
    );
    await expect(transport.submit({ op: 'double', timeoutMs: 0 }, [])).rejects.toMatchObject({ code: 'BAD_OPTION' });
    // Nobody knows the ids of these.
    expect(await transport.jobs()).toEqual([]);
  });

  test('other chunks under the id of a job are refused, whether they are done or wait', async (transport, work) => {
    const id = 'nightly';
    await transport.submit({ op: 'double', id }, params(1, 2));
    const changed = { code: 'JOB_CHANGED' };
    await expect(transport.submit({ op: 'double', id }, params(1, 3))).rejects.toMatchObject(changed);
    await work(double);
    const job = (await transport.job(id))!;
    expect(await outcomes(job)).toEqual([2, 4]);
    await expect(transport.submit({ op: 'double', id }, params(5, 2))).rejects.toMatchObject(changed);
    await expect(transport.submit({ op: 'treble', id }, params(1, 2))).rejects.toMatchObject(changed);
    await expect(transport.submit({ op: 'double', id, needs: 'gpu:cuda' }, params(1, 2))).rejects.toMatchObject(
      changed,
    );
    // Nothing of that has touched it; the same again, or more of it, is welcome.
    expect(await outcomes(await transport.submit({ op: 'double', id }, params(1, 2, 3)))).toEqual([2, 4, 6]);
    expect(await job.status()).toMatchObject({ state: 'done', done: 3, duplicates: 0 });
  });

  test('a cancelled job goes on when it is submitted again, and repeats nothing that is done', async (transport, work) => {
    const ran: number[] = [];
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const ops: WireOps = {
      step: async ({ params }) => {
        ran.push(params as number);
        if (params === 1) await held;
        return { value: params };
      },
    };
    await work(ops, 1);
    const job = await transport.submit({ op: 'step', id: 'on' }, params(0, 1, 2, 3));
    await expect.poll(() => ran).toEqual([0, 1]);
    await job.cancel();
    await expect(job.retry()).rejects.toThrow('job on was cancelled');
    // Until the worker knows, it may begin with another chunk.
    await sleep(300);
    release();
    const again = await transport.submit({ op: 'step', id: 'on' }, params(0, 1, 2, 3));
    expect(await again.finished(AbortSignal.timeout(within(5000)))).toMatchObject({ state: 'done', done: 4, dead: 0 });
    expect(await outcomes(again)).toEqual([0, 1, 2, 3]);
    expect([...ran].sort()).toEqual([0, 1, 2, 3]);
  });

  test('a source that failed and is mended goes on where it was', async (transport, work) => {
    async function* broken(): AsyncGenerator<ChunkInput> {
      yield* params(1, 2);
      throw new Error('the disk is full');
    }
    await work(double);
    await expect(transport.submit({ op: 'double', id: 'src' }, broken())).rejects.toThrow('the disk is full');
    const job = await transport.submit({ op: 'double', id: 'src' }, params(1, 2, 3));
    expect(await job.finished(AbortSignal.timeout(within(5000)))).toMatchObject({ state: 'done', done: 3 });
    expect(await outcomes(job)).toEqual([2, 4, 6]);
  });

  test('what comes late from a removed job is no part of the next one of that name', async (transport, work) => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let started = false;
    await work({
      step: async ({ params }) => {
        started = true;
        if (params === 1) await held;
        return { value: params };
      },
    });
    const old = await transport.submit({ op: 'step', id: 'name' }, params(1));
    await expect.poll(() => started).toBe(true);
    await old.remove();
    // A handle of the old one does nothing to the new one.
    await old.cancel();
    const submitted = transport.submit({ op: 'step', id: 'name' }, params(2));
    setTimeout(release, 100);
    const job = await submitted;
    expect(await job.finished(AbortSignal.timeout(within(5000)))).toMatchObject({ state: 'done', done: 1 });
    expect(await outcomes(job)).toEqual([2]);
    await job.remove();
    expect(await transport.job('name')).toBeNull();
    expect(await transport.jobs()).toEqual([]);
  });

  test('an attempt that takes longer than the job allows is told to stop, and has failed', async (transport, work) => {
    const told: number[] = [];
    await work(
      {
        slow: ({ params, signal, attempt }) =>
          new Promise((resolve, reject) => {
            if (params === 1 || attempt > 1) resolve({ value: attempt });
            signal.addEventListener('abort', () => {
              told.push(params as number);
              reject(new Error('stopped'));
            });
          }),
        deaf: () => new Promise(() => {}),
      },
      4,
    );
    const job = await transport.submit({ op: 'slow', attempts: 2, timeoutMs: 60 }, params(0, 1));
    expect(await outcomes(job)).toEqual([2, 1]);
    expect(told).toEqual([0]);
    expect(await job.status()).toMatchObject({ state: 'done', retries: 1 });
    const never = await transport.submit({ op: 'deaf', attempts: 1, timeoutMs: 60 }, [{}]);
    await never.finished();
    const [dead] = await never.deadLetters();
    expect(dead).toMatchObject({ index: 0, code: 'TIMEOUT', attempts: 1 });
    expect(dead!.error.split('\n')).toEqual([
      `it took longer than 60 ms (timeoutMs of the job): chunk ${dead!.chunkId}, attempt 1, worker ${dead!.worker}`,
      '  fix: Give it more time (timeoutMs), or see why it takes so long.',
    ]);
    const batch = createBatch([0], { transport, timeoutMs: 60, attempts: 1 });
    const error = await batch.executeParallel({ op: 'slow' }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      name: 'BatchOperationError',
      code: 'TIMEOUT',
      op: 'slow',
      index: 0,
      attempts: 1,
      batch: { first: 0, size: 1 },
      fix: 'Give it more time (timeoutMs), or see why it takes so long.',
      cause: { code: 'TIMEOUT', chunkId: expect.stringMatching(/^[\da-f]{32}$/), worker: expect.any(String) },
    });
    const [collected] = await batch.executeParallel({ op: 'slow' }, { onError: 'collect' });
    expect(collected).toMatchObject({ ok: false, error: { code: 'TIMEOUT', index: 0 } });
  });

  test('chunks that a worker does not know go to one that does; if none does they fail', async (transport, work) => {
    await work({ other: () => ({ value: 'other' }) }, 4);
    const alone = await transport.submit({ op: 'double' }, params(1));
    expect(await alone.finished()).toMatchObject({ state: 'failed', dead: 1 });
    expect(await alone.deadLetters()).toMatchObject([
      { code: 'NO_OPERATION', attempts: 1, error: "there is no operation 'double' here; there are other" },
    ]);
    await transport.worker(handlerOf({ ops: double, version: '1' }), cpu);
    const list = Array.from({ length: 250 }, (_, i) => i);
    const job = await transport.submit({ op: 'double', codeVersion: '1' }, params(...list));
    expect(await job.finished(AbortSignal.timeout(within(20_000)))).toMatchObject({
      state: 'done',
      dead: 0,
      retries: 0,
    });
    expect(await outcomes(job)).toEqual(list.map((n) => 2 * n));
    const newer = await transport.submit({ op: 'double', codeVersion: '2' }, params(1));
    expect(await newer.finished(AbortSignal.timeout(within(20_000)))).toMatchObject({ state: 'failed', dead: 1 });
    await transport.worker(handlerOf({ ops: double, version: '2' }), cpu);
    expect(await newer.retry()).toBe(1);
    expect(await newer.finished(AbortSignal.timeout(within(20_000)))).toMatchObject({ state: 'done', dead: 0 });
  });

  test('an output whose bytes are not those of its shape is refused where it was made', async (transport) => {
    const folder = mkdtempSync(join(tmpdir(), 'gpuforge-outputs-'));
    const made = { dtype: 'f32', shape: [3], bytes: new Uint8Array(5) } as const;
    const empty = { dtype: 'f32', shape: [0, 4], bytes: new Uint8Array(0) } as const;
    const ops: WireOps = { wrong: () => ({ outputs: [made] }), empty: () => ({ outputs: [empty] }) };
    await transport.worker(handlerOf({ ops, folder }), cpu);
    expect(await outcomes(await transport.submit({ op: 'wrong' }, [{}]))).toEqual([
      'an output of the operation has 5 bytes, and f32 [3] has 12',
    ]);
    for await (const o of (await transport.submit({ op: 'empty' }, [{}])).results())
      expect(o.ok && (await readBlob(o.result.outputs[0]!, folder))).toEqual(empty);
    rmSync(folder, { recursive: true, force: true });
  });

  test('the code of an error is kept with its dead letter, and who made the attempt', async (transport, work) => {
    await work({
      odd: () => {
        throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      },
      own: () => {
        throw new RangeError('negative');
      },
    });
    for (const [op, code, error] of [
      ['odd', 'ENOENT', 'no such file'],
      ['own', null, 'negative'],
    ] as const) {
      const job = await transport.submit({ op, attempts: 2 }, [{}]);
      await job.finished();
      expect(await job.deadLetters()).toEqual([
        {
          index: 0,
          chunkId: expect.stringMatching(/^[\da-f]{32}$/),
          error,
          code,
          trace: expect.stringContaining(error),
          attempts: 2,
          worker: expect.any(String),
        },
      ]);
    }
  });

  test('chunks that run are told when their job is cancelled, and have not failed; submitted again it goes on', async (transport, work) => {
    const started: number[] = [];
    const told: number[] = [];
    let free = false;
    await work(
      {
        held: ({ params, signal }) =>
          new Promise((resolve, reject) => {
            started.push(params as number);
            if (free) resolve({ value: params });
            signal.addEventListener('abort', () => {
              told.push(params as number);
              reject(new Error('stopped'));
            });
          }),
      },
      2,
    );
    const descriptor = { op: 'held', id: 'told', attempts: 1 };
    const job = await transport.submit(descriptor, params(0, 1, 2));
    await expect.poll(() => started.length).toBe(2);
    await job.cancel();
    await expect.poll(() => told.length, { timeout: within(5000) }).toBe(2);
    expect(await job.status()).toMatchObject({ state: 'cancelled', dead: 0, retries: 0 });
    free = true;
    const again = await transport.submit(descriptor, params(0, 1, 2));
    expect(await again.finished(AbortSignal.timeout(within(10_000)))).toMatchObject({
      state: 'done',
      done: 3,
      dead: 0,
    });
    expect(await outcomes(again)).toEqual([0, 1, 2]);
  });

  test('a batch that waits behind a full queue ends when it is told to, and leaves nothing', async (transport) => {
    const items = Array.from({ length: 12_000 }, (_, i) => i);
    const stop = new AbortController();
    const run = createBatch(items, { transport }).executeParallel({ op: 'double' }, { signal: stop.signal });
    const ended = expect(run).rejects.toMatchObject({ name: 'Aborted' });
    await expect
      .poll(async () => (await transport.jobs())[0]?.submitted ?? 0, { timeout: within(5000) })
      .toBeGreaterThan(9000);
    stop.abort();
    await ended;
    expect(await transport.jobs()).toEqual([]);
  });

  test('a batch tells its progress while it is submitted; a listener that throws ends it', async (transport, work) => {
    await work(double);
    const seen: number[] = [];
    const items = Array.from({ length: 500 }, (_, i) => i);
    const batch = createBatch(items, { transport });
    const made = await batch.executeParallel({ op: 'double' }, { onProgress: (done) => void seen.push(done) });
    expect(made).toEqual(items.map((i) => 2 * i));
    expect(seen).toEqual(items.map((i) => i + 1));
    const onProgress = (): void => {
      throw new RangeError('mine');
    };
    await expect(batch.executeParallel({ op: 'double' }, { onProgress })).rejects.toThrow(RangeError);
    const refused = { op: 'double', params: (i: number) => (i === 7 ? (Number.NaN as never) : i) };
    await expect(batch.executeParallel(refused)).rejects.toThrow('chunk 7 cannot travel as JSON: params is NaN');
    const throwing = {
      op: 'double',
      params: (i: number) => {
        if (i === 7) throw new Error('no name');
        return i;
      },
    };
    await expect(batch.executeParallel(throwing)).rejects.toMatchObject({ name: 'BatchOperationError', index: 7 });
    // Nobody else knows the ids of these jobs.
    expect(await transport.jobs()).toEqual([]);
    const mixed = createBatch([1, 2], { transport, attempts: 1 });
    const [failed] = await mixed.executeParallel({ op: 'nobody' }, { onError: 'collect' });
    expect(failed).toMatchObject({ ok: false, error: { name: 'BatchOperationError', index: 0 } });
  });

  test('a processor that is disposed of ends its batch in the queue', async (transport) => {
    // Its five seconds are over at once.
    const batch = createBatch([1, 2], { transport, clock: new TestClock() });
    const ended = expect(batch.executeParallel({ op: 'double' })).rejects.toThrow(
      'BatchProcessor: the processor was disposed of while this call ran',
    );
    await expect.poll(async () => (await transport.jobs()).length).toBe(1);
    await batch.dispose();
    await ended;
    expect(await transport.jobs()).toEqual([]);
  });
});

it('the local transport waits for as long as it was told, a month too; what is no time is refused', async () => {
  const transport = localTransport({ backoffMs: [31 * 24 * 3600 * 1000] });
  let attempts = 0;
  const fails: WireOps = {
    fails: () => {
      attempts++;
      throw new Error('not today');
    },
  };
  await transport.worker(handlerOf({ ops: fails }), cpu);
  const job = await transport.submit({ op: 'fails' }, [{}]);
  await expect.poll(async () => (await job.status()).retries).toBe(1);
  await sleep(50);
  expect(attempts).toBe(1);
  await transport.close();
  for (const ms of [Number.NaN, -1, Number.POSITIVE_INFINITY])
    expect(() => localTransport({ backoffMs: [50, ms] })).toThrow(`backoffMs is ${ms}`);
});
