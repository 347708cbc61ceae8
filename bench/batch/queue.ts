// The queue: what it costs to schedule a chunk, how workers add up, and how many small chunks go through.

import { spawnSync } from 'node:child_process';
import {
  type ChunkHandler,
  localTransport,
  openTransport,
  type Transport,
  type WorkerCaps,
} from '../../src/batch/index.ts';
import { startRedis } from '../../test/support/redis.ts';
import { type Row, verdict } from '../compute/report.ts';

const caps: WorkerCaps = { backend: 'cpu', device: 'cpu', freeMb: null, itemsPerSecond: {} };
/** Milliseconds that handlers took: a sleep takes longer than it was asked for, by up to one. */
let inHandlers = 0;
const sleeping =
  (ms: number): ChunkHandler =>
  async () => {
    const start = performance.now();
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    inHandlers += performance.now() - start;
    return { value: null, outputs: [] };
  };

async function run(
  transport: Transport,
  workers: number,
  concurrency: number,
  chunks: number,
  ms: number,
): Promise<number> {
  const handles = [];
  for (let i = 0; i < workers; i++) handles.push(await transport.worker(sleeping(ms), caps, { concurrency }));
  // Connections, scripts and code are warm after these.
  await (
    await transport.submit(
      { op: 'warm' },
      Array.from({ length: 8 * workers }, () => ({})),
    )
  ).finished();
  inHandlers = 0;
  const start = performance.now();
  const job = await transport.submit(
    { op: 'sleep' },
    Array.from({ length: chunks }, (_, n) => ({ params: n })),
  );
  const { done } = await job.finished();
  const took = performance.now() - start;
  if (done !== chunks) throw new Error(`${done} of ${chunks} chunks are done`);
  await Promise.all(handles.map((h) => h.close()));
  return took;
}

async function rows(name: string, open: () => Promise<Transport>): Promise<Row[]> {
  const transport = await open();
  const out: Row[] = [];
  // One worker that does one chunk at a time: what is not sleep is the queue.
  const one = await run(transport, 1, 1, 100, 20);
  const perChunk = (one - inHandlers) / 100;
  out.push({
    id: 'schedule',
    what: `${name}: 100 chunks of 20 ms, one after the other`,
    figures: `${perChunk.toFixed(2)} ms a chunk beyond the chunk itself`,
    limit: 'at most 2 ms',
    verdict: verdict(perChunk <= 2),
    data: { perChunk },
  });
  const alone = await run(transport, 1, 1, 40, 100);
  const eight = await run(transport, 8, 1, 320, 100);
  const share = alone / eight;
  out.push({
    id: 'scale',
    what: `${name}: 40 chunks of 100 ms for each of 1 and 8 workers`,
    figures: `${alone.toFixed(0)} ms and ${eight.toFixed(0)} ms: ${(100 * share).toFixed(0)} %`,
    limit: 'at least 90 %',
    verdict: verdict(share >= 0.9),
    data: { alone, eight, share },
  });
  const small = await run(transport, 2, 50, 20_000, 0);
  const rate = 20_000 / (small / 1000);
  out.push({
    id: 'rate',
    what: `${name}: 20,000 chunks that do nothing, submitted, run and committed`,
    figures: `${rate.toFixed(0)} a second`,
    limit: 'at least 5,000',
    verdict: verdict(rate >= 5000),
    data: { rate },
  });
  await transport.close();
  return out;
}

export async function queue(): Promise<Row[]> {
  const local = await rows('local', async () => localTransport());
  if (spawnSync('redis-server', ['--version']).status !== 0) {
    console.log('redis-server is not installed: the queue on Redis was not measured');
    return local;
  }
  const redis = await startRedis();
  try {
    return [...local, ...(await rows('Redis', () => openTransport(redis.url)))];
  } finally {
    await redis.stop();
  }
}
