// The transport of one process: no server, the same contract. Chunks wait in memory, workers are functions of this process.
//
// Completed, dead and cancelled jobs stay until the transport closes, with their results.

import { checked, checkMethods } from '../base/signatures.ts';
import { timer } from '../base/timer.ts';
import { ArgumentError } from '../index.ts';
import { pause, systemClock } from '../profile/clock.ts';
import { checkConcurrency, checkJob, checkSource, describe, jobChanged, serves } from './chunk-id.ts';
import { badArgument, badOption } from './failures.ts';
import { LocalJob, type Waiting } from './local-job.ts';
import { LocalWorker } from './local-worker.ts';
import { batchKinds, transportSignatures } from './signatures.ts';
import {
  type Capability,
  type ChunkHandler,
  type ChunkInput,
  type JobDescriptor,
  type JobHandle,
  type JobStatus,
  mostWaiting,
  type Transport,
  type WorkerCaps,
  type WorkerHandle,
  type WorkerOptions,
} from './transport.ts';
import { untilLeft } from './until-left.ts';

/** How often idle workers look for stragglers, in ms. */
const lookMs = 20;

export interface LocalOptions {
  /** ms before the second, third … attempt at a chunk; the last one repeats. Default 50 and 200. */
  readonly backoffMs?: readonly number[] | undefined;
}

export const localTransport = checked(
  'localTransport',
  'options:{backoffMs:numbers}?',
  ({ backoffMs = [50, 200] }: LocalOptions = {}): Transport => {
    const bad = backoffMs.find((ms) => !(ms >= 0 && ms < Number.POSITIVE_INFINITY));
    if (bad !== undefined) throw badOption('localTransport', 'backoffMs', bad, 'times in ms, 0 or more');
    return new LocalTransport(backoffMs);
  },
  batchKinds,
);

class LocalTransport implements Transport {
  readonly #jobs = new Map<string, LocalJob>();
  readonly #queues = new Map<Capability, Waiting[]>();
  readonly #workers = new Set<LocalWorker>();
  readonly #backoffMs: readonly number[];
  #looking: ReturnType<typeof setInterval> | null = null;
  #closed = false;

  constructor(backoffMs: readonly number[]) {
    this.#backoffMs = backoffMs;
  }

  async submit(job: JobDescriptor, chunks: AsyncIterable<ChunkInput> | Iterable<ChunkInput>): Promise<JobHandle> {
    this.#check('submit');
    const checked = checkJob(job);
    checkSource(chunks);
    const known = this.#jobs.get(checked.id);
    const record =
      known ??
      new LocalJob(
        checked,
        (list) => this.#requeue(list),
        () => this.#jobs.delete(checked.id),
      );
    if (known) this.#again(known, checked);
    this.#jobs.set(checked.id, record);
    const queue = this.#queue(checked.needs ?? 'cpu');
    // Closing cancels: a source that never ends is left then.
    const left = record.stopped;
    let index = 0;
    try {
      for await (const input of Symbol.asyncIterator in chunks ? untilLeft(chunks, left) : chunks) {
        const chunk = describe(checked, index++, input);
        if (!(await record.accepts(chunk))) continue;
        while (queue.length >= mostWaiting && !left.aborted) await pause(systemClock, 5);
        if (left.aborted) return record;
        queue.push({ chunk, job: record, attempt: 1 });
        this.#wake();
      }
      if (left.aborted) return record;
      record.checkCount(index);
    } catch (error) {
      // Half a job would never end, and one whose id nobody knows is of no use; one that is there already is not touched.
      if (!(error instanceof ArgumentError && error.code === 'JOB_CHANGED'))
        await (job.id === undefined ? record.remove() : record.cancel());
      throw error;
    }
    record.submittedAll(index);
    if (checked.stragglers !== undefined) this.#look();
    return record;
  }

  async worker(handler: ChunkHandler, caps: WorkerCaps, options: WorkerOptions = {}): Promise<WorkerHandle> {
    this.#check('worker');
    const worker: LocalWorker = new LocalWorker(handler, caps, checkConcurrency(options), {
      take: () => this.#take(worker) ?? this.#straggler(worker),
      again: (w) => this.#later(w),
      back: (w) => this.#requeue([w]),
      hasOther: ({ job, refused }) =>
        [...this.#workers].some((w) => serves(w.caps, job.descriptor.needs ?? 'cpu') && !refused?.has(w)),
      left: () => this.#workers.delete(worker),
    });
    this.#workers.add(worker);
    worker.wake();
    return worker;
  }

  async job(id: string): Promise<JobHandle | null> {
    return this.#jobs.get(id) ?? null;
  }

  async jobs(): Promise<readonly JobStatus[]> {
    return Promise.all([...this.#jobs.values()].map((j) => j.status()));
  }

  async workers(): Promise<readonly WorkerCaps[]> {
    return [...this.#workers].map((w) => w.caps);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#looking) clearInterval(this.#looking);
    for (const queue of this.#queues.values()) queue.length = 0;
    for (const job of this.#jobs.values()) await job.cancel();
    await Promise.all([...this.#workers].map((w) => w.close()));
  }

  #check(where: string): void {
    if (this.#closed) throw badArgument(where, 'this transport was closed', 'Open a new one.');
  }

  #queue(needs: Capability): Waiting[] {
    let queue = this.#queues.get(needs);
    if (!queue) this.#queues.set(needs, (queue = []));
    return queue;
  }

  /** The oldest chunk that a worker can do: of its own kind first, then of a faster kind whose workers have too much to do. */
  #take(worker: LocalWorker): Waiting | undefined {
    const { caps } = worker;
    for (const [needs, queue] of this.#queues) {
      const at = serves(caps, needs) ? queue.findIndex((w) => !w.refused?.has(worker)) : -1;
      if (at >= 0) return at === 0 ? queue.shift() : queue.splice(at, 1)[0];
    }
    for (const [needs, queue] of this.#queues) {
      const over = queue[0]?.job.descriptor.overflow;
      if (!over || !serves(caps, over.to)) continue;
      const fast = [...this.#workers].filter((w) => serves(w.caps, needs)).length;
      // Of no fast worker it is endless.
      if (queue.length / fast >= over.slowdown) return queue.shift();
    }
    return undefined;
  }

  /** A chunk that another worker takes too long for, if nothing of its job waits. */
  #straggler(worker: LocalWorker): Waiting | undefined {
    for (const job of this.#jobs.values()) {
      const needs = job.descriptor.needs ?? 'cpu';
      if (!serves(worker.caps, needs) || this.#queue(needs).length > 0) continue;
      const found = job.straggler(worker);
      if (found) return found;
    }
    return undefined;
  }

  /** While a job has chunks that may become stragglers, workers are woken to look. */
  #look(): void {
    this.#looking ??= setInterval(() => {
      const open = [...this.#jobs.values()].some((job) => job.mayStraggle);
      if (open) this.#wake();
      else {
        clearInterval(this.#looking!);
        this.#looking = null;
      }
    }, lookMs);
  }

  /** A job is submitted once more: if it was cancelled it goes on. */
  #again(known: LocalJob, { op, needs = 'cpu' }: JobDescriptor): void {
    const before = known.descriptor;
    if (before.op !== op) throw jobChanged(known.id, `its operation was '${before.op}'`);
    if ((before.needs ?? 'cpu') !== needs) throw jobChanged(known.id, `it was for ${before.needs ?? 'cpu'}`);
    if (!known.cancelled) return;
    const queue = this.#queue(needs);
    for (let i = queue.length - 1; i >= 0; i--) if (queue[i]!.job === known) queue.splice(i, 1);
    known.resume();
  }

  #later(waiting: Waiting): void {
    const waits = this.#backoffMs;
    const ms = waits[Math.min(waiting.attempt - 1, waits.length - 1)] ?? 0;
    const ended = waiting.job.pausing(waiting.chunk);
    timer(ms, () => {
      ended();
      this.#requeue([{ ...waiting, attempt: waiting.attempt + 1 }]);
    });
  }

  #requeue(list: readonly Waiting[]): void {
    if (this.#closed) return;
    for (const w of list) this.#queue(w.job.descriptor.needs ?? 'cpu').push(w);
    this.#wake();
  }

  #wake(): void {
    for (const w of this.#workers) w.wake();
  }
}

checkMethods(LocalTransport.prototype, transportSignatures, batchKinds);
