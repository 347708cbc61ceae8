// The packages of the queue, loaded when it is used: they are optional.

import { ForgeError } from '../../index.ts';
import { endsWithin } from '../ends-within.ts';
import { badArgument } from '../failures.ts';

export type BullMQ = typeof import('bullmq');
export type Redis = import('ioredis').Redis;

export interface Packages {
  readonly bullmq: BullMQ;
  connect(url: string): Redis;
}

export async function loadPackages(): Promise<Packages> {
  try {
    const [bullmq, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')]);
    return {
      bullmq,
      connect: (url) => {
        // Null: commands wait for Redis to come back, as BullMQ needs it.
        const redis = new Redis(url, {
          maxRetriesPerRequest: null,
          retryStrategy: (times) => Math.min(50 * times, 1000),
        });
        // Without a listener an error of the connection would end the process; it connects again by itself.
        redis.on('error', () => {});
        redis.on('connect', () => together(redis.stream));
        return redis;
      },
    };
  } catch (cause) {
    throw Object.assign(
      badArgument('openTransport', 'the queue needs packages that are not installed', 'npm install bullmq ioredis'),
      { cause },
    );
  }
}

/** Commands that are given at the same time go with one call to the system, instead of one for each. */
function together(stream: Redis['stream']): void {
  const write = stream.write;
  let waiting = false;
  const flush = (): void => {
    waiting = false;
    stream.uncork();
  };
  stream.write = function (this: typeof stream, ...args: readonly unknown[]): boolean {
    if (!waiting) {
      waiting = true;
      stream.cork();
      process.nextTick(flush);
    }
    return Reflect.apply(write, stream, args) as boolean;
  } as typeof write;
}

/** How long a Redis may take to answer when the queue is opened. Later on it may be away for as long as it likes. */
const answerMs = 5000;

/** Throws unless a Redis answers there: whoever opens a queue that is not there should not wait for ever. */
export async function checkAnswers({ connect }: Packages, url: string, host: string): Promise<void> {
  const redis = connect(url);
  const database = new URL(url).pathname.slice(1);
  let last = 'it is silent';
  let about = '';
  redis.on('error', (error: Error) => {
    last = error.message || String((error as { code?: string }).code ?? error);
  });
  try {
    if (!(await endsWithin(answerMs, redis.ping()))) throw new Error(last);
    // The client goes on with another database where there is none of that number.
    if (database !== '') await redis.select(database);
    // A user who may not ask is not told.
    about = await redis.info('memory').catch(() => '');
  } catch (cause) {
    const { message } = cause as Error;
    // It is there, and lets nobody in without a password, or not with this one.
    if (/^(NOAUTH|WRONGPASS|ERR AUTH)/.test(message) || /^(NOAUTH|WRONGPASS)/.test(last))
      throw new ForgeError({
        code: 'REDIS_PASSWORD',
        message: `openTransport: the Redis at ${host} ${withPassword(url) ? 'refuses the user or password of the address' : 'wants a password, and the address has none'}`,
        fix: 'Give the right ones: redis://user:password@host:port, or redis://:password@host:port without a user.',
        where: 'openTransport',
        cause,
      });
    if (/^ERR (DB index|invalid DB)/.test(message))
      throw new ForgeError({
        code: 'NO_DATABASE',
        message: `openTransport: the Redis at ${host} has no database ${database}`,
        fix: 'Give a smaller number, or none, which is database 0. To keep jobs apart, give a prefix.',
        where: 'openTransport',
        cause,
      });
    throw new ForgeError({
      code: 'NO_REDIS',
      message: `openTransport: no Redis answers at ${host}: ${message}`,
      fix: 'Start redis-server there, or give the address of one that runs.',
      where: 'openTransport',
      cause,
    });
  } finally {
    redis.disconnect();
  }
  checkKeeps(about, host);
}

/** Throws if a Redis throws away what it has accepted when it is full. */
function checkKeeps(about: string, host: string): void {
  const [, limit] = /^maxmemory:(\d+)/m.exec(about) ?? [];
  const [, policy = ''] = /^maxmemory_policy:(\S+)/m.exec(about) ?? [];
  if (limit === undefined || limit === '0' || !policy.startsWith('allkeys')) return;
  throw new ForgeError({
    code: 'REDIS_EVICTS',
    message: `openTransport: the Redis at ${host} throws keys away when it is full (maxmemory-policy ${policy}): jobs would be lost`,
    fix: 'redis-cli config set maxmemory-policy noeviction, or use a Redis that is no cache.',
    where: 'openTransport',
  });
}

const withPassword = (url: string): boolean => new URL(url).password !== '';
