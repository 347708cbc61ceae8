// Which workers there are: each says so every now and then, by the clock of Redis, the one that all machines share.

import { serves } from '../chunk-id.ts';
import type { Capability, WorkerCaps } from '../transport.ts';
import type { Queue } from './bullmq.ts';
import type { Redis } from './connect.ts';

/** How long a silent worker counts as there. */
const silentMs = 5000;
/** How long it is kept in mind. */
const forgetMs = 60_000;

/** Milliseconds by the clock of Redis. */
async function clockOf(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return 1000 * Number(seconds) + Number(micros) / 1000;
}

/** A worker says that it is there. */
export async function sayThere({ redis, keys }: Queue, id: string, caps: WorkerCaps): Promise<void> {
  await redis.hset(keys.workers, id, JSON.stringify({ ...caps, at: await clockOf(redis) }));
}

/** Those that said so lately, by their ids. Who died without a word is forgotten after a while. */
async function thereById({ redis, keys }: Queue): Promise<Map<string, WorkerCaps>> {
  const now = await clockOf(redis);
  const said = Object.entries(await redis.hgetall(keys.workers)).map(([id, text]) => {
    const { at, ...caps } = JSON.parse(text) as WorkerCaps & { readonly at: number };
    return { id, caps, silent: now - at };
  });
  const gone = said.filter((w) => w.silent > forgetMs).map((w) => w.id);
  if (gone.length > 0) await redis.hdel(keys.workers, ...gone);
  return new Map(said.filter((w) => w.silent < silentMs).map((w) => [w.id, w.caps]));
}

/** Those that said so lately. */
export const workersThere = async (queue: Queue): Promise<WorkerCaps[]> => [...(await thereById(queue)).values()];

/** Whether there is a worker that can do what a job needs, but for some. */
export async function hasOther(queue: Queue, needs: Capability, but: readonly string[]): Promise<boolean> {
  return [...(await thereById(queue))].some(([id, caps]) => !but.includes(id) && serves(caps, needs));
}
