// A job of the transport of one process: what was accepted, what runs, what is done, dead or wanted by somebody who waits.
//
// The first result of a chunk counts; a second one is discarded and counted.

import { checkMethods } from '../base/signatures.ts';
import { aborted } from '../index.ts';
import { chunkIdOf, chunkText, fewer, jobChanged, retryOfCancelled } from './chunk-id.ts';
import { sent } from './json.ts';
import { batchKinds, jobSignatures } from './signatures.ts';
import { Stop } from './stop.ts';
import { mostTimes, straggleMs } from './stragglers.ts';
import type {
  ChunkDescriptor,
  ChunkOutcome,
  ChunkResult,
  DeadLetter,
  JobDescriptor,
  JobHandle,
  JobStatus,
} from './transport.ts';

export interface Waiting {
  readonly chunk: ChunkDescriptor;
  readonly job: LocalJob;
  attempt: number;
  /** Workers that cannot do it. */
  readonly refused?: ReadonlySet<object> | undefined;
}

/** A chunk that a worker runs. */
export interface Run {
  readonly waiting: Waiting;
  readonly by: object;
  readonly start: number;
  readonly stop: Stop;
}

export class LocalJob implements JobHandle {
  readonly id: string;
  readonly descriptor: JobDescriptor & { readonly id: string };
  readonly #createdAt = Date.now();
  readonly #results = new Map<number, ChunkResult>();
  readonly #dead = new Map<number, { readonly letter: DeadLetter; readonly waiting: Waiting }>();
  /** What was submitted: the chunk, or its id once it was run. */
  readonly #accepted = new Map<number, ChunkDescriptor | string>();
  readonly #running = new Set<Run>();
  readonly #times: number[] = [];
  /** Chunks that failed, and wait for their next attempt. */
  readonly #pausing = new Set<number>();
  #stop = new AbortController();
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

  /** Told when it is cancelled. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Throws if it had more chunks before. */
  checkCount(count: number): void {
    if ((this.#total ?? 0) > count) throw jobChanged(this.id, fewer(this.#total!, count));
  }

  /** False for a chunk that was submitted before; throws if another one was. */
  async accepts(chunk: ChunkDescriptor): Promise<boolean> {
    const { index } = chunk;
    const known = this.#accepted.get(index);
    if (known === undefined) {
      this.#accepted.set(index, chunk);
      return true;
    }
    const same = typeof known === 'string' ? known === (await chunkIdOf(chunk)) : chunkText(known) === chunkText(chunk);
    if (!same) throw jobChanged(this.id, `chunk ${index} was another one`);
    return false;
  }

  /** Goes on after it was cancelled: what neither is done nor runs may be submitted again. */
  resume(): void {
    if (!this.cancelled) return;
    this.#stop = new AbortController();
    const running = new Set([...this.#running].map((r) => r.waiting.chunk.index));
    for (const index of [...this.#accepted.keys()])
      if (![this.#results, this.#dead, running, this.#pausing].some((there) => there.has(index)))
        this.#accepted.delete(index);
  }

  /** A chunk waits for its next attempt; what ends that. */
  pausing({ index }: ChunkDescriptor): () => void {
    this.#pausing.add(index);
    return () => void this.#pausing.delete(index);
  }

  submittedAll(total: number): void {
    this.#total = Math.max(this.#total ?? 0, total);
    this.#tell();
  }

  /** Whether chunks run that may have to be started again. */
  get mayStraggle(): boolean {
    const ended = this.#total !== null && this.#results.size + this.#dead.size >= this.#total;
    return this.descriptor.stragglers !== undefined && !this.cancelled && !ended;
  }

  /** A chunk that runs for too long, and only once, somewhere else. */
  straggler(by: object): Waiting | undefined {
    const { stragglers } = this.descriptor;
    if (stragglers === undefined || this.#total === null) return undefined;
    const most = straggleMs(this.#times, stragglers);
    if (most === null) return undefined;
    const now = performance.now();
    for (const run of this.#running) {
      if (run.by === by || now - run.start <= most || this.#results.has(run.waiting.chunk.index)) continue;
      if (this.#runsOf(run).length === 1) return run.waiting;
    }
    return undefined;
  }

  began(waiting: Waiting, by: object): Run {
    const run = { waiting, by, start: performance.now(), stop: new Stop() };
    this.#running.add(run);
    if (this.cancelled) run.stop.abort();
    return run;
  }

  /** A run has failed; whether that does not matter, since its chunk is done or runs elsewhere. */
  ended(run: Run): boolean {
    const elsewhere = this.#runsOf(run).length > 1;
    this.#running.delete(run);
    if (!this.#results.has(run.waiting.chunk.index)) return elsewhere;
    this.#duplicates++;
    return true;
  }

  /** False if there is a result already. */
  commit(run: Run, chunkId: string, result: ChunkResult): boolean {
    const { index } = run.waiting.chunk;
    this.#running.delete(run);
    this.#accepted.set(index, chunkId);
    if (this.#results.has(index)) {
      this.#duplicates++;
      return false;
    }
    this.#results.set(index, { value: sent(result.value), outputs: result.outputs });
    this.#times.push(performance.now() - run.start);
    if (this.#times.length > mostTimes) this.#times.shift();
    for (const other of this.#runsOf(run)) other.stop.abort();
    this.#tell();
    return true;
  }

  #runsOf({ waiting }: Run): Run[] {
    return [...this.#running].filter((r) => r.waiting.chunk.index === waiting.chunk.index);
  }

  died(waiting: Waiting, letter: DeadLetter): void {
    this.#dead.set(letter.index, { letter, waiting });
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
      needs: this.descriptor.needs ?? 'cpu',
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
    for (const run of this.#running) run.stop.abort();
    this.#tell();
  }

  async remove(): Promise<void> {
    await this.cancel();
    // Whoever still has the job has nothing of it, as where it is kept elsewhere.
    for (const what of [this.#results, this.#dead, this.#accepted]) what.clear();
    this.#total = null;
    this.#forget();
  }

  async retry(): Promise<number> {
    if ((await this.status()).state === 'cancelled') throw retryOfCancelled(this.id);
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

checkMethods(LocalJob.prototype, jobSignatures, batchKinds);
