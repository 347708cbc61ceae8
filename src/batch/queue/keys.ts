// What the queue keeps in Redis beside BullMQ's own: a hash of each job, its results and its dead letters, and who works.
//
// A result is set once, by one script: the first finisher wins, a second one is counted. The same holds for dead letters. Results of a
// job that are there at the same time go with one call, and are told once. Nothing is written of a job that was removed: it would stay
// for ever, and be taken for a part of the next job of that name.

import { mostTimes } from '../stragglers.ts';
import type { Capability, ChunkDescriptor, ChunkResult, DeadLetter } from '../transport.ts';
import type { Redis } from './connect.ts';

export const keysOf = (prefix: string) => ({
  jobs: `${prefix}:jobs`,
  /** Those that have not ended: the only ones that workers look at. */
  open: `${prefix}:open`,
  workers: `${prefix}:workers`,
  /** Told: the id of a job in which something has changed. */
  news: `${prefix}:news`,
  job: (id: string) => `${prefix}:job:${id}`,
  results: (id: string) => `${prefix}:job:${id}:results`,
  dead: (id: string) => `${prefix}:job:${id}:dead`,
  /** How long chunks took, and which were started a second time: of jobs that ask for it. */
  times: (id: string) => `${prefix}:job:${id}:times`,
  again: (id: string) => `${prefix}:job:${id}:again`,
});

export type Keys = ReturnType<typeof keysOf>;

/** BullMQ takes no colons in names. */
export const queueOf = (needs: Capability): string => needs.replaceAll(':>=', '-min').replaceAll(':', '-');

/** Whether every chunk of a job is done or a dead letter; the job leaves the open ones then. */
const endedScript = `
local function ended()
  local total = redis.call('HGET', KEYS[2], 'total')
  if not total or redis.call('HLEN', KEYS[1]) + redis.call('HLEN', KEYS[3]) < tonumber(total) then return false end
  redis.call('SREM', KEYS[5], ARGV[2])
  return true
end
`;

/**
 * Sets results once. KEYS: results, job, dead, times, open. ARGV: channel, job id, then index, result and time of each; a time of '' is
 * not kept. Returns 1 for each that was the first.
 */
const commitScript = `${endedScript}
local first = {}
if redis.call('EXISTS', KEYS[2]) == 0 then
  for i = 3, #ARGV, 3 do first[#first + 1] = 0 end
  return first
end
local letters = redis.call('EXISTS', KEYS[3]) == 1
for i = 3, #ARGV, 3 do
  if redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1]) == 1 then
    if letters then redis.call('HDEL', KEYS[3], ARGV[i]) end
    if ARGV[i + 2] ~= '' then
      redis.call('LPUSH', KEYS[4], ARGV[i + 2])
      redis.call('LTRIM', KEYS[4], 0, ${mostTimes - 1})
    end
    first[#first + 1] = 1
  else
    redis.call('HINCRBY', KEYS[2], 'duplicates', 1)
    first[#first + 1] = 0
  end
end
ended()
redis.call('PUBLISH', ARGV[1], ARGV[2])
return first
`;

/** Sets a dead letter, unless there is a result. KEYS as above. ARGV: channel, job id, index, letter. */
const buryScript = `${endedScript}
if redis.call('EXISTS', KEYS[2]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[3]) == 1 then return 0 end
redis.call('HSETNX', KEYS[3], ARGV[3], ARGV[4])
ended()
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
`;

/** Notes fields of a job, if it is there, and tells. KEYS as above. ARGV: channel, job id, then field and value of each; '+1' counts. */
const noteScript = `${endedScript}
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
for i = 3, #ARGV, 2 do
  if ARGV[i + 1] == '+1' then redis.call('HINCRBY', KEYS[2], ARGV[i], 1)
  else redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
end
if redis.call('HEXISTS', KEYS[2], 'cancelled') == 1 then redis.call('SREM', KEYS[5], ARGV[2])
elseif not ended() then redis.call('SADD', KEYS[5], ARGV[2]) end
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
`;

/** A result as it is kept: with the id of the chunk it is of. */
export interface KeptResult extends ChunkResult {
  readonly chunk: string;
}

/** A dead letter as it is kept: with what it takes to try the chunk again. */
export interface Letter extends DeadLetter {
  readonly chunk: ChunkDescriptor;
}

type Script<R> = (...args: readonly string[]) => Promise<R>;
interface Scripts {
  readonly forgeCommit: Script<number[]>;
  readonly forgeBury: Script<number>;
  readonly forgeNote: Script<number>;
}

type Scripted = Redis & Scripts;

interface Pending {
  readonly index: number;
  readonly text: string;
  readonly time: string;
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
    redis.defineCommand('forgeCommit', { numberOfKeys: 5, lua: commitScript });
    redis.defineCommand('forgeBury', { numberOfKeys: 5, lua: buryScript });
    redis.defineCommand('forgeNote', { numberOfKeys: 5, lua: noteScript });
    this.#redis = redis as Scripted;
    this.#keys = keys;
  }

  /** False if there was a result already, or the job is gone. `id`: of the chunk; `ms`: how long it took, where that is of interest. */
  commit({ jobId, index }: ChunkDescriptor, id: string, result: ChunkResult, ms: number | null): Promise<boolean> {
    const kept: KeptResult = { ...result, chunk: id };
    return new Promise((resolve, reject) => {
      if (this.#pending.size === 0) setImmediate(() => this.#flush());
      const own = { index, text: JSON.stringify(kept), time: ms === null ? '' : `${ms}`, resolve, reject };
      const list = this.#pending.get(jobId);
      if (list) list.push(own);
      else this.#pending.set(jobId, [own]);
    });
  }

  async bury(chunk: ChunkDescriptor, about: DeadLetter): Promise<void> {
    const letter: Letter = { ...about, chunk };
    await this.#redis.forgeBury(...this.#about(chunk.jobId), `${chunk.index}`, JSON.stringify(letter));
  }

  /** Whether the job is there. '+1' adds one to a field. */
  async note(id: string, fields: Readonly<Record<string, string>>): Promise<boolean> {
    return (await this.#redis.forgeNote(...this.#about(id), ...Object.entries(fields).flat())) === 1;
  }

  #flush(): void {
    const all = this.#pending;
    this.#pending = new Map();
    for (const [id, list] of all) {
      const told = list.flatMap(({ index, text, time }) => [`${index}`, text, time]);
      this.#redis.forgeCommit(...this.#about(id), ...told).then(
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
    const { results, job, dead, times, open, news } = this.#keys;
    return [results(id), job(id), dead(id), times(id), open, news, id];
  }
}
