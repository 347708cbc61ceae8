// The router hears how long calls took, also those that had to wait for their inputs.

import { expect, it } from 'vitest';
import type { RouteRequest } from '../../src/governor/routing/index.ts';
import { createRuntime } from '../../src/index.ts';
import { skipWithoutWebGpu } from '../support/webgpu.ts';

it('learns from calls on data that can only be read asynchronously', async (context) => {
  skipWithoutWebGpu(context);
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

it('takes the time of a call for that call, read either way, not for the same program on data elsewhere', async () => {
  await using rt = await createRuntime({ devices: ['cpu', 'reference'], routing: { cache: false, explore: false } });
  const homes = ['cpu', 'reference'] as const;
  const data = homes.map((device) => rt.scope({ device }, () => rt.tensor(new Float32Array(5000).fill(2))));
  const heard: unknown[] = [];
  // Nothing is learned, so that placements stay remembered.
  rt.routing.observeCall = (decision) => {
    if ('request' in decision) heard.push((decision.request as RouteRequest).inputs[0]!.at[0]);
  };
  const turns = ['reference', 'cpu', 'reference', 'cpu', 'reference'];
  for (let i = 0; i < 6; i++) expect((await data[i % 2]!.mul(3).sum().data())[0]).toBe(30_000);
  // The first run of a program is not measured.
  expect(heard.splice(0)).toEqual(turns);
  // Read synchronously, and of one op, which takes a shorter way.
  for (let i = 0; i < 6; i++) expect(data[i % 2]!.add(3).dataSync()[0]).toBe(5);
  expect(heard).toEqual(turns);
});
