// What the tests of transports set up: a Redis for all tests of a file, the transports they are run for, and a worker's device.

import { afterAll, beforeAll } from 'vitest';
import { localTransport, openTransport, type Transport, type WorkerCaps } from '../../src/batch/index.ts';
import { noRedis, startRedis, type TestRedis } from '../support/redis.ts';
import { within } from '../support/time.ts';

export const cpu: WorkerCaps = { backend: 'cpu', device: 'cpu', freeMb: null, itemsPerSecond: {} };

/** Started before the tests of the file that calls this and stopped after them. `url` is for tests that are not skipped for `noRedis`. */
export function fileRedis(): { readonly url: string } {
  let redis: TestRedis | null = null;
  beforeAll(async () => {
    if (noRedis === null) redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  return {
    get url() {
      return redis!.url;
    },
  };
}

/** Every transport by name, each time a new one that sees no jobs of others. */
export function transportsOn(redis: { readonly url: string }): readonly [string, () => Promise<Transport>][] {
  let prefixes = 0;
  return [
    ['local', async () => localTransport({ backoffMs: [1] })],
    ['redis', () => openTransport(redis.url, { prefix: `t${prefixes++}`, lockMs: within(1000), checkMs: 500 })],
  ];
}
