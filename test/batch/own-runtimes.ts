// Runtimes that a test has for itself, on the CPU and on what looks like a GPU: what they hold is what the test made, whatever the
// collector takes of other tests meanwhile.

import { afterEach, beforeEach } from 'vitest';
import { batchElementwise } from '../../src/batch/index.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { fakeGpu } from '../support/facade.ts';

export type Where = 'cpu' | 'gpu';

/** Opened before each test, closed after it. */
export function ownRuntimes(): Record<Where, Runtime> {
  const open = {} as Record<Where, Runtime>;
  beforeEach(async () => {
    open.cpu = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    open.gpu = (await fakeGpu().open({ routing: { device: 'cuda:0' } })) as Runtime;
    // The first group of a runtime makes the flag that all of them read.
    const some = Array.from({ length: 8 }, () => open.gpu.ones([1]) as Tensor);
    for (const t of [...some, ...(await batchElementwise(some, 'exp', 0, { runtime: open.gpu }))]) t.dispose();
  });
  afterEach(async () => {
    for (const rt of Object.values(open)) await rt.close();
  });
  return open;
}
