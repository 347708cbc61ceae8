// The transport on Redis: BullMQ delivers chunks at least once, Redis commits each result exactly once.
//
// BullMQ holds locks of workers and gives chunks of dead ones to others; results, dead letters and totals are our own keys
// (keys.ts), so that what counts is one atomic step. Whoever waits is told by a message, and looks every two seconds all the same.

import { checkMethods } from '../../base/signatures.ts';
import { ArgumentError } from '../../index.ts';
import { checkConcurrency, checkJob, checkSource, describe, fewer, jobChanged } from '../chunk-id.ts';
import { endsWithin } from '../ends-within.ts';
import { badArgument, badOption } from '../failures.ts';
import { batchKinds, transportSignatures } from '../signatures.ts';
import {
  type Capability,
  type ChunkDescriptor,
  type ChunkHandler,
  type ChunkInput,
  closeMs,
  defaultAttempts,
  type JobDescriptor,
  type JobHandle,
  type JobStatus,
  mostWaiting,
  type Transport,
  type WorkerCaps,
  type WorkerHandle,
  type WorkerOptions,
} from '../transport.ts';
import { checkAnswers, loadPackages, type Packages, type Redis } from './connect.ts';
import { gathered } from './gathered.ts';
import { RedisJob, statusOf } from './job.ts';
import { type Keys, keysOf, queueOf, Steps } from './keys.ts';
import { lookMs, News } from './news.ts';
import { alone, mostAlone, parcelsOf } from './parcel.ts';
import { checkRedisUrl } from './redis-url.ts';
import { RedisWorker } from './redis-worker.ts';
import { tellRefusals } from './refusals.ts';
import { workersThere } from './roll-call.ts';
import { activeLoads, type ChunksThere, checkSame, chunksThere, jobBusy, undone } from './submitted-before.ts';

export interface RedisOptions {
  /** Begins every key. Default 'gpuforge'. */
  readonly prefix?: string | undefined;
  /** How long a worker may be silent before its chunk is given to another, in ms. Default 30,000. */
  readonly lockMs?: number | undefined;
  /** How often that is looked at. Default 5000. */
  readonly checkMs?: number | undefined;
}

/** What the parts of the transport share. */
export interface Queue {
  readonly packages: Packages;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly steps: Steps;
  readonly prefix: string;
  readonly lockMs: number;
  readonly checkMs: number;
  readonly news: News;
  /** The transport was closed: nobody is told anything any more. */
  closed(): boolean;
  /** A connection of its own, for what blocks. */
  connect(): Redis;
  bull(needs: Capability): InstanceType<Packages['bullmq']['Queue']>;
}

/** Chunks that are added with one call: Redis does nothing else meanwhile. */
const bulk = mostAlone;
/** Bulks under way at once: Redis need not wait for the next one. */
const mostAdding = 2;

/** A job whose chunks are being added. */
interface Submitted {
  readonly id: string;
  readonly needs: Capability;
  readonly attempts: number;
  /** Of a job that was submitted before, what is known of its chunks. */
  readonly there: ChunksThere | null;
  /** No chunk of it may be in a parcel: somebody has to see each of them. */
  readonly apart: boolean;
}

export async function redisTransport(url: string, options: RedisOptions = {}): Promise<Transport> {
  const address = checkRedisUrl(url);
  for (const key of ['lockMs', 'checkMs'] as const) checkMs(key, options[key]);
  const packages = await loadPackages();
  await checkAnswers(packages, url, address.host);
  return new RedisTransport(packages, url, options);
}

function checkMs(key: string, ms: number | undefined): void {
  if (ms === undefined || (Number.isSafeInteger(ms) && ms >= 1)) return;
  throw badOption('openTransport', key, ms, 'a whole number of ms, at least 1');
}

class RedisTransport implements Transport {
  readonly #queue: Queue;
  readonly #bulls = new Map<string, InstanceType<Packages['bullmq']['Queue']>>();
  readonly #workers = new Set<RedisWorker>();
  readonly #submitting = new Set<Promise<JobHandle>>();
  /** What makes those leave their sources. */
  readonly #leave = new Set<() => void>();
  #closed = false;

  constructor(packages: Packages, url: string, options: RedisOptions) {
    const { prefix = 'gpuforge', lockMs = 30_000, checkMs = 5000 } = options;
    const redis = packages.connect(url);
    this.#queue = {
      packages,
      redis,
      prefix,
      keys: keysOf(prefix),
      steps: new Steps(redis, keysOf(prefix)),
      lockMs,
      checkMs,
      news: new News(packages.connect(url), keysOf(prefix).news),
      closed: () => this.#closed,
      connect: () => packages.connect(url),
      bull: (needs) => this.#bull(needs),
    };
  }

  submit(job: JobDescriptor, chunks: AsyncIterable<ChunkInput> | Iterable<ChunkInput>): Promise<JobHandle> {
    const submitting = this.#submit(job, chunks).finally(() => this.#submitting.delete(submitting));
    this.#submitting.add(submitting);
    return submitting;
  }

  async #submit(job: JobDescriptor, chunks: AsyncIterable<ChunkInput> | Iterable<ChunkInput>): Promise<JobHandle> {
    this.#check('submit');
    const checked = checkJob(job);
    checkSource(chunks);
    const { id, op, needs = 'cpu', attempts = defaultAttempts, overflow, stragglers = '', timeoutMs = '' } = checked;
    const { redis, keys, steps } = this.#queue;
    const more = { attempts, stragglers, timeoutMs, overflow: overflow ? JSON.stringify(overflow) : '' };
    const descriptor = { id, op, needs, ...more };
    // Nobody else knows an id that was drawn. Results of a job that was removed are refused only as long as there is none of its name.
    if (job.id !== undefined && (await redis.exists(keys.job(id))) === 0)
      if (!(await this.#ended(id, needs))) throw jobBusy(id);
    const known = (await redis.hsetnx(keys.job(id), 'createdAt', Date.now())) === 0;
    if (known) await checkSame(this.#queue, id, op, needs);
    // Workers leave out the chunks of a cancelled job, and stop those they run: which of them are left is known after that.
    if (known && (await redis.hexists(keys.job(id), 'cancelled')) === 1) await this.#ended(id, needs);
    await redis
      .multi()
      .hset(keys.job(id), known ? { ...descriptor, again: '1' } : descriptor)
      .hdel(keys.job(id), 'cancelled')
      .sadd(keys.jobs, id)
      .sadd(keys.open, id)
      .exec();
    const there = known ? await chunksThere(this.#queue, id, needs) : null;
    const own = { id, needs, attempts, there, apart: known || overflow !== undefined || stragglers !== '' };
    const handle = new RedisJob(this.#queue, id, needs);
    let index = 0;
    const take = (input: ChunkInput): ChunkDescriptor => describe(checked, index++, input);
    const leaving = this.#leaving(id);
    /** Bulks that Redis takes while the next one is put together. */
    const adding: Promise<void>[] = [];
    /** False if nobody wants more. */
    const add = async (list: readonly ChunkDescriptor[]): Promise<boolean> => {
      if (!(await this.#room(own, index - list.length))) return false;
      const added = this.#add(own, list, index, adding.at(-1));
      // Heard where it is awaited; the source may take its time until then.
      added.catch(() => {});
      adding.push(added);
      return true;
    };
    try {
      for await (const list of gathered(chunks, { most: bulk, take, left: leaving.left })) {
        this.#check('submit');
        if (adding.length === mostAdding) await adding.shift();
        // A source that never ends is left when nobody wants its chunks any more.
        if (!(await add(list))) return handle;
      }
      this.#check('submit');
      await Promise.all(adding);
      if (leaving.left.aborted) return handle;
      if (known) await this.#checkCount(id, index);
    } catch (error) {
      // Half a job would never end, and one whose id nobody knows is of no use; one that is there already is not touched.
      // A Redis that refused the chunks may refuse this, too.
      if (!(error instanceof ArgumentError && error.code === 'JOB_CHANGED'))
        await (job.id === undefined ? handle.remove() : handle.cancel()).catch(() => {});
      throw error;
    } finally {
      leaving.end();
    }
    await steps.note(id, { submitted: `${index}`, total: `${index}` });
    return handle;
  }

  /** Told when nobody wants more chunks of a job: it was cancelled or removed, or this transport closes. Messages may be lost, or late: what stands in Redis counts. */
  #leaving(id: string): { readonly left: AbortSignal; end(): void } {
    const { redis, keys, news } = this.#queue;
    const stop = new AbortController();
    const end = (): void => stop.abort();
    const look = (): void =>
      void redis.hmget(keys.job(id), 'op', 'cancelled').then(
        ([op, cancelled]) => (op === null || cancelled !== null) && end(),
        () => {},
      );
    const unheard = news.onCancel((job) => job === id && look());
    const looking = setInterval(look, lookMs);
    this.#leave.add(end);
    const over = (): void => {
      unheard();
      clearInterval(looking);
      this.#leave.delete(end);
    };
    stop.signal.addEventListener('abort', over, { once: true });
    return { left: stop.signal, end };
  }

  /** Throws if a job had more chunks before. */
  async #checkCount(id: string, count: number): Promise<void> {
    const { redis, keys } = this.#queue;
    const total = await redis.hget(keys.job(id), 'total');
    if (total !== null && Number(total) > count) throw jobChanged(id, fewer(total, count));
  }

  /**
   * Whether workers have come to an end, within a few seconds, with the loads of a job: after it was removed they would be taken for loads
   * of the next one of that name.
   */
  async #ended(id: string, needs: Capability): Promise<boolean> {
    for (const end = performance.now() + closeMs; ; ) {
      if ((await activeLoads(this.#queue, id, needs)).length === 0) return true;
      if (performance.now() > end) return false;
      await new Promise((r) => setTimeout(r, 50));
    }
  }

  /** Waits while too many chunks wait; false if the job was cancelled. */
  async #room({ id, needs }: Submitted, submitted: number): Promise<boolean> {
    const { redis, keys } = this.#queue;
    const bull = this.#bull(needs);
    for (;;) {
      this.#check('submit');
      const [done, dead, [op, cancelled], loads] = await Promise.all([
        redis.hlen(keys.results(id)),
        redis.hlen(keys.dead(id)),
        redis.hmget(keys.job(id), 'op', 'cancelled'),
        bull.getWaitingCount(),
      ]);
      // One that is gone was removed.
      if (op === null || cancelled !== null) return false;
      if (Math.max(submitted - done - dead, loads) < mostWaiting) return true;
      await new Promise((r) => setTimeout(r, 50));
    }
  }

  /** Adds chunks and notes how many there are now, after those `before`. */
  async #add(
    job: Submitted,
    all: readonly ChunkDescriptor[],
    submitted: number,
    before: Promise<unknown> | undefined,
  ): Promise<void> {
    const { id, needs, attempts } = job;
    const chunks = job.there ? await undone(this.#queue, id, job.there, all) : all;
    const first = chunks[0]?.index ?? 0;
    // What is done between this look and the addition is found by whoever takes it.
    const past = job.there ? { again: true } : undefined;
    const singly = job.apart || first < mostAlone;
    const loads = singly ? chunks.map((c) => alone(c, attempts, past)) : parcelsOf(chunks, attempts);
    if (loads.length > 0) await this.#bull(needs).addBulk(loads);
    await before;
    await this.#queue.steps.note(id, { submitted: `${submitted}` });
  }

  async worker(handler: ChunkHandler, caps: WorkerCaps, options: WorkerOptions = {}): Promise<WorkerHandle> {
    this.#check('worker');
    const worker = await RedisWorker.start(this.#queue, handler, caps, checkConcurrency(options));
    this.#workers.add(worker);
    return worker;
  }

  async job(id: string): Promise<JobHandle | null> {
    this.#check('job');
    const { redis, keys } = this.#queue;
    const needs = await redis.hget(keys.job(id), 'needs');
    return needs === null ? null : new RedisJob(this.#queue, id, needs);
  }

  async jobs(): Promise<readonly JobStatus[]> {
    this.#check('jobs');
    const { redis, keys } = this.#queue;
    const ids = await redis.smembers(keys.jobs);
    const all = await Promise.all(ids.map((id) => statusOf(this.#queue, id)));
    return all.filter((s) => s !== null).sort((a, b) => a.createdAt - b.createdAt);
  }

  async workers(): Promise<readonly WorkerCaps[]> {
    this.#check('workers');
    return workersThere(this.#queue);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#workers].map((w) => w.close()));
    for (const leave of [...this.#leave]) leave();
    // What is being submitted is cancelled.
    await endsWithin(closeMs, Promise.allSettled(this.#submitting));
    // Redis may be gone.
    await endsWithin(closeMs, Promise.allSettled([...this.#bulls.values()].map((b) => b.close())));
    this.#queue.news.close();
    this.#queue.redis.disconnect();
  }

  #check(where: string): void {
    if (this.#closed) throw badArgument(where, 'this transport was closed', 'Open a new one.');
  }

  #bull(needs: Capability): InstanceType<Packages['bullmq']['Queue']> {
    const name = queueOf(needs);
    let bull = this.#bulls.get(name);
    if (!bull) {
      const { packages, redis, prefix } = this.#queue;
      bull = new packages.bullmq.Queue(name, { connection: redis, prefix: `${prefix}:bull` });
      bull.on('error', () => {});
      this.#bulls.set(name, bull);
    }
    return bull;
  }
}

tellRefusals(RedisTransport.prototype, ['submit', 'worker', 'job', 'jobs', 'workers']);
checkMethods(RedisTransport.prototype, transportSignatures, batchKinds);
