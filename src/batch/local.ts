// The transport of one process: no server, the same contract. Chunks wait in memory, workers are functions of this process.
//
// Completed, dead and cancelled jobs stay until the transport closes, with their results.

import { checked } from '../base/signatures.ts';
import { pause, systemClock } from '../profile/clock.ts';
import { checkJob, chunkIdOf, describe, serves } from './chunk-id.ts';
import { aborted, badArgument } from './failures.ts';
import { batchKinds } from './signatures.ts';
import {
  type Capability,
  type ChunkDescriptor,
  type ChunkHandler,
  type ChunkInput,
  type ChunkOutcome,
  type ChunkResult,
  type DeadLetter,
  defaultAttempts,
  type JobDescriptor,
  type JobHandle,
  type JobStatus,
  mostWaiting,
  PermanentFailure,
  type Transport,
  type WorkerCaps,
  type WorkerHandle,
  type WorkerOptions,
  type WorkerStats,
} from './transport.ts';

interface Waiting {
  readonly chunk: ChunkDescriptor;
  readonly job: LocalJob;
  attempt: number;
}

export interface LocalOptions {
  /** ms before the second, third … attempt at a chunk; the last one repeats. Default 50 and 200. */
  readonly backoffMs?: readonly number[] | undefined;
}

export const localTransport = checked(
  'localTransport',
  'options:{backoffMs:numbers}?',
  (options: LocalOptions = {}): Transport => new LocalTransport(options.backoffMs ?? [50, 200]),
  batchKinds,
);

class LocalTransport implements Transport {
  readonly #jobs = new Map<string, LocalJob>();
  readonly #queues = new Map<Capability, Waiting[]>();
  readonly #workers = new Set<LocalWorker>();
  readonly #backoffMs: readonly number[];
  #closed = false;

  constructor(backoffMs: readonly number[]) {
    this.#backoffMs = backoffMs;
  }

  async submit(job: JobDescriptor, chunks: AsyncIterable<ChunkInput> | Iterable<ChunkInput>): Promise<JobHandle> {
    this.#check('submit');
    const checked = checkJob(job);
    const known = this.#jobs.get(checked.id);
    const record =
      known ??
      new LocalJob(
        checked,
        (list) => this.#requeue(list),
        () => this.#jobs.delete(checked.id),
      );
    this.#jobs.set(checked.id, record);
    const queue = this.#queue(checked.needs ?? 'cpu');
    let index = 0;
    for await (const input of chunks) {
      const chunk = describe(checked, index++, input);
      if (!record.accepts(chunk)) continue;
      while (queue.length >= mostWaiting && !this.#closed && !record.cancelled) await pause(systemClock, 5);
      queue.push({ chunk, job: record, attempt: 1 });
      this.#wake();
    }
    record.submittedAll(index);
    return record;
  }

  async worker(handler: ChunkHandler, caps: WorkerCaps, options: WorkerOptions = {}): Promise<WorkerHandle> {
    this.#check('worker');
    const worker = new LocalWorker(handler, caps, options.concurrency ?? 1, {
      take: () => this.#take(caps),
      again: (w) => this.#again(w),
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

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
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
  #take(caps: WorkerCaps): Waiting | undefined {
    for (const [needs, queue] of this.#queues) if (queue.length > 0 && serves(caps, needs)) return queue.shift();
    for (const [needs, queue] of this.#queues) {
      const over = queue[0]?.job.descriptor.overflow;
      if (!over || !serves(caps, over.to)) continue;
      const fast = [...this.#workers].filter((w) => serves(w.caps, needs)).length;
      if (queue.length / Math.max(1, fast) >= over.slowdown) return queue.shift();
    }
    return undefined;
  }

  #again(waiting: Waiting): void {
    const waits = this.#backoffMs;
    const ms = waits[Math.min(waiting.attempt - 1, waits.length - 1)] ?? 0;
    setTimeout(() => this.#requeue([{ ...waiting, attempt: waiting.attempt + 1 }]), ms);
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

interface Supply {
  take(): Waiting | undefined;
  again(waiting: Waiting): void;
  left(): void;
}

class LocalWorker implements WorkerHandle {
  readonly id = crypto.randomUUID();
  readonly caps: WorkerCaps;
  readonly #handler: ChunkHandler;
  readonly #concurrency: number;
  readonly #supply: Supply;
  readonly #running = new Set<Promise<void>>();
  readonly #stats = { done: 0, failed: 0, duplicates: 0 };
  #closed = false;

  constructor(handler: ChunkHandler, caps: WorkerCaps, concurrency: number, supply: Supply) {
    this.#handler = handler;
    this.caps = caps;
    this.#concurrency = concurrency;
    this.#supply = supply;
  }

  stats(): WorkerStats {
    return { ...this.#stats };
  }

  wake(): void {
    while (!this.#closed && this.#running.size < this.#concurrency) {
      const next = this.#supply.take();
      if (!next) return;
      if (next.job.cancelled) continue;
      const running = this.#run(next).finally(() => {
        this.#running.delete(running);
        this.wake();
      });
      this.#running.add(running);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#running);
    this.#supply.left();
  }

  async #run(waiting: Waiting): Promise<void> {
    const { chunk, job, attempt } = waiting;
    try {
      const chunkId = await chunkIdOf(chunk);
      const result = await this.#handler(chunk, { chunkId, attempt, signal: job.signal });
      if (job.commit(chunk.index, result)) this.#stats.done++;
      else this.#stats.duplicates++;
    } catch (error) {
      this.#stats.failed++;
      const last = error instanceof PermanentFailure || attempt >= (job.descriptor.attempts ?? defaultAttempts);
      if (last) job.died(waiting, error);
      else {
        job.retries++;
        this.#supply.again(waiting);
      }
    }
  }
}

class LocalJob implements JobHandle {
  readonly id: string;
  readonly descriptor: JobDescriptor & { readonly id: string };
  readonly #createdAt = Date.now();
  readonly #results = new Map<number, ChunkResult>();
  readonly #dead = new Map<number, { readonly letter: DeadLetter; readonly waiting: Waiting }>();
  readonly #accepted = new Set<number>();
  readonly #stop = new AbortController();
  readonly #requeue: (list: readonly Waiting[]) => void;
  readonly #forget: () => void;
  #total: number | null = null;
  #duplicates = 0;
  retries = 0;
  #changed: (() => void)[] = [];

  constructor(
    descriptor: JobDescriptor & { readonly id: string },
    requeue: (list: readonly Waiting[]) => void,
    forget: () => void,
  ) {
    this.id = descriptor.id;
    this.descriptor = descriptor;
    this.#requeue = requeue;
    this.#forget = forget;
  }

  get cancelled(): boolean {
    return this.#stop.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** False for a chunk that was submitted before. */
  accepts({ index }: ChunkDescriptor): boolean {
    if (this.#accepted.has(index)) return false;
    this.#accepted.add(index);
    return true;
  }

  submittedAll(total: number): void {
    this.#total = Math.max(this.#total ?? 0, total);
    this.#tell();
  }

  /** False if there is a result already. */
  commit(index: number, result: ChunkResult): boolean {
    if (this.#results.has(index)) {
      this.#duplicates++;
      return false;
    }
    this.#results.set(index, result);
    this.#tell();
    return true;
  }

  died(waiting: Waiting, error: unknown): void {
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: '' };
    const { index } = waiting.chunk;
    const letter = { index, error: message, trace: stack ?? '', attempts: waiting.attempt };
    this.#dead.set(index, { letter, waiting });
    this.#tell();
  }

  async status(): Promise<JobStatus> {
    const [done, dead] = [this.#results.size, this.#dead.size];
    const ended = this.#total !== null && done + dead >= this.#total;
    const state =
      this.cancelled && !(ended && dead === 0) ? 'cancelled' : !ended ? 'running' : dead > 0 ? 'failed' : 'done';
    return {
      id: this.id,
      op: this.descriptor.op,
      state,
      total: this.#total,
      submitted: this.#accepted.size,
      done,
      dead,
      duplicates: this.#duplicates,
      retries: this.retries,
      createdAt: this.#createdAt,
    };
  }

  async cancel(): Promise<void> {
    this.#stop.abort();
    this.#tell();
  }

  async remove(): Promise<void> {
    await this.cancel();
    this.#forget();
  }

  async retry(): Promise<number> {
    const again = [...this.#dead.values()].map(({ waiting }) => ({ ...waiting, attempt: 1 }));
    this.#dead.clear();
    this.#requeue(again);
    return again.length;
  }

  async deadLetters(): Promise<readonly DeadLetter[]> {
    return [...this.#dead.values()].map((d) => d.letter).sort((a, b) => a.index - b.index);
  }

  async *results(): AsyncGenerator<ChunkOutcome, void> {
    for (let index = 0; this.#total === null || index < this.#total; index++) {
      for (;;) {
        const result = this.#results.get(index);
        const dead = this.#dead.get(index);
        if (result) yield { index, ok: true, result };
        else if (dead) yield { index, ok: false, dead: dead.letter };
        else if (this.cancelled) return;
        else {
          await this.#change();
          if (this.#total !== null && index >= this.#total) return;
          continue;
        }
        break;
      }
    }
  }

  async finished(signal?: AbortSignal): Promise<JobStatus> {
    for (;;) {
      const status = await this.status();
      if (status.state !== 'running') return status;
      await this.#change(signal);
    }
  }

  #change(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(aborted('finished', signal));
      if (signal?.aborted) stop();
      signal?.addEventListener('abort', stop, { once: true });
      this.#changed.push(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      });
    });
  }

  #tell(): void {
    const waiting = this.#changed;
    this.#changed = [];
    for (const call of waiting) call();
  }
}
