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
import {
  type Capability,
  type ChunkHandler,
  closeMs,
  type WorkerCaps,
  type WorkerHandle,
  type WorkerStats,
} from '../transport.ts';
import { Ahead } from './ahead.ts';
import type { Queue } from './bullmq.ts';
import { ChunkRuns } from './chunk-runs.ts';
import type { Redis } from './connect.ts';
import { queueOf } from './keys.ts';
import { jobFields, type KnownJob, knownJob, type Overflow } from './known-job.ts';
import { sayThere, workersThere } from './roll-call.ts';

type BullWorker = import('bullmq').Worker;

/** How long Redis has to hear that a worker closes. */
const sayMs = 1000;
/** How often open jobs are looked at: messages may be lost. */
const lookMs = 2000;
/** How often at most: when there is a new job, and while one overflows to slower workers or has its stragglers started again. */
const soonMs = 500;

export class RedisWorker implements WorkerHandle {
  readonly id = crypto.randomUUID();
  readonly #queue: Queue;
  readonly #runs: ChunkRuns;
  readonly #caps: WorkerCaps;
  readonly #concurrency: number;
  readonly #bulls = new Map<Capability, BullWorker>();
  readonly #aheads: Ahead[] = [];
  readonly #connections: Redis[] = [];
  #open: ReadonlyMap<string, KnownJob> = new Map();
  readonly #unheard: () => void;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** By the clock of `performance`: when the next look is due, and when the last one began. */
  #due = Number.POSITIVE_INFINITY;
  #began = 0;
  #looking = false;
  /** Something was told since the last look began: it may not have seen it. */
  #news = false;

  private constructor(queue: Queue, handler: ChunkHandler, caps: WorkerCaps, concurrency: number) {
    this.#queue = queue;
    this.#runs = new ChunkRuns(queue, handler, this.id);
    this.#caps = caps;
    this.#concurrency = concurrency;
    this.#unheard = queue.news.onAny((id) => {
      if (this.#open.has(id)) return;
      this.#news = true;
      this.#lookIn(this.#began + soonMs - performance.now());
    });
  }

  static async start(queue: Queue, handler: ChunkHandler, caps: WorkerCaps, concurrency: number): Promise<RedisWorker> {
    const worker = new RedisWorker(queue, handler, caps, concurrency);
    try {
      await worker.#look();
      return worker;
    } catch (error) {
      await worker.close();
      throw error;
    }
  }

  stats(): WorkerStats {
    return this.#runs.stats;
  }

  async close(): Promise<void> {
    this.#unheard();
    this.#runs.close();
    if (this.#timer) clearTimeout(this.#timer);
    for (const ahead of this.#aheads) ahead.close();
    // A handler may never end: without its connection the lock runs out, and its chunk goes to another worker.
    await endsWithin(closeMs, Promise.all([...this.#bulls.values()].map((b) => b.close())));
    // BullMQ leaves connections open that it was given.
    for (const c of this.#connections) c.disconnect();
    // A Redis that is gone forgets it by itself.
    await endsWithin(
      sayMs,
      this.#queue.redis.hdel(this.#queue.keys.workers, this.id).catch(() => 0),
    );
  }

  /** Looks after so many ms, if not sooner. */
  #lookIn(ms: number): void {
    const due = performance.now() + Math.max(0, ms);
    if (this.#looking || this.#runs.closed || due >= this.#due) return;
    this.#due = due;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look().catch(() => {}), due - performance.now());
  }

  /** Serves the queues of this kind, and those that overflow to it; says that this worker is there. */
  async #look(): Promise<void> {
    if (this.#looking || this.#runs.closed) return;
    this.#looking = true;
    this.#news = false;
    this.#began = performance.now();
    try {
      await sayThere(this.#queue, this.id, this.#caps);
      this.#open = await this.#opened();
      this.#runs.learn(this.#open);
      const jobs = [...this.#open.values()];
      const queues = this.#queues(jobs);
      for (const [needs, over] of queues) {
        if (serves(this.#caps, needs)) this.#serve(needs);
        else if (over && serves(this.#caps, over.to)) await this.#help(needs, over);
      }
      // The jobs that overflowed have ended: what comes after them is for the faster ones alone.
      for (const [needs, bull] of this.#bulls)
        if (!serves(this.#caps, needs) && !queues.get(needs) && !bull.isPaused()) await bull.pause(true);
      await this.#runs.stopNeedless(this.#open);
      for (const job of jobs) if (serves(this.#caps, job.needs)) await this.#runs.startAgain(job);
    } finally {
      this.#looking = false;
      this.#due = Number.POSITIVE_INFINITY;
      const changes =
        this.#news || [...this.#open.values()].some((job) => job.overflow !== null || job.stragglers !== null);
      this.#lookIn(this.#began + (changes ? soonMs : lookMs) - performance.now());
    }
  }

  /** The jobs that have not ended, with one question for all. */
  async #opened(): Promise<ReadonlyMap<string, KnownJob>> {
    const { redis, keys } = this.#queue;
    const ids = await redis.smembers(keys.open);
    const asked = redis.pipeline();
    for (const id of ids) asked.hmget(keys.job(id), ...jobFields);
    const answers = ids.length === 0 ? [] : ((await asked.exec()) ?? []);
    const jobs = ids.flatMap((id, i) => knownJob(id, answers[i]?.[1] as (string | null)[] | undefined) ?? []);
    return new Map(jobs.map((job) => [job.id, job]));
  }

  /** The queues of jobs, and where they overflow to. */
  #queues(jobs: readonly KnownJob[]): Map<Capability, Overflow | null> {
    const own: Capability = this.#caps.backend === 'cpu' ? 'cpu' : `gpu:${this.#caps.backend}`;
    const found = new Map<Capability, Overflow | null>([[own, null]]);
    for (const { needs, overflow } of jobs) if (!found.get(needs)) found.set(needs, overflow);
    return found;
  }

  async #help(needs: Capability, over: Overflow): Promise<void> {
    const fast = (await workersThere(this.#queue)).filter((w) => serves(w, needs)).length;
    const backlog = await this.#queue.bull(needs).getWaitingCount();
    // Of no fast worker it is endless, if there is any.
    const helps = backlog / fast >= over.slowdown;
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
    const ahead = new Ahead(this.#concurrency, (loads) => {
      bull.concurrency = loads;
    });
    this.#aheads.push(ahead);
    const bull = new packages.bullmq.Worker(queueOf(needs), (job, token) => this.#runs.take(job, token, ahead, needs), {
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
}

checkMethods(RedisWorker.prototype, workerSignatures, batchKinds);
