// The router hears how long calls took, also those that had to wait for their inputs.

import { expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';

it('learns from calls on data that can only be read asynchronously', async () => {
  await using rt = await createRuntime({ devices: ['webgpu', 'cpu'], routing: { cache: false } });
  const x = await rt.scope({ device: 'webgpu' }, async () => {
    const made = rt.arange(4096).cast('f32').mul(0).add(2);
    await rt.flush(made);
    return made;
  });
  expect(rt.explain(x).device).toBe('webgpu:0');
  for (let i = 0; i < 6; i++) expect((await x.mul(3).sum().data())[0]).toBe(6 * 4096);
  const counted = rt.routing.stats().reduce((n, s) => n + s.count, 0);
  expect(counted).toBeGreaterThanOrEqual(3);
});
