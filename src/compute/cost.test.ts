// What a call costs, in what can be counted: times are measured by `npm run bench -- compute`.

import { createHook } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { cpuFacade, values } from '../../test/support/facade.ts';

/** The fewest promises that a call makes: other code of the process may make some at the same time. */
async function promisesOf(call: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') count++;
    },
  });
  const counts: number[] = [];
  for (let i = 0; i < 20; i++) {
    count = 0;
    hook.enable();
    const done = call();
    await done;
    hook.disable();
    counts.push(count);
  }
  return Math.min(...counts);
}

describe('what a device has done at once', () => {
  it('takes one promise, and none behind it', async () => {
    await using gpu = cpuFacade();
    const data = values(256);
    const list = await Promise.all(Array.from({ length: 10 }, () => gpu.transferToGPU(data)));
    const plain = await promisesOf(async () => null);
    const uploads = await promisesOf(async () => (await gpu.transferToGPU(data)).dispose());
    const batch = await promisesOf(async () => {
      for (const r of await gpu.processBatch(list, (x) => x.mul(x))) r.dispose();
    });
    // The promise of the call, and that of the wait for it.
    expect({ uploads: uploads - plain, batch: batch - plain }).toEqual({ uploads: 2, batch: 2 });
  });
});
