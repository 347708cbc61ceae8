// What a worker knows of the jobs it has chunks of, as it stands in Redis.

import type { Capability } from '../transport.ts';
import type { Queue } from './bullmq.ts';

/** Where the chunks of a job may go as well, and from which backlog on. */
export interface Overflow {
  readonly to: Capability;
  readonly slowdown: number;
}

export interface KnownJob {
  readonly id: string;
  readonly needs: Capability;
  readonly overflow: Overflow | null;
  readonly cancelled: boolean;
  /** From which multiple of the median on a chunk is a straggler; null if none is. */
  readonly stragglers: number | null;
  /** The longest an attempt at a chunk may take. */
  readonly timeoutMs: number | undefined;
  /** It was submitted more than once: chunks may be in a parcel, and in the queue alone. */
  readonly again: boolean;
}

export const jobFields = ['needs', 'overflow', 'cancelled', 'stragglers', 'again', 'timeoutMs'] as const;

/** Null if there is no such job. */
export function knownJob(id: string, fields: readonly (string | null)[] | undefined): KnownJob | null {
  const [needs, overflow, cancelled, stragglers, again, timeoutMs] = fields ?? [];
  if (!needs) return null;
  return {
    id,
    needs,
    overflow: overflow ? (JSON.parse(overflow) as Overflow) : null,
    cancelled: cancelled === '1',
    stragglers: stragglers ? Number(stragglers) : null,
    timeoutMs: timeoutMs ? Number(timeoutMs) : undefined,
    again: again === '1',
  };
}

/** One that is gone was cancelled first. */
const gone = (id: string): KnownJob => ({
  id,
  needs: 'cpu',
  overflow: null,
  cancelled: true,
  stragglers: null,
  timeoutMs: undefined,
  again: false,
});

/** Jobs that are kept in mind. */
const mostJobs = 64;

export class KnownJobs {
  readonly #queue: Queue;
  readonly #jobs = new Map<string, KnownJob>();

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  async get(id: string): Promise<KnownJob> {
    return this.#jobs.get(id) ?? this.ask(id);
  }

  async ask(id: string): Promise<KnownJob> {
    const { redis, keys } = this.#queue;
    const job = knownJob(id, await redis.hmget(keys.job(id), ...jobFields)) ?? gone(id);
    this.#jobs.set(id, job);
    if (this.#jobs.size > mostJobs) this.#jobs.delete(this.#jobs.keys().next().value!);
    return job;
  }

  /** How open jobs stand now; of others it is asked again, should a chunk of them come. */
  learn(open: ReadonlyMap<string, KnownJob>): void {
    for (const id of [...this.#jobs.keys()]) {
      const job = open.get(id);
      if (job) this.#jobs.set(id, job);
      else this.#jobs.delete(id);
    }
  }

  /** It was cancelled. */
  cancel(id: string): void {
    const job = this.#jobs.get(id);
    if (job) this.#jobs.set(id, { ...job, cancelled: true });
  }
}
