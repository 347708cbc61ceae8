// Queues of jobs while somebody looks: which run, how far they are, what was tried again and what was given up. A queue on another machine is asked
// once a second at most, and one that does not answer is said to be so.

import type { Transport } from '../../batch/index.ts';
import type { QueueView } from '../types.ts';

/** A transport, or what has its jobs. */
export type QueueSource = Pick<Transport, 'jobs' | 'job'>;

const everyMs = 1000;
const mostJobs = 50;
/** Jobs whose dead letters are read, and letters of each. */
const mostFailed = 5;
const mostLetters = 10;

export class QueueWatch {
  readonly name: string;
  readonly #source: QueueSource;
  #asking = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #known: Pick<QueueView, 'asked' | 'jobs' | 'failures' | 'problem'> = {
    asked: null,
    jobs: [],
    failures: [],
    problem: null,
  };

  constructor(name: string, source: QueueSource) {
    this.name = name;
    this.#source = source;
  }

  /** What was known last; asks for news. */
  view(now: number): QueueView {
    if (!this.#asking && now - this.#askedAt >= everyMs) void this.#ask(now);
    return { name: this.name, ...this.#known };
  }

  async #ask(now: number): Promise<void> {
    this.#asking = true;
    this.#askedAt = now;
    try {
      const all = [...(await this.#source.jobs())].sort((a, b) => b.createdAt - a.createdAt);
      // Those that run first, whatever their age.
      const jobs = [...all.filter((j) => j.state === 'running'), ...all.filter((j) => j.state !== 'running')];
      const failures: QueueView['failures'][number][] = [];
      for (const { id, op } of all.filter((j) => j.dead > 0).slice(0, mostFailed)) {
        const letters = (await (await this.#source.job(id))?.deadLetters()) ?? [];
        for (const { index, error, attempts } of letters.slice(0, mostLetters))
          failures.push({ job: id, op, index, error, attempts });
      }
      this.#known = { asked: Date.now(), jobs: jobs.slice(0, mostJobs), failures, problem: null };
    } catch (error) {
      this.#known = { ...this.#known, problem: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#asking = false;
    }
  }
}
