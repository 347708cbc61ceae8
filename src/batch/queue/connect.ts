// The packages of the queue, loaded when it is used: they are optional.

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
