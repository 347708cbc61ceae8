// A worker on Redis: takes chunks of the queues it can serve, runs them, and commits each result once.
//
// The lock of a chunk is renewed by BullMQ as long as this process's event loop turns, every third of the lock's time or sooner: what
// computes belongs into another process (executor.ts). A helper of a slower kind takes from a faster kind's queue only while
// that has too much to do.

import { serves } from '../chunk-id.ts';
import {
  type Capability,
  type ChunkDescriptor,
  type ChunkHandler,
  PermanentFailure,
  type WorkerCaps,
  type WorkerHandle,
  type WorkerStats,
} from '../transport.ts';
import type { Queue } from './bullmq.ts';
import type { Redis } from './connect.ts';
import { queueOf } from './keys.ts';

type BullWorker = import('bullmq').Worker;
type BullJob = import('bullmq').Job;

/** How often the queues of other kinds are looked at, and how long a silent worker counts as there. */
const lookMs = 500;
const silentMs = 5000;

interface Overflow {
  readonly to: Capability;
  readonly slowdown: number;
}

export class RedisWorker implements WorkerHandle {
  readonly id = crypto.randomUUID();
  readonly #queue: Queue;
  readonly #handler: ChunkHandler;
  readonly #caps: WorkerCaps;
  readonly #concurrency: number;
  readonly #bulls = new Map<Capability, BullWorker>();
  readonly #connections: Redis[] = [];
  readonly #stop = new AbortController();
  /** Jobs that were looked up; true if cancelled. */
  readonly #cancelled = new Map<string, boolean>();
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
    await Promise.all([...this.#bulls.values()].map((b) => b.close()));
    // BullMQ leaves connections open that it was given.
    for (const c of this.#connections) c.disconnect();
    await this.#queue.redis.hdel(this.#queue.keys.workers, this.id).catch(() => 0);
  }

  /** Serves the queues of this kind, and those that overflow to it; says that this worker is there. */
  async #look(): Promise<void> {
    if (this.#looking || this.#stop.signal.aborted) return;
    this.#looking = true;
    try {
      const { redis, keys } = this.#queue;
      await redis.hset(keys.workers, this.id, JSON.stringify({ ...this.#caps, at: Date.now() }));
      const queues = await this.#queues();
      // Cancelled jobs are seen within half a second.
      for (const id of [...this.#cancelled.keys()])
        this.#cancelled.set(id, (await redis.hget(keys.job(id), 'cancelled')) === '1');
      for (const [needs, over] of queues) {
        if (serves(this.#caps, needs)) this.#serve(needs);
        else if (over && serves(this.#caps, over.to)) await this.#help(needs, over);
      }
    } finally {
      this.#looking = false;
    }
  }

  /** The queues of the jobs that have not ended, and where they overflow to. */
  async #queues(): Promise<Map<Capability, Overflow | null>> {
    const { redis, keys } = this.#queue;
    const own: Capability = this.#caps.backend === 'cpu' ? 'cpu' : `gpu:${this.#caps.backend}`;
    const found = new Map<Capability, Overflow | null>([[own, null]]);
    for (const id of await redis.smembers(keys.jobs)) {
      const [needs, overflow] = await redis.hmget(keys.job(id), 'needs', 'overflow');
      if (needs && !found.get(needs)) found.set(needs, overflow ? (JSON.parse(overflow) as Overflow) : null);
    }
    return found;
  }

  async #help(needs: Capability, over: Overflow): Promise<void> {
    const { redis, keys } = this.#queue;
    const now = Date.now();
    const others = Object.values(await redis.hgetall(keys.workers)).map(
      (text) => JSON.parse(text) as WorkerCaps & { at: number },
    );
    const fast = others.filter((w) => now - w.at < silentMs && serves(w, needs)).length;
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
    const bull = new packages.bullmq.Worker(queueOf(needs), (job) => this.#run(job), {
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

  async #run(job: BullJob): Promise<void> {
    const chunk = job.data as ChunkDescriptor;
    const { redis, keys, steps } = this.#queue;
    if (await this.#isCancelled(chunk.jobId)) return;
    const attempt = job.attemptsMade + 1;
    // Somebody had it before: the result may be there.
    const repeated = job.attemptsStarted > 1 || job.stalledCounter > 0;
    if (repeated && (await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) return;
    try {
      const context = { chunkId: job.id!, attempt, signal: this.#stop.signal };
      const result = await this.#handler(chunk, context);
      if (await steps.commit(chunk, result)) this.#stats.done++;
      else this.#stats.duplicates++;
    } catch (error) {
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

  async #isCancelled(id: string): Promise<boolean> {
    const known = this.#cancelled.get(id);
    if (known !== undefined) return known;
    const { redis, keys } = this.#queue;
    const cancelled = (await redis.hget(keys.job(id), 'cancelled')) === '1';
    this.#cancelled.set(id, cancelled);
    if (this.#cancelled.size > mostJobs) this.#cancelled.delete(this.#cancelled.keys().next().value!);
    return cancelled;
  }
}

/** Jobs that a worker keeps in mind. */
const mostJobs = 64;
