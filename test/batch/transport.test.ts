// One suite for every transport: in this process, and on a real Redis where there is one.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type ChunkDescriptor,
  type ChunkHandler,
  type ChunkInput,
  chunkIdOf,
  createBatch,
  handlerOf,
  openTransport,
  readBlob,
  type Transport,
  type WireOps,
  type WorkerCaps,
  writeBlob,
} from '../../src/batch/index.ts';
import { noRedis, startRedis } from '../support/redis.ts';
import { within } from '../support/time.ts';
import { cpu, fileRedis, transportsOn } from './file-redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'gpuforge-queue-'));
const redis = fileRedis();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const cuda = (freeMb: number): WorkerCaps => ({ backend: 'cuda', device: 'cuda:0', freeMb, itemsPerSecond: {} });
const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const params = (n: number): ChunkInput[] => numbers(n).map((i) => ({ params: i }));

const kinds = transportsOn(redis);

async function values(job: { results(): AsyncIterable<unknown> }): Promise<unknown[]> {
  const out: unknown[] = [];
  for await (const o of job.results()) {
    const outcome = o as { ok: boolean; result: { value: unknown }; dead: { error: string } };
    out.push(outcome.ok ? outcome.result.value : outcome.dead.error);
  }
  return out;
}

describe.each(kinds)('the %s transport', (kind, open) => {
  let transport: Transport;
  const missing = kind === 'redis' ? noRedis : null;
  beforeAll(async () => {
    if (missing === null) transport = await open();
  });
  afterAll(() => transport?.close());
  const ops = (more: WireOps = {}): WireOps => ({
    double: ({ params }) => ({ value: 2 * (params as number) }),
    ...more,
  });
  const test = (name: string, body: () => Promise<void>): void => {
    it(name, async (context) => {
      if (missing !== null) context.skip(missing);
      await body();
    });
  };

  test('gives the results of 200 chunks in their order, from three workers', async () => {
    const workers = await Promise.all(
      numbers(3).map(() => transport.worker(handlerOf({ ops: ops() }), cpu, { concurrency: 4 })),
    );
    const job = await transport.submit({ op: 'double' }, params(200));
    expect(await values(job)).toEqual(numbers(200).map((i) => 2 * i));
    expect(await job.finished()).toMatchObject({
      state: 'done',
      total: 200,
      submitted: 200,
      done: 200,
      dead: 0,
      duplicates: 0,
    });
    expect(workers.reduce((n, w) => n + w.stats().done, 0)).toBe(200);
    expect((await transport.jobs()).map((j) => j.id)).toContain(job.id);
    expect(await (await transport.job(job.id))!.status()).toMatchObject({ done: 200 });
    expect(await transport.job('unknown')).toBeNull();
    await Promise.all(workers.map((w) => w.close()));
  });

  test('a worker runs no more at once than it was told, and nothing waits behind a long chunk while another is free', async () => {
    const most = [0, 0];
    let release = (): void => {};
    const long = new Promise<void>((resolve) => {
      release = resolve;
    });
    const workers = await Promise.all(
      most.map((_, w) => {
        let running = 0;
        const step = async ({ params }: { params: unknown }) => {
          most[w] = Math.max(most[w]!, ++running);
          await (params === 60 ? long : new Promise((resolve) => setTimeout(resolve, 1)));
          running--;
          return { value: params as number };
        };
        return transport.worker(handlerOf({ ops: ops({ step }) }), cpu);
      }),
    );
    const job = await transport.submit({ op: 'step' }, params(120));
    for (const end = Date.now() + within(10_000); (await job.status()).done < 119 && Date.now() < end; )
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await job.status()).toMatchObject({ state: 'running', done: 119 });
    release();
    expect(await job.finished()).toMatchObject({ state: 'done', done: 120, dead: 0, duplicates: 0, retries: 0 });
    expect(await values(job)).toEqual(numbers(120));
    expect(most).toEqual([1, 1]);
    await Promise.all(workers.map((w) => w.close()));
  });

  test('an empty job is done at once; the same job again repeats nothing', async () => {
    const empty = await transport.submit({ op: 'double' }, []);
    expect(await empty.finished()).toMatchObject({ state: 'done', total: 0 });
    let runs = 0;
    const counted = ops({ count: () => ({ value: ++runs }) });
    const worker = await transport.worker(handlerOf({ ops: counted }), cpu);
    const job = { op: 'count', id: `again-${kind}` };
    const first = await (await transport.submit(job, params(5))).finished();
    expect(first.state).toBe('done');
    const again = await (await transport.submit(job, params(5))).finished();
    expect(again).toMatchObject({ state: 'done', done: 5 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(runs).toBe(5);
    const handle = (await transport.job(job.id))!;
    expect(await handle.status()).toMatchObject({ done: 5, submitted: 5, total: 5 });
    await handle.remove();
    expect(await transport.job(job.id)).toBeNull();
    expect((await transport.jobs()).map((j) => j.id)).not.toContain(job.id);
    await worker.close();
  });

  test('retries what fails in passing, and keeps what fails for good as a dead letter with its trace', async () => {
    const tries = new Map<number, number>();
    const shaky: WireOps = {
      shaky: ({ params }) => {
        const n = params as number;
        tries.set(n, (tries.get(n) ?? 0) + 1);
        if (n === 3) throw new RangeError('three is broken');
        if (n === 5 && tries.get(n)! < 3) throw new Error('not yet');
        return { value: n };
      },
    };
    const worker = await transport.worker(handlerOf({ ops: shaky }), cpu, { concurrency: 2 });
    const job = await transport.submit({ op: 'shaky', attempts: 3 }, params(8));
    expect(await values(job)).toEqual([0, 1, 2, 'three is broken', 4, 5, 6, 7]);
    expect(await job.finished()).toMatchObject({ state: 'failed', done: 7, dead: 1, retries: 4 });
    expect([tries.get(3), tries.get(5)]).toEqual([3, 3]);
    const [letter] = await job.deadLetters();
    expect(letter).toMatchObject({ index: 3, error: 'three is broken', attempts: 3 });
    expect(letter!.trace).toContain('RangeError');
    expect(await job.retry()).toBe(1);
    expect(await job.finished()).toMatchObject({ state: 'failed', dead: 1 });
    expect(tries.get(3)).toBe(6);
    await worker.close();
  });

  test('a cancelled job starts no further chunk, and its waits end', async () => {
    let started = 0;
    const slow: WireOps = {
      slow: async () => {
        started++;
        await new Promise((resolve) => setTimeout(resolve, 30));
        return {};
      },
      other: async () => ({}),
    };
    const worker = await transport.worker(handlerOf({ ops: slow }), cpu);
    const job = await transport.submit({ op: 'slow' }, params(200));
    for await (const _ of job.results()) break;
    await job.cancel();
    expect((await job.finished()).state).toBe('cancelled');
    // What was fetched before the worker knew comes before other jobs.
    const others = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) await (await transport.submit({ op: 'other' }, params(4))).finished();
    };
    await others();
    const count = started;
    await others();
    expect(started).toBe(count);
    expect(started).toBeLessThan(150);
    await worker.close();
  });

  test('data by reference: checked, and a file that was changed fails at once with both hashes', async () => {
    const data = Float32Array.of(1, 2, 3);
    const ref = await writeBlob(folder, { dtype: 'f32', shape: [3], bytes: new Uint8Array(data.buffer) });
    const own: WireOps = {
      twice: ({ inputs }) => {
        const x = new Float32Array(inputs[0]!.bytes.slice().buffer);
        return { outputs: [{ dtype: 'f32', shape: [3], bytes: new Uint8Array(x.map((v) => 2 * v).buffer) }] };
      },
    };
    const worker = await transport.worker(handlerOf({ ops: own, folder }), cpu);
    const job = await transport.submit({ op: 'twice' }, [{ inputs: [ref] }]);
    for await (const o of job.results()) {
      expect(o.ok).toBe(true);
      if (!o.ok) continue;
      const out = await readBlob(o.result.outputs[0]!, folder);
      expect([...new Float32Array(out.bytes.slice().buffer)]).toEqual([2, 4, 6]);
    }
    writeFileSync(fileURLToPath(ref.uri), new Uint8Array(12));
    const changed = await transport.submit({ op: 'twice' }, [{ inputs: [ref], params: kind }]);
    await changed.finished();
    const [letter] = await changed.deadLetters();
    expect(letter!.attempts).toBe(1);
    expect(letter!.error).toContain(ref.sha256);
    expect(letter!.error).toMatch(/SHA-256 is [0-9a-f]{64}/);
    const outside = await transport.submit({ op: 'twice' }, [
      { inputs: [{ ...ref, uri: pathToFileURL('/etc/hostname').href }] },
    ]);
    await outside.finished();
    expect((await outside.deadLetters())[0]!.error).toContain('outside of the shared folder');
    await worker.close();
  });

  test('operations are names of a registry: others, other versions and code are refused', async () => {
    const worker = await transport.worker(handlerOf({ ops: ops(), version: '2' }), cpu);
    const unknown = await transport.submit({ op: 'constructor' }, [{}]);
    await unknown.finished();
    expect((await unknown.deadLetters())[0]!.error).toMatch(/no operation 'constructor'/);
    const old = await transport.submit({ op: 'double', codeVersion: '1' }, params(1));
    await old.finished();
    expect((await old.deadLetters())[0]!.error).toMatch(/version 1/);
    await expect(transport.submit({ op: '() => 1' }, [])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const large = [{ params: 'x'.repeat(70_000) }];
    await expect(transport.submit({ op: 'double' }, large)).rejects.toThrow(/65536/);
    await worker.close();
  });

  test('a chunk has the id that its description has', async () => {
    const ids: [string, ChunkDescriptor][] = [];
    const handler: ChunkHandler = async (chunk, { chunkId }) => {
      ids.push([chunkId, chunk]);
      return { value: null, outputs: [] };
    };
    const worker = await transport.worker(handler, cpu);
    await (await transport.submit({ op: 'named' }, params(3))).finished();
    expect(ids).toHaveLength(3);
    for (const [id, chunk] of ids) expect(id).toBe(await chunkIdOf(chunk));
    await worker.close();
  });

  test('chunks go to workers that can do them; slower ones help when there is too much', async () => {
    const ran: string[] = [];
    const named = (name: string, ms: number): WireOps => ({
      where: async () => {
        ran.push(name);
        await new Promise((resolve) => setTimeout(resolve, ms));
        return { value: name };
      },
    });
    const slow = await transport.worker(handlerOf({ ops: named('cpu', 10) }), cpu);
    const small = await transport.worker(handlerOf({ ops: named('small', 10) }), cuda(8 * 1024));
    const large = await transport.worker(handlerOf({ ops: named('large', 10) }), cuda(80 * 1024));
    const there = async () => (await transport.workers()).map((w) => `${w.backend} ${w.freeMb}`).sort();
    expect(await there()).toEqual(['cpu null', 'cuda 8192', 'cuda 81920']);
    const job = await transport.submit({ op: 'where', needs: 'gpu:cuda:>=16g' }, params(5));
    expect(new Set(await values(job))).toEqual(new Set(['large']));
    expect((await job.status()).needs).toBe('gpu:cuda:>=16g');
    const plain = await transport.submit({ op: 'where', needs: 'cpu' }, params(5));
    expect(new Set(await values(plain))).toEqual(new Set(['cpu']));
    await Promise.all([small.close()]);
    expect(await there()).toEqual(['cpu null', 'cuda 81920']);
    ran.length = 0;
    const over = { op: 'where', needs: 'gpu:cuda:>=16g', overflow: { to: 'cpu', slowdown: 20 } } as const;
    const few = await transport.submit(over, params(10));
    expect(new Set(await values(few))).toEqual(new Set(['large']));
    const many = await transport.submit(over, params(300));
    expect(new Set(await values(many))).toEqual(new Set(['large', 'cpu']));
    await Promise.all([slow.close(), large.close()]);
  });

  test('a chunk that takes much too long is started again elsewhere if the job asks for it; one result counts', async () => {
    const runs = new Map<number, number>();
    let stopped = 0;
    const uneven: WireOps = {
      uneven: async ({ params, signal }) => {
        const n = params as number;
        runs.set(n, (runs.get(n) ?? 0) + 1);
        const slow = n === 5 && runs.get(n) === 1;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, slow ? 60_000 : 10);
          signal.addEventListener('abort', () => {
            clearTimeout(timer);
            if (slow) stopped++;
            resolve();
          });
        });
        return { value: n };
      },
    };
    const workers = await Promise.all(numbers(2).map(() => transport.worker(handlerOf({ ops: uneven }), cpu)));
    const start = performance.now();
    const job = await transport.submit({ op: 'uneven', stragglers: 4 }, params(12));
    expect(await values(job)).toEqual(numbers(12));
    expect(performance.now() - start).toBeLessThan(within(20_000));
    expect(runs.get(5)).toBe(2);
    expect([...runs.values()].reduce((a, b) => a + b, 0)).toBe(13);
    // The one that was too slow is told to stop, and what it gives is discarded.
    for (const end = performance.now() + within(5000); stopped === 0 && performance.now() < end; )
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(stopped).toBe(1);
    await Promise.all(workers.map((w) => w.close()));
    const count = (of: 'done' | 'duplicates' | 'failed') => workers.reduce((n, w) => n + w.stats()[of], 0);
    expect([count('done'), count('duplicates'), count('failed')]).toEqual([12, 1, 0]);
    expect(await job.status()).toMatchObject({ state: 'done', done: 12, duplicates: 1 });
    await expect(transport.submit({ op: 'uneven', stragglers: 0.5 }, [])).rejects.toMatchObject({ code: 'BAD_OPTION' });
    await job.remove();
  });

  test('a clock that is set an hour forward starts no chunk again before its time', async () => {
    let runs = 0;
    const clock = vi.spyOn(Date, 'now');
    const uneven: WireOps = {
      late: async ({ params }) => {
        runs++;
        if (params === 5) clock.mockReturnValue(performance.timeOrigin + performance.now() + 3_600_000);
        await new Promise((resolve) => setTimeout(resolve, params === 5 ? 1600 : 10));
        return { value: params };
      },
    };
    const workers = await Promise.all(numbers(2).map(() => transport.worker(handlerOf({ ops: uneven }), cpu)));
    try {
      const job = await transport.submit({ op: 'late', stragglers: 5000 }, params(12));
      expect(await values(job)).toEqual(numbers(12));
      expect(runs).toBe(12);
      await job.remove();
    } finally {
      clock.mockRestore();
      await Promise.all(workers.map((w) => w.close()));
    }
  });

  test('what cannot travel is refused by name: params, values, numbers of chunks at once', async () => {
    const ring: Record<string, unknown> = {};
    ring.own = ring;
    for (const bad of [1n, ring])
      await expect(transport.submit({ op: 'double' }, [{}, { params: bad as never }])).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('chunk 1'),
      });
    // Letters of three bytes each.
    await expect(transport.submit({ op: 'double' }, [{ params: '…'.repeat(30_000) }])).rejects.toThrow(/90\d{3} bytes/);
    for (const concurrency of [0, -1, 1.5, Number.NaN])
      await expect(transport.worker(handlerOf({ ops: ops() }), cpu, { concurrency })).rejects.toMatchObject({
        code: 'BAD_OPTION',
      });
    const odd: WireOps = {
      nothing: (() => undefined) as never,
      big: () => ({ value: 1n as never }),
      long: () => ({ value: 'x'.repeat(2 << 20) }),
      text: () => Promise.reject('only a text'),
    };
    const worker = await transport.worker(handlerOf({ ops: odd }), cpu);
    const answers: Record<string, unknown> = {};
    for (const op of Object.keys(odd)) [answers[op]] = await values(await transport.submit({ op, attempts: 1 }, [{}]));
    expect(answers).toEqual({
      nothing: null,
      big: expect.stringContaining('cannot travel as JSON: value is a bigint'),
      long: expect.stringContaining('return data as outputs'),
      text: 'only a text',
    });
    await worker.close();
  });

  test('a source that fails ends its job; one that never ends is left when the job is cancelled', async () => {
    async function* failing(): AsyncGenerator<ChunkInput> {
      for (let i = 0; i < 3; i++) yield { params: i };
      throw new RangeError('the disk is gone');
    }
    const id = `broken-${kind}`;
    await expect(transport.submit({ op: 'double', id }, failing())).rejects.toThrow('the disk is gone');
    const broken = (await transport.job(id))!;
    expect((await broken.finished(AbortSignal.timeout(within(5000)))).state).toBe('cancelled');
    await broken.remove();
    let asked = 0;
    async function* endless(): AsyncGenerator<ChunkInput> {
      for (;;) yield { params: asked++ };
    }
    const name = `endless-${kind}`;
    const submitting = transport.submit({ op: 'double', id: name }, endless());
    while (asked < 1000) await new Promise((resolve) => setTimeout(resolve, 5));
    await (await transport.job(name))!.cancel();
    const job = await submitting;
    expect((await job.status()).state).toBe('cancelled');
    await job.remove();
  });

  test('closing ends what waits: a handler that never ends, a source that never does, whoever waits for a job', async () => {
    const own = await open();
    const stuck = await own.worker(() => new Promise(() => {}), cpu);
    const job = await own.submit({ op: 'stuck' }, params(3));
    let asked = 0;
    async function* endless(): AsyncGenerator<ChunkInput> {
      for (;;) {
        yield { params: asked++ };
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
    const waiting = job.finished().then(
      (s) => s.state,
      (e: Error) => e.message,
    );
    const submitting = own.submit({ op: 'more' }, endless()).then(
      () => 'left',
      (e: Error) => e.message,
    );
    while (asked < 20) await new Promise((resolve) => setTimeout(resolve, 5));
    const start = performance.now();
    await own.close();
    expect(performance.now() - start).toBeLessThan(within(6000));
    expect(await waiting).toMatch(kind === 'local' ? /cancelled/ : /was closed/);
    expect(await submitting).toMatch(kind === 'local' ? /left/ : /was closed/);
    await expect(own.submit({ op: 'x' }, [])).rejects.toThrow(/was closed/);
    expect(stuck.stats().done).toBe(0);
  });

  test('a job that was removed and is submitted anew under its id runs as a whole', async () => {
    const worker = await transport.worker(handlerOf({ ops: ops() }), cpu);
    const id = `anew-${kind}`;
    for (let round = 0; round < 3; round++) {
      const job = await transport.submit({ op: 'double', id }, params(6));
      expect(await values(job)).toEqual([0, 2, 4, 6, 8, 10]);
      await job.remove();
      expect(await job.status()).toMatchObject({ id, state: 'cancelled', submitted: 0, done: 0 });
      expect(await values(job)).toEqual([]);
    }
    await worker.close();
  });

  test('a source may wait for what became of its chunks: they do not wait for others', async () => {
    const worker = await transport.worker(handlerOf({ ops: ops() }), cpu);
    const id = `fed-${kind}`;
    const seen: unknown[] = [];
    async function* fed(): AsyncGenerator<ChunkInput> {
      for (let i = 0; i < 3; i++) {
        yield { params: i };
        for await (const o of (await transport.job(id))!.results()) {
          if (o.index < i) continue;
          seen.push(o.ok && o.result.value);
          break;
        }
      }
    }
    const job = await transport.submit({ op: 'double', id }, fed());
    expect(await values(job)).toEqual([0, 2, 4]);
    expect(seen).toEqual([0, 2, 4]);
    await worker.close();
    await job.remove();
  });

  test('a long job: short chunks, one that takes long, some that fail once, always or for good', async () => {
    const count = 900;
    const tries = new Map<number, number>();
    let release = (): void => {};
    const long = new Promise<void>((resolve) => {
      release = resolve;
    });
    const mixed: WireOps = {
      mixed: async ({ params, attempt }) => {
        const n = params as number;
        tries.set(n, (tries.get(n) ?? 0) + 1);
        expect(attempt).toBe(tries.get(n));
        if (n === 450) await long;
        if (n % 100 === 33 && attempt === 1) throw new Error('not yet');
        if (n === 777) throw new RangeError('never');
        return n === 600 ? { value: 1n as never } : { value: n };
      },
    };
    const workers = await Promise.all(
      [1, 3].map((concurrency) => transport.worker(handlerOf({ ops: mixed }), cpu, { concurrency })),
    );
    const job = await transport.submit({ op: 'mixed', attempts: 3 }, params(count));
    for (const end = Date.now() + within(20_000); (await job.status()).done < count - 3 && Date.now() < end; )
      await new Promise((resolve) => setTimeout(resolve, 10));
    // All that could be done was, while one chunk held a worker.
    expect(await job.status()).toMatchObject({ state: 'running', done: count - 3 });
    release();
    expect(await job.finished()).toMatchObject({
      state: 'failed',
      done: count - 2,
      dead: 2,
      duplicates: 0,
      retries: 11,
    });
    const expected = numbers(count).map((n) => (n === 777 ? 'never' : n === 600 ? expect.stringContaining('JSON') : n));
    expect(await values(job)).toEqual(expected);
    const letters = await job.deadLetters();
    expect(letters.map(({ index, attempts }) => [index, attempts])).toEqual([
      [600, 1],
      [777, 3],
    ]);
    expect(letters.every((l) => Object.keys(l).length === 7)).toBe(true);
    expect([...tries].filter(([n, t]) => t !== (n === 777 ? 3 : n % 100 === 33 ? 2 : 1))).toEqual([]);
    expect(workers.reduce((n, w) => n + w.stats().done, 0)).toBe(count - 2);
    tries.clear();
    expect(await job.retry()).toBe(2);
    expect(await job.finished()).toMatchObject({ state: 'failed', dead: 2 });
    expect([...tries].sort()).toEqual([
      [600, 1],
      [777, 3],
    ]);
    await Promise.all(workers.map((w) => w.close()));
    await job.remove();
  });

  test('a long job that is submitted again at any moment runs no chunk twice', async () => {
    for (const moment of ['waits', 'runs'] as const) {
      const runs = new Map<number, number>();
      const counted: WireOps = {
        counted: async ({ params }) => {
          runs.set(params as number, (runs.get(params as number) ?? 0) + 1);
          await new Promise((resolve) => setTimeout(resolve, 1));
          return { value: params };
        },
      };
      const open = () => transport.worker(handlerOf({ ops: counted }), cpu, { concurrency: 4 });
      const own = { op: 'counted', id: `twice-${moment}-${kind}` };
      const first = moment === 'waits' ? null : await open();
      await transport.submit(own, params(700));
      if (first) while (runs.size < 300) await new Promise((resolve) => setTimeout(resolve, 1));
      const job = await transport.submit(own, params(700));
      const second = await open();
      expect(await job.finished()).toMatchObject({ state: 'done', total: 700, done: 700, duplicates: 0 });
      expect(await values(job)).toEqual(numbers(700));
      await Promise.all([first?.close(), second.close()]);
      expect([...runs.values()].filter((n) => n !== 1)).toEqual([]);
      await job.remove();
    }
  });

  test('submitting waits while 10,000 chunks wait, and ends when the job is cancelled', async () => {
    let asked = 0;
    function* many(): Generator<ChunkInput> {
      for (; asked < 30_000; asked++) yield {};
    }
    const id = `full-${kind}`;
    const submitting = transport.submit({ op: 'nobody', id, needs: 'gpu:webgpu' }, many());
    while (asked < 9800) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(asked).toBeLessThan(11_000);
    await (await transport.job(id))!.cancel();
    expect((await (await submitting).status()).state).toBe('cancelled');
    await (await transport.job(id))!.remove();
  });

  test('a batch runs on it with the same call: results in order, the failing item by its index', async () => {
    const worker = await transport.worker(
      handlerOf({
        ops: {
          ...ops(),
          odd: ({ params }) => {
            if (params === 4) throw new Error('four');
            return { value: params };
          },
        },
      }),
      cpu,
      { concurrency: 2 },
    );
    await using batch = createBatch([5, 6, 7], { transport });
    const told: number[] = [];
    expect(await batch.executeParallel({ op: 'double' }, { onProgress: (done) => told.push(done) })).toEqual([
      10, 12, 14,
    ]);
    expect(told.at(-1)).toBe(3);
    expect(batch.stats()).toMatchObject({ parallel: 'queue', totalItemsProcessed: 3 });
    await using failing = createBatch([3, 4, 5], { transport, attempts: 1 });
    await expect(failing.executeParallel({ op: 'odd' })).rejects.toMatchObject({
      index: 1,
      message: expect.stringContaining('four'),
    });
    const all = await failing.executeParallel({ op: 'odd' }, { onError: 'collect' });
    expect(all.map((o) => o.ok)).toEqual([true, false, true]);
    // Of these jobs nobody knows the id: they are gone with their results, but for the one that failed.
    const left = (await transport.jobs()).filter((j) => j.op === 'odd' || (j.op === 'double' && j.total === 3));
    expect(left.map((j) => [j.op, j.dead])).toEqual([['odd', 1]]);
    await worker.close();
  });
});

describe('ids and addresses', () => {
  const chunk = { jobId: 'j', index: 0, op: 'o', codeVersion: '', inputs: [], params: null, bytes: 0 };
  it('a chunk is the same as another if all that counts is', async () => {
    const id = await chunkIdOf(chunk);
    expect(await chunkIdOf({ ...chunk, bytes: 7 })).toBe(id);
    for (const other of [{ index: 1 }, { op: 'p' }, { params: 1 }, { codeVersion: '2' }, { jobId: 'k' }])
      expect(await chunkIdOf({ ...chunk, ...other })).not.toBe(id);
  });
  it('a Redis elsewhere needs a password; other addresses are refused', async () => {
    await expect(openTransport('redis://example.com:6379')).rejects.toThrow(/password/);
    await expect(openTransport('nats://localhost')).rejects.toThrow(/no transport/);
    await expect(openTransport('here')).rejects.toThrow(/not an address/);
    await expect(openTransport('redis://localhost:1', { lockMs: 0 })).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });
  it('where no Redis answers it says so within seconds', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const error = await openTransport('redis://127.0.0.1:1').catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'NO_REDIS', message: expect.stringMatching(/127\.0\.0\.1:1.*ECONNREFUSED/) });
  }, 60_000);
  it('a Redis that wants a password says so, and refuses a wrong one', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const own = await startRedis('sesame');
    const at = own.url.replace('redis://', '');
    const open = (who: string) => openTransport(`redis://${who}${at}`).catch((e: unknown) => e);
    expect(await open('')).toMatchObject({
      code: 'REDIS_PASSWORD',
      message: expect.stringContaining('wants a password'),
    });
    for (const who of [':wrong@', 'nobody:sesame@'])
      expect(await open(who)).toMatchObject({
        code: 'REDIS_PASSWORD',
        message: expect.stringMatching(/^(?!.*wrong).*refuses the user or password/),
      });
    await ((await open(':sesame@')) as Transport).close();
    await own.stop();
  }, 60_000);
  it('http data is read by range and checked', async () => {
    const { createServer } = await import('node:http');
    const bytes = Uint8Array.from({ length: 100 }, (_, i) => i);
    const server = createServer((request, response) => {
      const [, from, to] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? [];
      if (from === undefined) response.end(bytes);
      else response.writeHead(206).end(bytes.subarray(Number(from), Number(to) + 1));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const { sha256 } = await import('../../src/batch/chunk-id.ts');
    const ref = { uri: `http://127.0.0.1:${port}/x`, dtype: 'u8', shape: [8], offset: 16, length: 8 } as const;
    const got = await readBlob({ ...ref, sha256: await sha256(bytes.slice(16, 24)) });
    expect([...got.bytes]).toEqual([16, 17, 18, 19, 20, 21, 22, 23]);
    await expect(readBlob({ ...ref, sha256: '0'.repeat(64) })).rejects.toThrow(/has changed/);
    server.close();
  });
});

it('Redis is gone for good: what is closed ends all the same', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  const own = await startRedis();
  const transport = await openTransport(own.url, { lockMs: 1000, checkMs: 300 });
  await transport.worker(handlerOf({ ops: {} }), cpu);
  await transport.submit({ op: 'nobody', needs: 'gpu:cuda' }, params(1));
  await own.stop();
  const start = performance.now();
  await transport.close();
  expect(performance.now() - start).toBeLessThan(within(12_000));
}, 60_000);

it('Redis killed and restarted: nothing that was accepted is lost, nothing is committed twice', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  const own = await startRedis();
  const transport = await openTransport(own.url, { lockMs: 1000, checkMs: 300 });
  const seen = new Map<number, number>();
  const worker = await transport.worker(
    handlerOf({
      ops: {
        wait: async ({ params }) => {
          seen.set(params as number, (seen.get(params as number) ?? 0) + 1);
          await new Promise((resolve) => setTimeout(resolve, 20));
          return { value: params };
        },
      },
    }),
    cpu,
    { concurrency: 2 },
  );
  const job = await transport.submit({ op: 'wait' }, params(150));
  // Once a second everything is on disk.
  await new Promise((resolve) => setTimeout(resolve, 1300));
  await own.kill();
  await new Promise((resolve) => setTimeout(resolve, 300));
  await own.start();
  const status = await job.finished(AbortSignal.timeout(within(60_000)));
  expect(status).toMatchObject({ state: 'done', done: 150, dead: 0 });
  expect((await values(job)).sort((a, b) => Number(a) - Number(b))).toEqual(numbers(150));
  await worker.close();
  await transport.close();
  await own.stop();
});
