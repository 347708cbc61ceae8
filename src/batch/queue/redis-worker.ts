// A worker on Redis: takes chunks of the queues it can serve, runs them, and commits each result once.
//
// The lock of a chunk is renewed by BullMQ as long as this process's event loop turns, every third of the lock's time or sooner: what
// computes belongs into another process (executor.ts). Short chunks are fetched ahead (ahead.ts). A helper of a slower kind takes from
// a faster kind's queue only while that has too much to do. A worker with nothing to do may start a chunk of another one a second
// time, if its job asks for that.

import { checkMethods } from '../../base/signatures.ts';
import { serves } from '../chunk-id.ts';
import { endsWithin } from '../ends-within.ts';
import { batchKinds, workerSignatures } from '../signatures.ts';
import { straggleMs } from '../stragglers.ts';
import {
  type Capability,
  type ChunkDescriptor,
  type ChunkHandler,
  closeMs,
  PermanentFailure,
  type WorkerCaps,
  type WorkerHandle,
  type WorkerStats,
} from '../transport.ts';
import { Ahead } from './ahead.ts';
import type { Queue } from './bullmq.ts';
import type { Redis } from './connect.ts';
import { queueOf } from './keys.ts';
import { jobFields, type KnownJob, knownJob, type Overflow } from './known-job.ts';
import { sayThere, workersThere } from './roll-call.ts';

type BullWorker = import('bullmq').Worker;
type BullJob = import('bullmq').Job;

/** How often the queues of other kinds are looked at. */
const lookMs = 500;

/** A chunk that this worker runs. */
interface Run {
  readonly chunk: ChunkDescriptor;
  readonly stop: AbortController;
}

export class RedisWorker implements WorkerHandle {
  readonly id = crypto.randomUUID();
  readonly #queue: Queue;
  readonly #handler: ChunkHandler;
  readonly #caps: WorkerCaps;
  readonly #concurrency: number;
  readonly #bulls = new Map<Capability, BullWorker>();
  readonly #aheads: Ahead[] = [];
  readonly #connections: Redis[] = [];
  readonly #stop = new AbortController();
  /** Jobs that were looked up. */
  readonly #jobs = new Map<string, KnownJob>();
  readonly #running = new Set<Run>();
  readonly #stats = { done: 0, failed: 0, duplicates: 0 };
  #timer: ReturnType<typeof setInterval> | null = null;
  #looking = false;

  private constructor(queue: Queue, handler: ChunkHandler, caps: WorkerCaps, concurrency: number) {
    this.#queue = queue;
    this.#handler = handler;
    this.#caps = caps;
    this.#concurrency = concurrency;
  }

  static async start(queue: Queue, handler: ChunkHandler, caps: WorkerCaps, concurrency: number): Promise<RedisWorker> {
    const worker = new RedisWorker(queue, handler, caps, concurrency);
    await worker.#look();
    worker.#timer = setInterval(() => void worker.#look().catch(() => {}), lookMs);
    return worker;
  }

  stats(): WorkerStats {
    return { ...this.#stats };
  }

  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#stop.abort();
    for (const { stop } of this.#running) stop.abort();
    for (const ahead of this.#aheads) ahead.close();
    // A handler may never end: without its connection the lock runs out, and its chunk goes to another worker.
    await endsWithin(closeMs, Promise.all([...this.#bulls.values()].map((b) => b.close())));
    // BullMQ leaves connections open that it was given.
    for (const c of this.#connections) c.disconnect();
    await this.#queue.redis.hdel(this.#queue.keys.workers, this.id).catch(() => 0);
  }

  /** Serves the queues of this kind, and those that overflow to it; says that this worker is there. */
  async #look(): Promise<void> {
    if (this.#looking || this.#stop.signal.aborted) return;
    this.#looking = true;
    try {
      await sayThere(this.#queue, this.id, this.#caps);
      const jobs = await this.#open();
      for (const [needs, over] of this.#queues(jobs)) {
        if (serves(this.#caps, needs)) this.#serve(needs);
        else if (over && serves(this.#caps, over.to)) await this.#help(needs, over);
      }
      await this.#stopDone();
      for (const job of jobs) if (serves(this.#caps, job.needs)) await this.#startAgain(job);
    } finally {
      this.#looking = false;
    }
  }

  /** The jobs there are, with one question for all. Cancelled ones are seen within half a second. */
  async #open(): Promise<KnownJob[]> {
    const { redis, keys } = this.#queue;
    const ids = await redis.smembers(keys.jobs);
    const asked = redis.pipeline();
    for (const id of ids) asked.hmget(keys.job(id), ...jobFields);
    const answers = (await asked.exec()) ?? [];
    const jobs = ids.flatMap((id, i) => knownJob(id, answers[i]?.[1] as (string | null)[] | undefined) ?? []);
    for (const job of jobs) if (this.#jobs.has(job.id)) this.#jobs.set(job.id, job);
    return jobs;
  }

  /** The queues of jobs, and where they overflow to. */
  #queues(jobs: readonly KnownJob[]): Map<Capability, Overflow | null> {
    const own: Capability = this.#caps.backend === 'cpu' ? 'cpu' : `gpu:${this.#caps.backend}`;
    const found = new Map<Capability, Overflow | null>([[own, null]]);
    for (const { needs, overflow } of jobs) if (!found.get(needs)) found.set(needs, overflow);
    return found;
  }

  /** Ends what this worker runs although its result is there: somebody else was sooner. */
  async #stopDone(): Promise<void> {
    const { redis, keys } = this.#queue;
    for (const { chunk, stop } of [...this.#running]) {
      if (stop === this.#stop) continue;
      if ((await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) stop.abort();
    }
  }

  /** Starts a chunk that another worker takes too long for, if nothing waits and this worker has nothing to do. */
  async #startAgain({ id, needs, stragglers, cancelled }: KnownJob): Promise<void> {
    if (stragglers === null || cancelled || this.#running.size > 0) return;
    const { redis, keys } = this.#queue;
    const bull = this.#queue.bull(needs);
    const most = straggleMs((await redis.lrange(keys.times(id), 0, -1)).map(Number), stragglers);
    if (most === null || (await bull.getWaitingCount()) > 0) return;
    const late = (await bull.getActive(0, 99)).find(
      ({ data, processedOn }) =>
        (data as ChunkDescriptor).jobId === id && Date.now() - (processedOn ?? Infinity) > most,
    );
    if (!late) return;
    const chunk = late.data as ChunkDescriptor;
    // Once: whoever writes it down runs it.
    if ((await redis.sadd(keys.again(id), `${chunk.index}`)) === 0) return;
    void this.#attempt(chunk, late.id!, late.attemptsMade + 1).catch(() => {
      // The one that was slow is still at it.
    });
  }

  async #help(needs: Capability, over: Overflow): Promise<void> {
    const fast = (await workersThere(this.#queue)).filter((w) => serves(w, needs)).length;
    const backlog = await this.#queue.bull(needs).getWaitingCount();
    const helps = backlog / Math.max(1, fast) >= over.slowdown;
    const bull = this.#bulls.get(needs);
    if (helps && !bull) this.#serve(needs);
    else if (helps && bull?.isPaused()) bull.resume();
    else if (!helps && bull && !bull.isPaused()) await bull.pause(true);
  }

  #serve(needs: Capability): void {
    if (this.#bulls.has(needs)) return;
    const { packages, prefix, lockMs, checkMs } = this.#queue;
    const connection = this.#queue.connect();
    this.#connections.push(connection);
    const ahead = new Ahead(this.#concurrency, (chunks) => {
      bull.concurrency = chunks;
    });
    this.#aheads.push(ahead);
    const bull = new packages.bullmq.Worker(queueOf(needs), (job, token) => this.#enter(job, token, ahead), {
      connection,
      prefix: `${prefix}:bull`,
      concurrency: this.#concurrency,
      lockDuration: lockMs,
      lockRenewTime: lockMs / 3,
      stalledInterval: checkMs,
      // Workers die more often than chunks are to blame: a chunk that kills three of them is given up.
      maxStalledCount: 3,
    });
    bull.on('error', () => {});
    this.#bulls.set(needs, bull);
  }

  /** Runs a chunk when it is its turn. One that was fetched ahead for nothing goes back, as if nobody had taken it. */
  async #enter(job: BullJob, token: string | undefined, ahead: Ahead): Promise<void> {
    if (await ahead.enter()) {
      let left = false;
      const leave = (ms: number): void => {
        if (!left) ahead.left(ms);
        left = true;
      };
      const start = performance.now();
      return this.#run(job, leave).finally(() => leave(performance.now() - start));
    }
    await job.moveToWait(token);
    throw new this.#queue.packages.bullmq.WaitingError();
  }

  /** `ended`: told how long the handler took, as soon as it has ended: what follows is for others. */
  async #run(job: BullJob, ended: (ms: number) => void): Promise<void> {
    const chunk = job.data as ChunkDescriptor;
    const { redis, keys, steps } = this.#queue;
    // What is known of a cancelled job may be old: it may have been removed, and submitted anew.
    if ((await this.#job(chunk.jobId)).cancelled && (await this.#ask(chunk.jobId)).cancelled) return;
    const attempt = job.attemptsMade + 1;
    // Somebody had it before: the result may be there.
    const repeated = job.attemptsStarted > 1 || job.stalledCounter > 0;
    if (repeated && (await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) return;
    try {
      await this.#attempt(chunk, job.id!, attempt, ended);
    } catch (error) {
      // It was told to stop, since it was done elsewhere.
      if ((await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) {
        this.#stats.duplicates++;
        return;
      }
      this.#stats.failed++;
      const { message, stack } = error instanceof Error ? error : new Error(String(error));
      const permanent = error instanceof PermanentFailure;
      if (permanent || attempt >= (job.opts.attempts ?? 1)) {
        const letter = { index: chunk.index, error: message, trace: stack ?? '', attempts: attempt };
        await steps.bury(chunk.jobId, letter);
        throw new this.#queue.packages.bullmq.UnrecoverableError(message);
      }
      await redis.hincrby(keys.job(chunk.jobId), 'retries', 1);
      throw error;
    }
  }

  /** Runs a chunk and commits its result. */
  async #attempt(
    chunk: ChunkDescriptor,
    chunkId: string,
    attempt: number,
    ended: (ms: number) => void = () => {},
  ): Promise<void> {
    const alone = (await this.#job(chunk.jobId)).stragglers === null;
    // A signal of its own costs as much as the rest: only chunks that may be done elsewhere have one.
    const run = { chunk, stop: alone ? this.#stop : new AbortController() };
    this.#running.add(run);
    const start = performance.now();
    try {
      const result = await this.#handler(chunk, { chunkId, attempt, signal: run.stop.signal });
      const ms = performance.now() - start;
      ended(ms);
      if (await this.#queue.steps.commit(chunk, result, alone ? null : ms)) this.#stats.done++;
      else this.#stats.duplicates++;
    } finally {
      this.#running.delete(run);
    }
  }

  async #job(id: string): Promise<KnownJob> {
    return this.#jobs.get(id) ?? this.#ask(id);
  }

  async #ask(id: string): Promise<KnownJob> {
    const { redis, keys } = this.#queue;
    // One that is gone was cancelled first.
    const gone = { id, needs: 'cpu', overflow: null, cancelled: true, stragglers: null };
    const job = knownJob(id, await redis.hmget(keys.job(id), ...jobFields)) ?? gone;
    this.#jobs.set(id, job);
    if (this.#jobs.size > mostJobs) this.#jobs.delete(this.#jobs.keys().next().value!);
    return job;
  }
}

checkMethods(RedisWorker.prototype, workerSignatures, batchKinds);

/** Jobs that a worker keeps in mind. */
const mostJobs = 64;
