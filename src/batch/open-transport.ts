// A transport by its address.

import { isNode } from '../base/platform.ts';
import { checked } from '../base/signatures.ts';
import { badArgument } from './failures.ts';
import { localTransport } from './local.ts';
import type { RedisOptions } from './queue/index.ts';
import { batchKinds } from './signatures.ts';
import type { Transport } from './transport.ts';

/**
 * 'local' (the default): in this process. `redis://…`: on Redis, which needs `npm install bullmq ioredis`.
 * @example
 * ```ts
 * import { handlerOf, openTransport } from 'gpuforge/batch';
 * const transport = await openTransport('local');
 * const ops = { double: ({ params }) => ({ value: 2 * params }) };
 * await transport.worker(handlerOf({ ops }), { backend: 'cpu', device: 'cpu', freeMb: null, itemsPerSecond: {} });
 * const job = await transport.submit({ op: 'double' }, [{ params: 1 }, { params: 21 }]);
 * const values = [];
 * for await (const outcome of job.results()) values.push(outcome.result.value);
 * await transport.close();
 * values // → [2, 42]
 * ```
 */
export const openTransport = checked(
  'openTransport',
  'async address:text? options:{prefix:text,lockMs:number,checkMs:number}?',
  async (address = 'local', options: RedisOptions = {}): Promise<Transport> => {
    if (address === 'local') return localTransport();
    if (!isNode()) throw badArgument('openTransport', `${address} cannot be reached from a page`, "Use 'local'.");
    const { redisTransport } = await import('./queue/index.ts');
    return redisTransport(address, options);
  },
  batchKinds,
);
