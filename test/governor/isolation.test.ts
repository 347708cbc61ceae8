// A device in a process of its own: the process is killed, and the work goes on.

import { expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import type { IsolatedDevice } from '../../src/recovery/isolated/open.ts';

it('has the first good result within 2 s of the death of its process', async () => {
  await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 }, isolation: ['cpu'] });
  const device = rt.device('cpu') as IsolatedDevice;
  expect(device.pid).not.toBe(process.pid);
  const x = rt.tensor([1, 2, 3]);
  const y = x.exp().compute();
  expect((await y.data())[0]).toBeCloseTo(Math.E, 5);
  const seen: string[] = [];
  rt.on('lost', () => seen.push('lost'));
  rt.on('reborn', () => seen.push('reborn'));
  const start = performance.now();
  process.kill(device.pid, 'SIGKILL');
  const after = await x.add(y).data();
  expect(performance.now() - start).toBeLessThan(2000);
  expect(after[0]).toBeCloseTo(1 + Math.E, 5);
  expect(seen).toEqual(['lost', 'reborn']);
  expect((rt.device('cpu') as IsolatedDevice).pid).not.toBe(device.pid);
}, 20_000);

it('names a kind that cannot be isolated', async () => {
  await expect(createRuntime({ devices: ['cpu'], isolation: ['gpu'] as never })).rejects.toThrow(/isolation.*gpu/);
});
