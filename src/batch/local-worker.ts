// A worker of this process: takes chunks as long as it has room, and tells what became of them.

import { checkMethods } from '../base/signatures.ts';
import { ChunkOverdue, handled, resultWithin } from './chunk-attempt.ts';
import { letterOf } from './chunk-failures.ts';
import { chunkIdOf } from './chunk-id.ts';
import { endsWithin } from './ends-within.ts';
import { isObject, sent } from './json.ts';
import type { Run, Waiting } from './local-job.ts';
import { batchKinds, workerSignatures } from './signatures.ts';
import {
  type ChunkHandler,
  closeMs,
  defaultAttempts,
  NotHere,
  PermanentFailure,
  type WorkerCaps,
  type WorkerHandle,
  type WorkerStats,
} from './transport.ts';

/** Where a worker's chunks come from, and where those go that it could not do. */
export interface Supply {
  take(): Waiting | undefined;
  /** It failed, and is tried again in a while. */
  again(waiting: Waiting): void;
  back(waiting: Waiting): void;
  /** Whether there is a worker that may be able to do it. */
  hasOther(waiting: Waiting): boolean;
  left(): void;
}

export class LocalWorker implements WorkerHandle {
  readonly id = crypto.randomUUID();
  readonly caps: WorkerCaps;
  readonly #handler: ChunkHandler;
  readonly #concurrency: number;
  readonly #supply: Supply;
  readonly #running = new Set<Promise<void>>();
  readonly #runs = new Set<Run>();
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
    for (const { stop } of this.#runs) stop.abort();
    await endsWithin(closeMs, Promise.all(this.#running));
    this.#supply.left();
  }

  async #run(waiting: Waiting): Promise<void> {
    const { chunk, job, attempt } = waiting;
    const run = job.began(waiting, this);
    this.#runs.add(run);
    const chunkId = await chunkIdOf(chunk);
    try {
      // A handler may change what it is given; the next attempt gets it as it was.
      const given = isObject(chunk.params) ? { ...chunk, params: sent(chunk.params) } : chunk;
      const work = handled(this.#handler, given, {
        chunkId,
        attempt,
        get signal() {
          return run.stop.signal;
        },
      });
      const result = await resultWithin(
        job.descriptor.timeoutMs,
        run.stop,
        { chunk, chunkId, attempt, worker: this.id },
        work,
      );
      if (job.commit(run, chunkId, result)) this.#stats.done++;
      else this.#stats.duplicates++;
    } catch (error) {
      if (job.ended(run)) {
        this.#stats.duplicates++;
        return;
      }
      if (run.stop.stopped && !(error instanceof ChunkOverdue)) {
        // Its job was cancelled, or this worker closes. If the job goes on, somebody else is to have the chunk.
        if (!job.cancelled) this.#supply.back(waiting);
        return;
      }
      if (error instanceof NotHere) {
        const elsewhere = { ...waiting, refused: new Set(waiting.refused).add(this) };
        if (this.#supply.hasOther(elsewhere)) return this.#supply.back(elsewhere);
      }
      this.#stats.failed++;
      const last = error instanceof PermanentFailure || attempt >= (job.descriptor.attempts ?? defaultAttempts);
      if (last) job.died(waiting, letterOf(error, { index: chunk.index, chunkId, attempts: attempt, worker: this.id }));
      else {
        job.retries++;
        this.#supply.again(waiting);
      }
    } finally {
      this.#runs.delete(run);
    }
  }
}

checkMethods(LocalWorker.prototype, workerSignatures, batchKinds);
