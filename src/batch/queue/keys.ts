// What the queue keeps in Redis beside BullMQ's own: a hash of each job, its results and its dead letters, and who works.
//
// A result is set once, by one script: the first finisher wins, a second one is counted. The same holds for dead letters. Results of a
// job that are there at the same time go with one call, and are told once.

import type { Capability, ChunkDescriptor, ChunkResult, DeadLetter } from '../transport.ts';
import type { Redis } from './connect.ts';

export const keysOf = (prefix: string) => ({
  jobs: `${prefix}:jobs`,
  workers: `${prefix}:workers`,
  /** Told: the id of a job in which something has changed. */
  news: `${prefix}:news`,
  job: (id: string) => `${prefix}:job:${id}`,
  results: (id: string) => `${prefix}:job:${id}:results`,
  dead: (id: string) => `${prefix}:job:${id}:dead`,
});

export type Keys = ReturnType<typeof keysOf>;

/** BullMQ takes no colons in names. */
export const queueOf = (needs: Capability): string => needs.replaceAll(':>=', '-min').replaceAll(':', '-');

/** Sets results once. KEYS: results, job, dead. ARGV: channel, job id, then index and result of each. Returns 1 for each that was the first. */
const commitScript = `
local first = {}
for i = 3, #ARGV, 2 do
  if redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1]) == 1 then
    redis.call('HDEL', KEYS[3], ARGV[i])
    first[#first + 1] = 1
  else
    redis.call('HINCRBY', KEYS[2], 'duplicates', 1)
    first[#first + 1] = 0
  end
end
redis.call('PUBLISH', ARGV[1], ARGV[2])
return first
`;

/** Sets a dead letter, unless there is a result. KEYS as above. ARGV: channel, job id, index, letter. */
const buryScript = `
if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 1 then return 0 end
redis.call('HSETNX', KEYS[3], ARGV[3], ARGV[4])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
`;

type Script<R> = (...args: readonly string[]) => Promise<R>;
type Scripted = Redis & { readonly forgeCommit: Script<number[]>; readonly forgeBury: Script<number> };

interface Pending {
  readonly index: number;
  readonly text: string;
  readonly resolve: (first: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** The atomic steps of a connection: results and dead letters, each set once. */
export class Steps {
  readonly #redis: Scripted;
  readonly #keys: Keys;
  /** Results by job that go with the next call. */
  #pending = new Map<string, Pending[]>();

  constructor(redis: Redis, keys: Keys) {
    // Redis is told the scripts once, and their hashes after.
    redis.defineCommand('forgeCommit', { numberOfKeys: 3, lua: commitScript });
    redis.defineCommand('forgeBury', { numberOfKeys: 3, lua: buryScript });
    this.#redis = redis as Scripted;
    this.#keys = keys;
  }

  /** False if there was a result already. */
  commit({ jobId, index }: ChunkDescriptor, result: ChunkResult): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#pending.size === 0) setImmediate(() => this.#flush());
      const own = { index, text: JSON.stringify(result), resolve, reject };
      const list = this.#pending.get(jobId);
      if (list) list.push(own);
      else this.#pending.set(jobId, [own]);
    });
  }

  async bury(jobId: string, letter: DeadLetter): Promise<void> {
    await this.#redis.forgeBury(...this.#about(jobId), `${letter.index}`, JSON.stringify(letter));
  }

  #flush(): void {
    const all = this.#pending;
    this.#pending = new Map();
    for (const [id, list] of all) {
      const pairs = list.flatMap(({ index, text }) => [`${index}`, text]);
      this.#redis.forgeCommit(...this.#about(id), ...pairs).then(
        (first) => {
          for (const [i, p] of list.entries()) p.resolve(first[i] === 1);
        },
        (error) => {
          for (const p of list) p.reject(error);
        },
      );
    }
  }

  #about(id: string): string[] {
    const { results, job, dead, news } = this.#keys;
    return [results(id), job(id), dead(id), news, id];
  }
}
