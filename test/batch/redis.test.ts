// What is particular about Redis: which jobs workers look at, and what a Redis that refuses is said to do.

import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { type ChunkInput, handlerOf, type JobHandle, openTransport, type WireOps } from '../../src/batch/index.ts';
import { alone } from '../../src/batch/queue/parcel.ts';
import { all } from '../support/extent.ts';
import { noRedis, startRedis } from '../support/redis.ts';
import { within } from '../support/time.ts';
import { cpu, fileRedis } from './file-redis.ts';

const redis = fileRedis();

async function outcomes(job: JobHandle): Promise<unknown[]> {
  const out: unknown[] = [];
  for await (const o of job.results()) out.push(o.ok ? o.result.value : o.dead.error);
  return out;
}

it('workers look only at jobs that have not ended', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  const prefix = 'looked-at';
  const transport = await openTransport(redis.url, { prefix, lockMs: within(1000), checkMs: 500 });
  const look = new Redis(redis.url);
  const open = (): Promise<string[]> => look.smembers(`${prefix}:open`);
  const list = (...n: number[]): ChunkInput[] => n.map((i) => ({ params: i }));
  try {
    let fails = true;
    const step: WireOps = {
      step: ({ params }) => {
        if (fails && params === 1) throw new Error('not yet');
        return { value: params };
      },
    };
    await transport.submit({ op: 'step', id: 'waits' }, list(0));
    expect(await open()).toEqual(['waits']);
    await transport.submit({ op: 'step', id: 'empty' }, []);
    await (await transport.submit({ op: 'step', id: 'gone', needs: 'gpu:cuda' }, list(0))).remove();
    const idle = await transport.submit({ op: 'step', id: 'idle', needs: 'gpu:cuda' }, list(0));
    expect((await open()).sort()).toEqual(['idle', 'waits']);
    await idle.cancel();
    expect(await open()).toEqual(['waits']);
    await transport.submit({ op: 'step', id: 'idle', needs: 'gpu:cuda' }, list(0));
    expect((await open()).sort()).toEqual(['idle', 'waits']);
    await idle.remove();
    await transport.worker(handlerOf({ ops: step }), cpu);
    const job = await transport.submit({ op: 'step', id: 'fails', attempts: 1 }, list(0, 1));
    expect(await job.finished()).toMatchObject({ state: 'failed', dead: 1 });
    await expect.poll(open).toEqual([]);
    fails = false;
    expect(await job.retry()).toBe(1);
    expect(await job.finished()).toMatchObject({ state: 'done', dead: 0 });
    await expect.poll(open).toEqual([]);
    // More chunks than before: open until those are done.
    const more = await transport.submit({ op: 'step', id: 'fails' }, list(0, 1, 2));
    expect(await more.finished()).toMatchObject({ state: 'done', done: 3 });
    await expect.poll(open).toEqual([]);
  } finally {
    look.disconnect();
    await transport.close();
  }
});

it('a chunk that was done while its job was submitted again is not run for it', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  const prefix = 'again';
  const transport = await openTransport(redis.url, { prefix, lockMs: within(1000), checkMs: 500 });
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  const queue = new Queue('cpu', { connection, prefix: `${prefix}:bull` });
  try {
    let ran = 0;
    await transport.worker(handlerOf({ ops: { count: () => ({ value: ++ran }) } }), cpu);
    const job = await transport.submit({ op: 'count', id: 'once' }, [{}]);
    expect(await outcomes(job)).toEqual([1]);
    // As it is added by a client that looked before the chunk was done.
    const chunk = { jobId: 'once', index: 0, op: 'count', codeVersion: '', inputs: [], params: null, bytes: 0 };
    await expect.poll(() => queue.getActiveCount()).toBe(0);
    await queue.addBulk([alone(chunk, 3, { again: true })]);
    await expect.poll(async () => (await queue.getJobCounts('waiting', 'active')).waiting).toBe(0);
    await expect.poll(() => queue.getActiveCount()).toBe(0);
    expect(ran).toBe(1);
    expect(await job.status()).toMatchObject({ state: 'done', done: 1, duplicates: 0 });
  } finally {
    await queue.close();
    connection.disconnect();
    await transport.close();
  }
});

it('a chunk that waits for its next attempt comes in time, by whatever clock its wait was written down', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  const prefix = 'clocks';
  const transport = await openTransport(redis.url, { prefix, lockMs: within(1000), checkMs: 500 });
  const look = new Redis(redis.url);
  const delayed = `${prefix}:bull:cpu:delayed`;
  const hour = 3_600_000 * 0x1000;
  let over = false;
  /** The clock of whoever wrote down that a chunk waits is an hour ahead; what would wake workers then is lost. */
  const ahead = async (): Promise<void> => {
    while (!over) {
      const [id, score] = await look.zrange(delayed, '0', '0', 'WITHSCORES');
      if (id !== undefined) await look.zadd(delayed, 'XX', `${Number(score) + hour}`, id);
    }
  };
  try {
    const attempts: number[] = [];
    const ops: WireOps = {
      step: ({ attempt }) => {
        attempts.push(attempt);
        if (attempt < 4) throw new Error('not yet');
        return { value: attempt };
      },
    };
    await transport.worker(handlerOf({ ops }), cpu);
    const job = await transport.submit({ op: 'step', attempts: 4 }, [{}]);
    const ended = ahead();
    expect(await job.finished(AbortSignal.timeout(within(3000)))).toMatchObject({ state: 'done', retries: 3 });
    expect(attempts).toEqual([1, 2, 3, 4]);
    over = true;
    await ended;
  } finally {
    over = true;
    look.disconnect();
    await transport.close();
  }
});

it('two clients that submit a job at the same moment run no chunk twice', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  const options = { prefix: 'two', lockMs: within(1000), checkMs: 500 };
  const clients = await Promise.all([0, 1].map(() => openTransport(redis.url, options)));
  try {
    let ran = 0;
    const count: WireOps = {
      count: ({ params }) => {
        ran++;
        return { value: params };
      },
    };
    await clients[0]!.worker(handlerOf({ ops: count }), cpu, { concurrency: 4 });
    const chunks = Array.from({ length: 300 }, (_, i) => ({ params: i }));
    for (let round = 0; round < (all ? 40 : 4); round++) {
      ran = 0;
      const jobs = await Promise.all(clients.map((c) => c.submit({ op: 'count', id: `same-${round}` }, chunks)));
      for (const job of jobs) expect(await job.finished()).toMatchObject({ state: 'done', done: 300, duplicates: 0 });
      expect(ran, `round ${round}`).toBe(300);
    }
  } finally {
    await Promise.all(clients.map((c) => c.close()));
  }
});

it('a slower worker that helped with a job leaves the next one alone', async (context) => {
  if (noRedis !== null) context.skip(noRedis);
  const transport = await openTransport(redis.url, { prefix: 'helped', lockMs: within(1000), checkMs: 500 });
  try {
    await transport.worker(handlerOf({ ops: { one: () => ({ value: 1 }) } }), cpu, { concurrency: 4 });
    const needs = 'gpu:cuda';
    const chunks = Array.from({ length: 5 }, () => ({}));
    const helped = await transport.submit({ op: 'one', needs, overflow: { to: 'cpu', slowdown: 1 } }, chunks);
    expect((await helped.finished(AbortSignal.timeout(within(10_000)))).state).toBe('done');
    const doneSoon = async (): Promise<number> => {
      const own = await transport.submit({ op: 'one', needs }, [{}]);
      await new Promise((resolve) => setTimeout(resolve, 300));
      return (await own.status()).done;
    };
    await expect.poll(doneSoon, { timeout: within(5000) }).toBe(0);
  } finally {
    await transport.close();
  }
});

describe('a Redis that refuses', () => {
  it('what is written to one that is full fails in plain words; what it has taken goes on when there is room', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const own = await startRedis();
    const look = new Redis(own.url);
    const transport = await openTransport(own.url, { lockMs: within(1000), checkMs: 500 });
    try {
      const job = await transport.submit({ op: 'double' }, [{ params: 1 }, { params: 2 }]);
      await look.config('SET', 'maxmemory', '100kb');
      await expect(transport.submit({ op: 'double' }, [{ params: 1 }])).rejects.toMatchObject({
        name: 'ForgeError',
        code: 'REDIS_FULL',
        message: expect.stringContaining('submit: Redis has no memory left\n  fix: Give it more (maxmemory)'),
      });
      expect(await job.status()).toMatchObject({ state: 'running', done: 0, total: 2 });
      await look.config('SET', 'maxmemory', '0');
      const ops: WireOps = { double: ({ params }) => ({ value: 2 * (params as number) }) };
      await transport.worker(handlerOf({ ops }), cpu);
      expect(await outcomes(job)).toEqual([2, 4]);
      // Two jobs: the refused one left nothing behind.
      expect((await transport.jobs()).map((j) => j.id)).toEqual([job.id]);
    } finally {
      look.disconnect();
      await transport.close();
      await own.stop();
    }
  });

  it('a result that it has no room for is kept until there is some: nothing is computed again', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const own = await startRedis();
    const look = new Redis(own.url);
    const transport = await openTransport(own.url, { lockMs: within(5000), checkMs: 500 });
    try {
      let runs = 0;
      const fills: WireOps = {
        fills: async ({ params }) => {
          runs++;
          await look.config('SET', 'maxmemory', '100kb');
          return { value: params };
        },
      };
      // Submitted first: it would be refused if the chunk ran before that is noted.
      const job = await transport.submit({ op: 'fills', attempts: 1 }, [{ params: 7 }]);
      await transport.worker(handlerOf({ ops: fills }), cpu);
      await expect
        .poll(async () => /errorstat_OOM:count=(\d+)/.exec(await look.info('errorstats'))?.[1] ?? 0, {
          timeout: within(5000),
        })
        .not.toBe(0);
      await look.config('SET', 'maxmemory', '0');
      expect(await outcomes(job)).toEqual([7]);
      expect(await job.status()).toMatchObject({ state: 'done', dead: 0, retries: 0 });
      expect(runs).toBe(1);
    } finally {
      look.disconnect();
      await transport.close();
      await own.stop();
    }
  });

  it('a replica, and one that throws keys away, are told by name', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const own = await startRedis();
    const look = new Redis(own.url);
    try {
      await look.config('SET', 'maxmemory', '100mb');
      await look.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await expect(openTransport(own.url)).rejects.toMatchObject({ code: 'REDIS_EVICTS' });
      // Without a limit nothing is thrown away.
      await look.config('SET', 'maxmemory', '0');
      await (await openTransport(own.url)).close();
      const { port } = new URL(redis.url);
      await look.replicaof('127.0.0.1', port);
      const transport = await openTransport(own.url);
      const refused = { code: 'REDIS_READONLY' };
      await expect(transport.submit({ op: 'double' }, [{}])).rejects.toMatchObject(refused);
      await expect(transport.worker(handlerOf({ ops: { double: () => ({}) } }), cpu)).rejects.toMatchObject(refused);
      await transport.close();
    } finally {
      look.disconnect();
      await own.stop();
    }
  });
});
