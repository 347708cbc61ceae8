// The queue's packages are optional: without them its address is refused, with the line that installs them.

import { expect, it, vi } from 'vitest';
import { createBatch, openTransport } from '../../src/batch/index.ts';

vi.mock('bullmq', () => {
  throw Object.assign(new Error("Cannot find package 'bullmq'"), { code: 'ERR_MODULE_NOT_FOUND' });
});

it('an address of Redis without the packages is refused with the line that installs them', async () => {
  await expect(openTransport('redis://127.0.0.1:1')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('packages that are not installed'),
    fix: 'npm install bullmq ioredis',
  });
});

it('batches in this process need none of them', async () => {
  await using batch = createBatch([1, 2, 3]);
  expect(await batch.executeParallel((n) => 2 * n)).toEqual([2, 4, 6]);
});
