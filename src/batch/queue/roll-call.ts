// Which workers there are: each says so every now and then, by the clock of Redis, the one that all machines share.

import type { WorkerCaps } from '../transport.ts';
import type { Queue } from './bullmq.ts';
import type { Redis } from './connect.ts';

/** How long a silent worker counts as there. */
const silentMs = 5000;

/** Milliseconds by the clock of Redis. */
async function clockOf(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return 1000 * Number(seconds) + Number(micros) / 1000;
}

/** A worker says that it is there. */
export async function sayThere({ redis, keys }: Queue, id: string, caps: WorkerCaps): Promise<void> {
  await redis.hset(keys.workers, id, JSON.stringify({ ...caps, at: await clockOf(redis) }));
}

/** Those that said so lately. */
export async function workersThere({ redis, keys }: Queue): Promise<WorkerCaps[]> {
  const now = await clockOf(redis);
  const said = Object.values(await redis.hgetall(keys.workers)).map(
    (text) => JSON.parse(text) as WorkerCaps & { readonly at: number },
  );
  return said.filter((w) => now - w.at < silentMs).map(({ at: _, ...caps }) => caps);
}
