// A job that is submitted once more under its id: what is done or under way is not repeated, and other chunks are refused.

import { ArgumentError } from '../../index.ts';
import { jobChanged } from '../chunk-id.ts';
import type { Capability, ChunkDescriptor } from '../transport.ts';
import type { Queue } from './bullmq.ts';
import type { KeptResult } from './keys.ts';
import { chunksOf, idOf, isParcel, type Load } from './parcel.ts';

/** Chunks of a job that are in the queue, by index: their ids; and those of parcels that a worker has opened. */
export interface ChunksThere {
  readonly ids: ReadonlyMap<number, string>;
  readonly opened: ReadonlySet<number>;
}

/** Throws if the job does something else now. */
export async function checkSame({ redis, keys }: Queue, id: string, op: string, needs: Capability): Promise<void> {
  const [before, kind] = await redis.hmget(keys.job(id), 'op', 'needs');
  // Somebody is submitting it at this moment, and has not said more yet.
  if (before === null) return;
  if (before !== op) throw jobChanged(id, `its operation was '${before}'`);
  if (kind !== needs) throw jobChanged(id, `it was for ${kind}`);
}

/** The loads of a job that workers have at the moment. */
export async function activeLoads(queue: Queue, id: string, needs: Capability): Promise<Load[]> {
  const active = await queue.bull(needs).getActive();
  // One that has just ended is not there any more.
  return active.flatMap((job) => ((job?.data as Load | undefined)?.jobId === id ? [job.data as Load] : []));
}

export async function chunksThere(queue: Queue, id: string, needs: Capability): Promise<ChunksThere> {
  const jobs = await queue.bull(needs).getJobs(['waiting', 'delayed', 'failed']);
  const waiting = jobs.flatMap((job) => ((job?.data as Load | undefined)?.jobId === id ? [job.data as Load] : []));
  const active = await activeLoads(queue, id, needs);
  const ids = new Map([...waiting, ...active].flatMap(chunksOf).map((c) => [c.index, idOf(c)] as const));
  const opened = new Set(
    active
      .filter(isParcel)
      .flatMap(chunksOf)
      .map((c) => c.index),
  );
  return { ids, opened };
}

/** The chunks that have no result and are in no parcel that a worker has opened; throws if another chunk was submitted in place of one. */
export async function undone(
  { redis, keys }: Queue,
  id: string,
  { ids, opened }: ChunksThere,
  chunks: readonly ChunkDescriptor[],
): Promise<ChunkDescriptor[]> {
  if (chunks.length === 0) return [];
  const results = await redis.hmget(keys.results(id), ...chunks.map((c) => `${c.index}`));
  return chunks.filter((chunk, i) => {
    const own = idOf(chunk);
    const kept = results[i] ? (JSON.parse(results[i]) as KeptResult).chunk : ids.get(chunk.index);
    if (kept !== undefined && kept !== own) throw jobChanged(id, `chunk ${chunk.index} was another one`);
    return !results[i] && !opened.has(chunk.index);
  });
}

export const jobBusy = (id: string): ArgumentError =>
  new ArgumentError({
    code: 'JOB_BUSY',
    message: `submit: a job ${id} was removed, and a worker still runs a chunk of it`,
    fix: 'Wait until it is done, or give another id.',
    where: 'submit',
  });
