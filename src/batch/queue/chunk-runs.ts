// The chunks that a worker runs: each result is committed once, a failure is told, and what came in a parcel goes on alone from there.

import { straggleMs } from '../stragglers.ts';
import {
  type Capability,
  type ChunkDescriptor,
  type ChunkHandler,
  PermanentFailure,
  type WorkerStats,
} from '../transport.ts';
import type { Ahead } from './ahead.ts';
import type { Queue } from './bullmq.ts';
import { jobFields, type KnownJob, knownJob } from './known-job.ts';
import {
  alone,
  type BulkJob,
  chunksOf,
  idOf,
  isParcel,
  type Load,
  type Parcel,
  putBack,
  type Single,
} from './parcel.ts';

export type BullJob = import('bullmq').Job;

/** A chunk that is run. */
interface Run {
  readonly chunk: ChunkDescriptor;
  readonly stop: AbortController;
}

/** An attempt at a chunk. */
interface Attempt {
  readonly chunk: ChunkDescriptor;
  readonly id: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Attempts that it has in all. */
  readonly attempts: number;
  /** Somebody had it before: the result may be there. */
  readonly repeated: boolean;
}

/** Jobs that a worker keeps in mind. */
const mostJobs = 64;

export class ChunkRuns {
  readonly #queue: Queue;
  readonly #handler: ChunkHandler;
  readonly #stop = new AbortController();
  /** Jobs that were looked up. */
  readonly #jobs = new Map<string, KnownJob>();
  readonly #running = new Set<Run>();
  readonly #stats = { done: 0, failed: 0, duplicates: 0 };

  constructor(queue: Queue, handler: ChunkHandler) {
    this.#queue = queue;
    this.#handler = handler;
  }

  get stats(): WorkerStats {
    return { ...this.#stats };
  }

  get closed(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Whoever listens is told to stop. */
  close(): void {
    this.#stop.abort();
    for (const { stop } of this.#running) stop.abort();
  }

  /** What is known of jobs now. */
  learn(jobs: readonly KnownJob[]): void {
    for (const job of jobs) if (this.#jobs.has(job.id)) this.#jobs.set(job.id, job);
  }

  /** A load of a queue. What was fetched ahead for nothing goes back, as if nobody had taken it. */
  async take(job: BullJob, token: string | undefined, ahead: Ahead, needs: Capability): Promise<void> {
    const load = job.data as Load;
    const repeated = job.attemptsStarted > 1 || job.stalledCounter > 0;
    if (isParcel(load)) return this.#open(load, repeated, ahead, needs);
    ahead.carried(1);
    if (await ahead.enter()) {
      const { tried = 0 } = load as Single;
      const [attempt, attempts] = [job.attemptsMade + 1 + tried, (job.opts.attempts ?? 1) + tried];
      return this.#inTurn({ chunk: chunksOf(load)[0]!, id: job.id!, attempt, attempts, repeated }, ahead);
    }
    await job.moveToWait(token);
    throw new this.#queue.packages.bullmq.WaitingError();
  }

  /** Runs what will have run in a moment; the rest goes back. All of it does if somebody may have had it before. */
  async #open(parcel: Parcel, repeated: boolean, ahead: Ahead, needs: Capability): Promise<void> {
    const { attempts } = parcel;
    const { cancelled, again } = await this.#ask(parcel.jobId);
    if (cancelled) return;
    const add = async (loads: BulkJob[]): Promise<void> => {
      if (loads.length > 0) await this.#queue.bull(needs).addBulk(loads);
    };
    const back = (list: readonly ChunkDescriptor[]): Promise<void> => add(putBack(list, attempts));
    const chunks = chunksOf(parcel);
    if (repeated || again) return back(await this.#undone(chunks));
    const kept = ahead.keeps(chunks.length);
    ahead.carried(Math.max(1, kept));
    const one = async (chunk: ChunkDescriptor): Promise<void> => {
      if (!(await ahead.enter())) return back([chunk]);
      const first = { chunk, id: idOf(chunk), attempt: 1, attempts, repeated: false };
      return this.#inTurn(first, ahead).catch((error: unknown) =>
        isFinal(error) ? undefined : add([alone(chunk, attempts, 1)]),
      );
    };
    const ended = await Promise.allSettled([back(chunks.slice(kept)), ...chunks.slice(0, kept).map(one)]);
    for (const e of ended) if (e.status === 'rejected') throw e.reason;
  }

  /** Chunks without a result. */
  async #undone(chunks: readonly ChunkDescriptor[]): Promise<ChunkDescriptor[]> {
    const { redis, keys } = this.#queue;
    const results = await redis.hmget(keys.results(chunks[0]!.jobId), ...chunks.map((c) => `${c.index}`));
    return chunks.filter((_, i) => results[i] === null);
  }

  /** Runs a chunk whose turn it is; its place is free as soon as the handler has ended: what follows is for others. */
  #inTurn(what: Attempt, ahead: Ahead): Promise<void> {
    let left = false;
    const leave = (ms: number): void => {
      if (!left) ahead.left(ms);
      left = true;
    };
    const start = performance.now();
    return this.#run(what, leave).finally(() => leave(performance.now() - start));
  }

  async #run(what: Attempt, ended: (ms: number) => void): Promise<void> {
    const { chunk, attempt, attempts, repeated } = what;
    const { redis, keys, steps } = this.#queue;
    // What is known of a cancelled job may be old: it may have been removed, and submitted anew.
    if ((await this.#job(chunk.jobId)).cancelled && (await this.#ask(chunk.jobId)).cancelled) return;
    if (repeated && (await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) return;
    try {
      await this.#attempt(what, ended);
    } catch (error) {
      // It was told to stop, since it was done elsewhere.
      if ((await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) {
        this.#stats.duplicates++;
        return;
      }
      this.#stats.failed++;
      const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
      if (error instanceof PermanentFailure || attempt >= attempts) {
        await steps.bury(chunk, { index: chunk.index, error: message, trace: stack, attempts: attempt });
        throw new this.#queue.packages.bullmq.UnrecoverableError(message);
      }
      await redis.hincrby(keys.job(chunk.jobId), 'retries', 1);
      throw error;
    }
  }

  /** Runs a chunk and commits its result. */
  async #attempt({ chunk, id, attempt }: Omit<Attempt, 'attempts'>, ended: (ms: number) => void): Promise<void> {
    const single = (await this.#job(chunk.jobId)).stragglers === null;
    // A signal of its own costs as much as the rest: only chunks that may be done elsewhere have one.
    const run = { chunk, stop: single ? this.#stop : new AbortController() };
    this.#running.add(run);
    const start = performance.now();
    try {
      const result = await this.#handler(chunk, { chunkId: id, attempt, signal: run.stop.signal });
      const ms = performance.now() - start;
      ended(ms);
      if (await this.#queue.steps.commit(chunk, result, single ? null : ms)) this.#stats.done++;
      else this.#stats.duplicates++;
    } finally {
      this.#running.delete(run);
    }
  }

  /** Ends what is run here although its result is there: somebody else was sooner. */
  async stopDone(): Promise<void> {
    const { redis, keys } = this.#queue;
    for (const { chunk, stop } of [...this.#running]) {
      if (stop === this.#stop) continue;
      if ((await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) stop.abort();
    }
  }

  /** Starts a chunk that another worker takes too long for, if nothing waits and this worker has nothing to do. */
  async startAgain({ id, needs, stragglers, cancelled }: KnownJob): Promise<void> {
    if (stragglers === null || cancelled || this.#running.size > 0) return;
    const { redis, keys } = this.#queue;
    const bull = this.#queue.bull(needs);
    const most = straggleMs((await redis.lrange(keys.times(id), 0, -1)).map(Number), stragglers);
    if (most === null || (await bull.getWaitingCount()) > 0) return;
    const late = (await bull.getActive(0, 99)).find(
      ({ data, processedOn }) => (data as Load).jobId === id && Date.now() - (processedOn ?? Infinity) > most,
    );
    if (!late) return;
    // Jobs that ask for it have no parcels.
    const [chunk] = chunksOf(late.data as Load);
    // Once: whoever writes it down runs it.
    if ((await redis.sadd(keys.again(id), `${chunk!.index}`)) === 0) return;
    const second = { chunk: chunk!, id: late.id!, attempt: late.attemptsMade + 1, repeated: true };
    void this.#attempt(second, () => {}).catch(() => {
      // The one that was slow is still at it.
    });
  }

  async #job(id: string): Promise<KnownJob> {
    return this.#jobs.get(id) ?? this.#ask(id);
  }

  async #ask(id: string): Promise<KnownJob> {
    const { redis, keys } = this.#queue;
    // One that is gone was cancelled first.
    const gone = { id, needs: 'cpu', overflow: null, cancelled: true, stragglers: null, again: false };
    const job = knownJob(id, await redis.hmget(keys.job(id), ...jobFields)) ?? gone;
    this.#jobs.set(id, job);
    if (this.#jobs.size > mostJobs) this.#jobs.delete(this.#jobs.keys().next().value!);
    return job;
  }
}

/** A dead letter was written. */
const isFinal = (error: unknown): boolean => error instanceof Error && error.name === 'UnrecoverableError';
