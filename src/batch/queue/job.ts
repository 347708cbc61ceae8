// A job in Redis, seen from whoever submitted it or asks for it.

import { checkMethods } from '../../base/signatures.ts';
import { throwIfAborted } from '../../index.ts';
import { retryOfCancelled } from '../chunk-id.ts';
import { badArgument } from '../failures.ts';
import { batchKinds, jobSignatures } from '../signatures.ts';
import {
  type Capability,
  type ChunkOutcome,
  type ChunkResult,
  type DeadLetter,
  defaultAttempts,
  type JobHandle,
  type JobStatus,
} from '../transport.ts';
import type { Queue } from './bullmq.ts';
import type { Letter } from './keys.ts';
import { cancelNews } from './news.ts';
import { alone, chunksOf, idOf, isParcel, type Load } from './parcel.ts';
import { refusal, tellRefusals } from './refusals.ts';

/** Jobs of BullMQ that are looked at together. */
const failedPage = 1000;
/** Results that are fetched with one call. */
const ahead = 200;

export async function statusOf({ redis, keys }: Queue, id: string): Promise<JobStatus | null> {
  // No transaction: a Redis that is full refuses those, also to read. In this order no chunk is counted twice.
  const answers = await redis.pipeline().hgetall(keys.job(id)).hlen(keys.results(id)).hlen(keys.dead(id)).exec();
  const [job, done, dead] = (answers ?? []).map(([, value]) => value) as [Record<string, string>, number, number];
  if (!job?.op) return null;
  const total = job.total === undefined ? null : Number(job.total);
  const ended = total !== null && done + dead >= total;
  const cancelled = job.cancelled === '1' && !(ended && dead === 0);
  return {
    id,
    op: job.op,
    needs: job.needs ?? 'cpu',
    state: cancelled ? 'cancelled' : !ended ? 'running' : dead > 0 ? 'failed' : 'done',
    total,
    submitted: Number(job.submitted ?? 0),
    done,
    dead,
    duplicates: Number(job.duplicates ?? 0),
    retries: Number(job.retries ?? 0),
    createdAt: Number(job.createdAt),
  };
}

/** A job that is not there any more counts as cancelled. */
const removed = (id: string): JobStatus => ({
  id,
  op: '',
  needs: 'cpu',
  state: 'cancelled',
  total: null,
  submitted: 0,
  done: 0,
  dead: 0,
  duplicates: 0,
  retries: 0,
  createdAt: 0,
});

export class RedisJob implements JobHandle {
  readonly id: string;
  readonly #queue: Queue;
  readonly #needs: Capability;

  constructor(queue: Queue, id: string, needs: Capability) {
    this.id = id;
    this.#queue = queue;
    this.#needs = needs;
  }

  async status(): Promise<JobStatus> {
    this.#check();
    return (await statusOf(this.#queue, this.id)) ?? removed(this.id);
  }

  async cancel(): Promise<void> {
    // Also while the transport closes: what is being submitted is cancelled then.
    const { redis, keys, steps } = this.#queue;
    try {
      if (await steps.note(this.id, { cancelled: '1' })) await redis.publish(keys.news, cancelNews(this.id));
    } catch (error) {
      this.#check();
      throw error;
    }
  }

  async remove(): Promise<void> {
    const { redis, keys } = this.#queue;
    this.#check();
    const status = await statusOf(this.#queue, this.id);
    await this.cancel();
    // Of a job that is done nothing waits; the queue may be full of others.
    if (status?.state !== 'done') await this.#unqueue();
    await redis
      .multi()
      .srem(keys.jobs, this.id)
      .srem(keys.open, this.id)
      .del(...[keys.job, keys.results, keys.dead, keys.times, keys.again].map((of) => of(this.id)))
      .exec();
  }

  /** Takes its chunks out of the queue. */
  async #unqueue(): Promise<void> {
    const waiting = await this.#queue.bull(this.#needs).getJobs(['waiting', 'delayed', 'failed']);
    const own = waiting.filter((job) => (job?.data as Load | undefined)?.jobId === this.id);
    // What a worker has just taken is skipped there: the job is cancelled.
    await Promise.all(own.map((job) => job.remove().catch(() => 0)));
  }

  async retry(): Promise<number> {
    this.#check();
    const { redis, keys } = this.#queue;
    if ((await statusOf(this.#queue, this.id))?.state === 'cancelled') throw retryOfCancelled(this.id);
    const letters = await this.#letters();
    let added = 0;
    if (letters.length > 0) await redis.sadd(keys.open, this.id);
    const attempts = Number((await redis.hget(keys.job(this.id), 'attempts')) ?? defaultAttempts);
    const bull = this.#queue.bull(this.#needs);
    for (const { chunk } of letters) {
      // In this order: the letter of a chunk that fails again at once must stay, and whoever takes it away adds the chunk: nobody else does
      // so at the same time. Should this process die in between, submitting the job again adds the chunk.
      if ((await redis.hdel(keys.dead(this.id), `${chunk.index}`)) === 0) continue;
      const { name, data, opts } = alone(chunk, attempts);
      await bull.remove(opts.jobId);
      await bull.add(name, data, opts);
      added++;
    }
    return added;
  }

  async deadLetters(): Promise<readonly DeadLetter[]> {
    return (await this.#letters()).map(plain);
  }

  async #letters(): Promise<Letter[]> {
    this.#check();
    const { redis, keys } = this.#queue;
    const all = Object.values(await redis.hgetall(keys.dead(this.id))).map((text) => JSON.parse(text) as Letter);
    return all.sort((a, b) => a.index - b.index);
  }

  async *results(): AsyncGenerator<ChunkOutcome, void> {
    try {
      yield* this.#results();
    } catch (error) {
      throw refusal('results', error);
    } finally {
      this.#queue.news.forget(this.id);
    }
  }

  async *#results(): AsyncGenerator<ChunkOutcome, void> {
    for (let at = 0; ; ) {
      const mark = this.#queue.news.mark(this.id);
      const status = await this.status();
      const most = status.total ?? status.submitted;
      const wanted = Array.from({ length: Math.min(ahead, most - at) }, (_, i) => `${at + i}`);
      const found = await this.#outcomes(wanted);
      for (const outcome of found) yield outcome;
      at += found.length;
      if (status.total !== null && at >= status.total) return;
      if (found.length > 0) continue;
      if (status.state === 'cancelled') return;
      await this.#wait(mark);
    }
  }

  /** The outcomes from the first index on, up to the first that is missing. */
  async #outcomes(wanted: readonly string[]): Promise<ChunkOutcome[]> {
    if (wanted.length === 0) return [];
    const { redis, keys } = this.#queue;
    const [results, dead] = await Promise.all([
      redis.hmget(keys.results(this.id), ...wanted),
      redis.hmget(keys.dead(this.id), ...wanted),
    ]);
    const found: ChunkOutcome[] = [];
    for (let i = 0; i < wanted.length; i++) {
      const index = Number(wanted[i]);
      if (results[i]) found.push({ index, ok: true, result: plainResult(JSON.parse(results[i]!) as ChunkResult) });
      else if (dead[i]) found.push({ index, ok: false, dead: plain(JSON.parse(dead[i]!) as Letter) });
      else break;
    }
    return found;
  }

  async finished(signal?: AbortSignal): Promise<JobStatus> {
    try {
      return await this.#finished(signal);
    } finally {
      this.#queue.news.forget(this.id);
    }
  }

  async #finished(signal: AbortSignal | undefined): Promise<JobStatus> {
    for (;;) {
      const mark = this.#queue.news.mark(this.id);
      const status = await this.status();
      if (status.state !== 'running') return status;
      await this.#wait(mark, signal);
      throwIfAborted(signal, 'finished');
    }
  }

  async #wait(mark: number, signal?: AbortSignal): Promise<void> {
    const told = await this.#queue.news.since(this.id, mark, signal);
    this.#check();
    if (!told) await this.#bury();
  }

  #check(): void {
    if (this.#queue.closed())
      throw badArgument('job', `the transport of job ${this.id} was closed`, 'Open one again, and ask it for the job.');
  }

  /** Chunks that BullMQ gave up because their workers died again and again: nobody was left to write their dead letter. */
  async #bury(): Promise<void> {
    const bull = this.#queue.bull(this.#needs);
    if ((await bull.getFailedCount()) === 0) return;
    // Those of other jobs are among them, for as long as their jobs are kept.
    for (let at = 0, page = failedPage; page === failedPage; at += failedPage) {
      const failed = await bull.getFailed(at, at + failedPage - 1);
      page = failed.length;
      for (const job of failed) {
        const load = job.data as Load;
        if (load.jobId !== this.id) continue;
        const trace = [job.failedReason, ...(job.stacktrace ?? [])].join('\n');
        const lost = { error: workersDied, code: 'WORKER_LOST', trace, attempts: job.attemptsStarted, worker: null };
        for (const chunk of chunksOf(load))
          await this.#queue.steps.bury(chunk, { index: chunk.index, chunkId: idOf(chunk), ...lost });
        // Its chunks are tried again alone, if they are.
        if (isParcel(load)) await job.remove();
      }
    }
  }
}

const plainResult = ({ value, outputs }: ChunkResult): ChunkResult => ({ value, outputs });
const plain = ({ chunk: _, ...letter }: Letter): DeadLetter => letter;

const workersDied = 'every worker that ran it died, or was silent for longer than its lock';

tellRefusals(RedisJob.prototype, ['status', 'cancel', 'remove', 'retry', 'deadLetters', 'finished']);
checkMethods(RedisJob.prototype, jobSignatures, batchKinds);
