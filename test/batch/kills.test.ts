// Workers that die: processes of the built package, killed at random moments. Nothing is lost, nothing is committed twice.
//
// A few trials in `npm test`, two hundred in `npm run test:all`; GPUFORGE_TEST_KILLS asks for another number, FUZZ_SEED draws others.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTransport, type Transport } from '../../src/batch/index.ts';
import { random } from '../support/cpu.ts';
import { all } from '../support/extent.ts';
import { noRedis, startRedis, type TestRedis } from '../support/redis.ts';
import { seed } from '../support/seed.ts';
import { within } from '../support/time.ts';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-kills-'));
const ops = join(folder, 'ops.mjs');
const [lockMs, checkMs] = [1000, 300];
let redis: TestRedis;
let transport: Transport;
const processes = new Set<ChildProcess>();

beforeAll(async () => {
  writeFileSync(
    ops,
    `const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
     export const sleep = async ({ params }) => { await wait(params.ms); return { value: params.n }; };
     export const dies = async ({ params, attempt }) => {
       if (attempt <= params.times) process.kill(process.pid, 'SIGKILL');
       return { value: attempt };
     };
     export const blocks = ({ params }) => {
       for (const end = Date.now() + params.ms; Date.now() < end; );
       return { value: 'done' };
     };`,
  );
  if (noRedis !== null) return;
  redis = await startRedis();
  transport = await openTransport(redis.url, { lockMs, checkMs });
});
afterAll(async () => {
  await transport?.close();
  for (const p of processes) p.kill('SIGKILL');
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A worker, once it says that it is there. */
async function startWorker(concurrency: number): Promise<ChildProcess> {
  const times = ['--lock', `${lockMs}`, '--check', `${checkMs}`];
  const args = ['worker', '--redis', redis.url, '--ops', ops, '--concurrency', `${concurrency}`, ...times];
  const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  processes.add(child);
  child.once('exit', () => processes.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.stdout!.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`the worker ended with code ${code}`)));
  });
  return child;
}

async function stopAll(): Promise<void> {
  await Promise.all(
    [...processes].map((p) => {
      const gone = new Promise((resolve) => p.once('exit', resolve));
      p.kill('SIGTERM');
      return gone;
    }),
  );
}

/** Chunks and their ms: long ones, some that are fetched ahead, and so many that they travel in parcels. */
const kinds = [
  [200, 50],
  [200, 20],
  [600, 5],
] as const;

describe('workers that are killed', () => {
  it('at random moments, one of four: every chunk is committed exactly once', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const draw = random(seed + 7);
    const [trials, concurrency] = [Number(process.env.GPUFORGE_TEST_KILLS ?? (all ? 200 : 3)), 4];
    let discarded = 0;
    const workers = await Promise.all([0, 1, 2, 3].map(() => startWorker(concurrency)));
    for (let trial = 0; trial < trials; trial++) {
      const [chunks, ms] = kinds[trial % kinds.length]!;
      const idealMs = (chunks * ms) / (4 * concurrency);
      const victim = Math.floor(draw() * workers.length);
      const start = performance.now();
      const input = Array.from({ length: chunks }, (_, n) => ({ params: { n, ms } }));
      const job = await transport.submit({ op: 'sleep', id: `trial-${trial}` }, input);
      await new Promise((resolve) => setTimeout(resolve, draw() * idealMs));
      const gone = new Promise((resolve) => workers[victim]!.once('exit', resolve));
      workers[victim]!.kill('SIGKILL');
      await gone;
      const again = startWorker(concurrency);
      const status = await job.finished(AbortSignal.timeout(within(60_000)));
      expect(status, `trial ${trial}`).toMatchObject({ state: 'done', total: chunks, done: chunks, dead: 0 });
      expect(performance.now() - start).toBeLessThan(within(idealMs + lockMs + checkMs + 1000));
      const values: unknown[] = [];
      for await (const o of job.results()) values.push(o.ok ? o.result.value : o.dead.error);
      expect(values, `trial ${trial}`).toEqual(Array.from({ length: chunks }, (_, n) => n));
      workers[victim] = await again;
      discarded += status.duplicates;
    }
    if (trials > 3) console.log(`${trials} kills: 0 lost, 0 committed twice, ${discarded} second results discarded`);
    await stopAll();
  }, 3_600_000);

  it('a computing process that dies is started anew, its chunk repeated; the worker stays', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const worker = await startWorker(1);
    const job = await transport.submit({ op: 'dies', attempts: 3 }, [{ params: { times: 1 } }]);
    expect(await job.finished(AbortSignal.timeout(within(30_000)))).toMatchObject({ state: 'done', retries: 1 });
    for await (const o of job.results()) expect(o).toMatchObject({ ok: true, result: { value: 2 } });
    expect(worker.exitCode).toBeNull();
    // Twice more within ten minutes: this machine is the problem, and leaves the work to others.
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    await transport.submit({ op: 'dies', attempts: 2 }, [{ params: { times: 9 } }]);
    expect(await ended).toBe(1);
  });

  it('chunks that are stuck when their time is over end with their process, which is no crash; the worker goes on', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const worker = await startWorker(1);
    const stuck = [0, 1, 2].map(() => ({ params: { ms: 600_000 } }));
    const job = await transport.submit({ op: 'blocks', attempts: 1, timeoutMs: 200 }, stuck);
    expect(await job.finished(AbortSignal.timeout(within(30_000)))).toMatchObject({ state: 'failed', dead: 3 });
    for (const { error } of await job.deadLetters()) expect(error).toContain('it took longer than 200 ms');
    const next = await transport.submit({ op: 'sleep', timeoutMs: within(2000) }, [{ params: { n: 7, ms: 1 } }]);
    for await (const o of next.results()) expect(o).toMatchObject({ ok: true, result: { value: 7 } });
    expect(worker.exitCode).toBeNull();
    await stopAll();
  });

  it('a chunk that blocks its process for longer than the lock is not given to another', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    await Promise.all([startWorker(1), startWorker(1)]);
    const job = await transport.submit({ op: 'blocks' }, [{ params: { ms: 3 * lockMs } }]);
    expect(await job.finished(AbortSignal.timeout(within(30_000)))).toMatchObject({
      state: 'done',
      done: 1,
      duplicates: 0,
    });
    await stopAll();
  });
});

describe('the commands', () => {
  it('worker: told to stop it ends, also when Redis is gone; a device that is not there is one error', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    const own = await startRedis();
    const start = (...more: string[]): { child: ChildProcess; text: () => string; ended: Promise<unknown> } => {
      const child = spawn(process.execPath, [cli, 'worker', '--redis', own.url, '--ops', ops, ...more]);
      processes.add(child);
      let text = '';
      for (const s of [child.stdout, child.stderr])
        s.on('data', (d) => {
          text += d;
        });
      const ended = new Promise((resolve) => child.once('exit', resolve)).finally(() => processes.delete(child));
      return { child, text: () => text, ended };
    };
    const wrong = start('--device', 'tpu');
    expect(await wrong.ended).toBe(1);
    expect(wrong.text()).toMatch(/^gpuforge: .*there is no device 'tpu'\n +fix: .*cuda, webgpu, cpu.*\n$/);
    const queue = await openTransport(own.url);
    const poison = await queue.submit({ op: 'dies', attempts: 9 }, [{ params: { times: 9 } }]);
    const dying = start();
    expect(await dying.ended).toBe(1);
    expect(dying.text()).toMatch(/this worker stops: .* died 3 times in 10 minutes; the last time, .* ended with /);
    await poison.remove();
    await queue.close();
    const worker = start();
    while (!worker.text().includes('Ctrl+C')) await new Promise((resolve) => setTimeout(resolve, 20));
    await own.stop();
    worker.child.kill('SIGINT');
    expect(await worker.ended).toBe(0);
    expect(worker.text()).toContain('stopped: 0 chunks done');
  }, 60_000);

  it('jobs: list, show, cancel, remove, and what is no job', async (context) => {
    if (noRedis !== null) context.skip(noRedis);
    await startWorker(2);
    const job = await transport.submit(
      { op: 'sleep', id: 'shown' },
      [0, 1, 2].map((n) => ({ params: { n, ms: 1 } })),
    );
    await job.finished();
    const run = async (...args: string[]): Promise<{ code: unknown; text: string }> => {
      const child = spawn(process.execPath, [cli, 'jobs', ...args, '--redis', redis.url]);
      let text = '';
      for (const s of [child.stdout, child.stderr])
        s.on('data', (d) => {
          text += d;
        });
      const code = await new Promise((resolve) => child.once('exit', resolve));
      return { code, text };
    };
    const list = await run('list');
    expect(list.code).toBe(0);
    // Jobs of other tests are in the table too: the bar has what room they leave.
    expect(list.text).toMatch(/shown +sleep +\[#{6,24}\] 100 % +3\/3 +done/);
    expect(list.text).not.toContain('\n\n');
    const lonely = await transport.submit({ op: 'sleep', needs: 'gpu:cuda' }, [{ params: { n: 0, ms: 1 } }]);
    const alone = await run('list');
    expect(alone.text).toMatch(new RegExp(`${lonely.id} +sleep +\\[-+\\] +0 % +0/1 +no worker`));
    // Without a terminal it is as for one of a hundred columns.
    for (const line of alone.text.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    expect((await run('show', lonely.id)).text).toContain('No worker for gpu:cuda is there.');
    await lonely.remove();
    const json = JSON.parse((await run('show', 'shown', '--json')).text) as object;
    expect(json).toMatchObject({ schema: 'gpuforge.job/1', id: 'shown', done: 3, total: 3, state: 'done' });
    expect((await run('show', 'nobody')).code).toBe(1);
    expect((await run('explode', 'x')).code).toBe(2);
    expect((await run('cancel', 'shown')).text).toContain('it is done: there was nothing to cancel');
    expect((await run('retry', 'shown')).text).toContain('no chunk of it has failed for good');
    expect((await run('remove', 'shown')).code).toBe(0);
    expect((await run('show', 'shown')).code).toBe(1);
    await stopAll();
  });
});
