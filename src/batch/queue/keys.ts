// What the queue keeps in Redis beside BullMQ's own: a hash of each job, its results and its dead letters, and who works.
//
// A result is set once, by one script: the first finisher wins, a second one is counted. The same holds for dead letters.

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

/** Sets a result once. KEYS: results, job, dead. ARGV: index, result, channel, job id. Returns 1 if it was the first. */
const commitScript = `
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  redis.call('HINCRBY', KEYS[2], 'duplicates', 1)
  return 0
end
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return 1
`;

/** Sets a dead letter, unless there is a result. KEYS and ARGV as above. */
const buryScript = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 0 end
redis.call('HSETNX', KEYS[3], ARGV[1], ARGV[2])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return 1
`;

type Script = (...args: readonly string[]) => Promise<number>;

/** The atomic steps of a connection: results and dead letters, each set once. */
export class Steps {
  readonly #redis: Redis & { readonly forgeCommit: Script; readonly forgeBury: Script };
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    // Redis is told the scripts once, and their hashes after.
    redis.defineCommand('forgeCommit', { numberOfKeys: 3, lua: commitScript });
    redis.defineCommand('forgeBury', { numberOfKeys: 3, lua: buryScript });
    this.#redis = redis as Redis & { readonly forgeCommit: Script; readonly forgeBury: Script };
    this.#keys = keys;
  }

  /** False if there was a result already. */
  async commit({ jobId, index }: ChunkDescriptor, result: ChunkResult): Promise<boolean> {
    return (await this.#redis.forgeCommit(...this.#arguments(jobId, index, result))) === 1;
  }

  async bury(jobId: string, letter: DeadLetter): Promise<void> {
    await this.#redis.forgeBury(...this.#arguments(jobId, letter.index, letter));
  }

  #arguments(id: string, index: number, value: unknown): string[] {
    const { results, job, dead, news } = this.#keys;
    return [results(id), job(id), dead(id), `${index}`, JSON.stringify(value), news, id];
  }
}
