// A device in a process of its own: the process is killed, and the work goes on.

import { expect, it } from 'vitest';
import type { IsolatedDevice } from '../../src/governor/recovery/isolated/open.ts';
import { createRuntime, type Runtime } from '../../src/index.ts';
import { within } from '../support/time.ts';

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
  expect(performance.now() - start).toBeLessThan(within(2000));
  expect(after[0]).toBeCloseTo(1 + Math.E, 5);
  expect(seen).toEqual(['lost', 'reborn']);
  expect((rt.device('cpu') as IsolatedDevice).pid).not.toBe(device.pid);
});

it('gives up on a process that does not answer within recovery.timeoutMs, also where the caller is blocked', async () => {
  const open = (): Promise<Runtime> =>
    createRuntime({
      devices: ['cpu', 'reference'],
      cpu: { threads: 1 },
      isolation: ['cpu'],
      routing: { mode: 'off' },
      recovery: { timeoutMs: 700 },
    });
  // The process has to start within the limit too. On a busy machine the first one may not.
  let rt = await open();
  for (let tries = 1; tries < 10 && !rt.devices().find((d) => d.id === 'cpu')?.open; tries++) {
    await rt.close();
    rt = await open();
  }
  const { pid } = rt.device('cpu') as IsolatedDevice;
  const x = rt.tensor([1, 2, 3]);
  expect(x.add(1).dataSync()).toEqual(new Float32Array([2, 3, 4]));
  const lost: string[] = [];
  rt.on('lost', (e) => lost.push(e.reason));
  process.kill(pid, 'SIGSTOP');
  const start = performance.now();
  expect(x.mul(3).dataSync()).toEqual(new Float32Array([3, 6, 9]));
  expect(performance.now() - start).toBeLessThan(within(3000));
  expect(lost[0]).toContain('no answer within 700 ms');
  await rt.close();
});

it('names a kind that cannot be isolated', async () => {
  await expect(createRuntime({ devices: ['cpu'], isolation: ['gpu'] as never })).rejects.toThrow(/isolation.*gpu/);
});
