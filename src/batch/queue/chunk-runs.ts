// The chunks that a worker runs: each result is committed once, a failure is told, and what came in a parcel goes on alone from there.

import { timer } from '../../base/timer.ts';
import { handled, resultWithin } from '../chunk-attempt.ts';
import { letterOf } from '../chunk-failures.ts';
import { Stop } from '../stop.ts';
import { straggleMs } from '../stragglers.ts';
import {
  type Capability,
  type ChunkDescriptor,
  type ChunkHandler,
  NotHere,
  PermanentFailure,
  type WorkerStats,
} from '../transport.ts';
import type { Ahead } from './ahead.ts';
import type { Queue } from './bullmq.ts';
import type { Steps } from './keys.ts';
import { type KnownJob, KnownJobs } from './known-job.ts';
import { alone, type BulkJob, chunksOf, idOf, isParcel, type Load, type Parcel, putBack, waitAfter } from './parcel.ts';
import { mayPass } from './refusals.ts';
import { hasOther } from './roll-call.ts';

export type BullJob = import('bullmq').Job;

/** A chunk that is run. */
interface Run {
  readonly chunk: ChunkDescriptor;
  readonly stop: Stop;
  /** It may be done elsewhere, or take too long. */
  readonly apart: boolean;
}

/** A chunk was told to stop, for no fault of its own. */
class ToldToStop extends Error {}
/** Its job was cancelled. */
class JobCancelled extends ToldToStop {}
/** Its worker closes. */
class WorkerCloses extends ToldToStop {}

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
  readonly needs: Capability;
  /** Workers that cannot do it. */
  readonly refused: readonly string[];
}

/** This worker cannot do a chunk, and another one may. */
class PassedOn extends Error {
  readonly refused: readonly string[];

  constructor(refused: readonly string[]) {
    super();
    this.refused = refused;
  }
}

/** How long a result waits that Redis refused. */
const refusedMs = 500;
/** How long a chunk waits that this worker cannot do: others should take it meanwhile. */
const passMs = 200;
/** How long after its time a chunk that waits is looked for. */
const overdueMs = 50;

export class ChunkRuns {
  readonly #queue: Queue;
  readonly #handler: ChunkHandler;
  /** Of the worker. */
  readonly #id: string;
  readonly #stop = new AbortController();
  readonly #unheard: () => void;
  readonly #jobs: KnownJobs;
  readonly #running = new Set<Run>();
  /** Of open jobs whose stragglers are started again: when their loads were first seen to run. */
  readonly #seen = new Map<string, ReadonlyMap<string, number>>();
  /** Of chunks that wait for their next attempt. */
  readonly #wakes = new Set<ReturnType<typeof timer>>();
  readonly #stats = { done: 0, failed: 0, duplicates: 0 };

  constructor(queue: Queue, handler: ChunkHandler, id: string) {
    this.#queue = queue;
    this.#handler = handler;
    this.#id = id;
    this.#jobs = new KnownJobs(queue);
    this.#unheard = queue.news.onCancel((job) => this.#cancel(job));
  }

  get stats(): WorkerStats {
    return { ...this.#stats };
  }

  get closed(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Whoever listens is told to stop. */
  close(): void {
    this.#unheard();
    for (const due of this.#wakes) clearTimeout(due);
    this.#stop.abort();
    for (const { stop } of this.#running) stop.abort(new WorkerCloses());
  }

  /** What is known of open jobs now. */
  learn(open: ReadonlyMap<string, KnownJob>): void {
    this.#jobs.learn(open);
    for (const id of this.#seen.keys()) if (!open.has(id)) this.#seen.delete(id);
  }

  /** Ends what runs of a job. */
  #cancel(id: string): void {
    this.#jobs.cancel(id);
    for (const { chunk, stop } of this.#running) if (chunk.jobId === id) stop.abort(new JobCancelled());
  }

  /** A load of a queue. What was fetched ahead for nothing goes back, as if nobody had taken it. */
  async take(job: BullJob, token: string | undefined, ahead: Ahead, needs: Capability): Promise<void> {
    const load = job.data as Load;
    const again = job.attemptsStarted > 1 || job.stalledCounter > 0;
    if (isParcel(load)) return this.#open(load, again, ahead, needs);
    const { DelayedError, WaitingError } = this.#queue.packages.bullmq;
    ahead.carried(1);
    if (!(await ahead.enter())) {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const { past = {} } = load;
    const { tried = 0, refused = [] } = past;
    const [attempt, attempts] = [job.attemptsMade + 1 + tried, (job.opts.attempts ?? 1) + tried];
    const repeated = again || past.again === true;
    const what = { chunk: chunksOf(load)[0]!, id: job.id!, attempt, attempts, repeated, needs, refused };
    try {
      await this.#inTurn(what, ahead);
    } catch (error) {
      if (error instanceof WorkerCloses) {
        await job.moveToWait(token);
        throw new WaitingError();
      }
      if (!(error instanceof PassedOn)) {
        if (!isFinal(error)) this.#wakeIn(waitAfter(attempt), what);
        throw error;
      }
      await job.updateData({ ...load, past: { ...past, refused: error.refused } });
      await job.moveToDelayed(Date.now() + passMs, token);
      this.#wakeIn(passMs, what);
      throw new DelayedError();
    }
  }

  /**
   * Puts a chunk that waits for its next attempt back in the queue, if nobody has when its time has come: BullMQ's workers forget a wait
   * now and then (for five seconds), and go by clocks, of which each machine has its own.
   */
  #wakeIn(ms: number, { id, needs }: Pick<Attempt, 'id' | 'needs'>): void {
    const wake = async (): Promise<void> => {
      const waiting = await this.#queue.bull(needs).getJob(id);
      if (await waiting?.isDelayed()) await waiting!.promote();
    };
    if (this.closed) return;
    const due = timer(ms + overdueMs, () => {
      this.#wakes.delete(due);
      // Others have taken it meanwhile.
      wake().catch(() => {});
    });
    this.#wakes.add(due);
  }

  /** Runs what will have run in a moment; the rest goes back. All of it does if somebody may have had it before. */
  async #open(parcel: Parcel, repeated: boolean, ahead: Ahead, needs: Capability): Promise<void> {
    const { attempts } = parcel;
    const { cancelled, again } = await this.#jobs.ask(parcel.jobId);
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
      const first = { chunk, id: idOf(chunk), attempt: 1, attempts, repeated: false, needs, refused: [] };
      return this.#inTurn(first, ahead).catch((error: unknown) => {
        if (isFinal(error)) return undefined;
        if (error instanceof WorkerCloses) return back([chunk]);
        if (error instanceof PassedOn) return add([alone(chunk, attempts, { refused: error.refused })]);
        this.#wakeIn(waitAfter(1), first);
        return add([alone(chunk, attempts, { tried: 1 })]);
      });
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
    if ((await this.#jobs.get(chunk.jobId)).cancelled && (await this.#jobs.ask(chunk.jobId)).cancelled) return;
    if (repeated && (await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) return;
    try {
      await this.#attempt(what, ended);
    } catch (error) {
      if (error instanceof JobCancelled) {
        // Submitted again meanwhile, the job goes on: nobody else has the chunk.
        return (await this.#jobs.ask(chunk.jobId)).cancelled ? undefined : this.#run(what, ended);
      }
      // It was told to stop, since it was done elsewhere, or what it did came too late.
      if ((await redis.hexists(keys.results(chunk.jobId), `${chunk.index}`)) === 1) {
        this.#stats.duplicates++;
        return;
      }
      // For another worker, and no failure.
      if (error instanceof WorkerCloses) throw error;
      if (error instanceof NotHere) {
        const refused = [...new Set([...what.refused, this.#id])];
        if (await hasOther(this.#queue, what.needs, refused)) throw new PassedOn(refused);
      }
      this.#stats.failed++;
      if (error instanceof PermanentFailure || attempt >= attempts) {
        const about = { index: chunk.index, chunkId: what.id, attempts: attempt, worker: this.#id };
        const letter = letterOf(error, about);
        await steps.bury(chunk, letter);
        throw new this.#queue.packages.bullmq.UnrecoverableError(letter.error);
      }
      await steps.note(chunk.jobId, { retries: '+1' });
      throw error;
    }
  }

  /** Runs a chunk and commits its result. */
  async #attempt(
    { chunk, id, attempt }: Pick<Attempt, 'chunk' | 'id' | 'attempt'>,
    ended: (ms: number) => void,
  ): Promise<void> {
    const { stragglers, timeoutMs } = await this.#jobs.get(chunk.jobId);
    const run = { chunk, stop: new Stop(), apart: stragglers !== null || timeoutMs !== undefined };
    this.#running.add(run);
    const start = performance.now();
    try {
      const work = handled(this.#handler, chunk, {
        chunkId: id,
        attempt,
        get signal() {
          return run.stop.signal;
        },
      });
      const at = { chunk, chunkId: id, attempt, worker: this.#id };
      const result = await resultWithin(timeoutMs, run.stop, at, work);
      const ms = performance.now() - start;
      ended(ms);
      if (await this.#commit(chunk, id, result, stragglers === null ? null : ms)) this.#stats.done++;
      else this.#stats.duplicates++;
    } catch (error) {
      const { reason } = run.stop;
      throw reason instanceof ToldToStop ? reason : error;
    } finally {
      this.#running.delete(run);
    }
  }

  /** A Redis that has no room for a result is asked again: what was computed is not thrown away. */
  async #commit(...result: Parameters<Steps['commit']>): Promise<boolean> {
    for (;;) {
      try {
        return await this.#queue.steps.commit(...result);
      } catch (error) {
        if (!mayPass(error) || this.closed) throw error;
        await new Promise((resolve) => setTimeout(resolve, refusedMs));
      }
    }
  }

  /** Ends what is run here for nothing: its result is there, since somebody else was sooner, or its job was cancelled. */
  async stopNeedless(open: ReadonlyMap<string, KnownJob>): Promise<void> {
    const { redis, keys } = this.#queue;
    for (const { chunk, stop, apart } of [...this.#running]) {
      const { jobId, index } = chunk;
      if (!open.has(jobId) && (await this.#jobs.ask(jobId)).cancelled) this.#cancel(jobId);
      else if (apart && (await redis.hexists(keys.results(jobId), `${index}`)) === 1) stop.abort();
    }
  }

  /** When each load that runs was first seen to run, by this machine: the clocks of others may say anything. */
  #watched(id: string, active: readonly BullJob[]): (job: BullJob) => number {
    const before = this.#seen.get(id);
    const now = performance.now();
    const seen = new Map(active.map((job) => [attemptOf(job), before?.get(attemptOf(job)) ?? now]));
    this.#seen.set(id, seen);
    return (job) => seen.get(attemptOf(job))!;
  }

  /** Starts a chunk that another worker takes too long for, if nothing waits and this worker has nothing to do. */
  async startAgain({ id, needs, stragglers, cancelled }: KnownJob): Promise<void> {
    if (stragglers === null || cancelled) return;
    const { redis, keys } = this.#queue;
    const bull = this.#queue.bull(needs);
    const active = (await bull.getActive(0, 99)).filter((job) => (job?.data as Load | undefined)?.jobId === id);
    const since = this.#watched(id, active);
    if (this.#running.size > 0) return;
    const most = straggleMs((await redis.lrange(keys.times(id), 0, -1)).map(Number), stragglers);
    if (most === null || (await bull.getWaitingCount()) > 0) return;
    const late = active.find((job) => performance.now() - since(job) > most);
    if (!late) return;
    // Jobs that ask for it have no parcels.
    const [chunk] = chunksOf(late.data as Load);
    // Once: whoever writes it down runs it.
    if ((await redis.sadd(keys.again(id), `${chunk!.index}`)) === 0) return;
    const second = { chunk: chunk!, id: late.id!, attempt: late.attemptsMade + 1 };
    void this.#attempt(second, () => {}).catch(() => {
      // The one that was slow is still at it.
    });
  }
}

/** One attempt at a load. */
const attemptOf = ({ id, attemptsStarted }: BullJob): string => `${id} ${attemptsStarted}`;

/** A dead letter was written. */
const isFinal = (error: unknown): boolean => error instanceof Error && error.name === 'UnrecoverableError';
