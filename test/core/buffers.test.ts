// A kernel never binds more buffers than its device has, however many values of it are kept.

import { expect, it } from 'vitest';
import { createCpuDevice } from '../../src/devices/cpu/device.ts';
import { createRuntime, type Device, type Tensor } from '../../src/index.ts';

it('work behind a reduction is split where its results and inputs are more than a device can bind', async () => {
  const inner = await createCpuDevice({ threads: 1 });
  const most = 6;
  let bound = 0;
  const narrow: Device = Object.assign(Object.create(inner) as Device, { caps: { ...inner.caps, maxBuffers: most } });
  for (const name of [
    'allocate',
    'release',
    'write',
    'read',
    'readSync',
    'readTyped',
    'prepare',
    'mark',
    'memory',
    'close',
    'sync',
  ] as const) {
    const method = (inner as unknown as Record<string, unknown>)[name];
    if (typeof method === 'function') Object.assign(narrow, { [name]: method.bind(inner) });
  }
  Object.assign(narrow, {
    launch: (...[program, buffers, scalars]: Parameters<Device['launch']>) => {
      bound = Math.max(bound, buffers.length);
      inner.launch(program, buffers, scalars);
    },
  });
  const rt = await createRuntime({ devices: ['cpu'], wrap: () => narrow });
  const x = rt.tensor(
    Float32Array.from({ length: 40 }, (_, i) => i),
    [4, 10],
  );
  // One loop, two sums, and ten kept values behind them.
  const kept: Tensor[] = [];
  let h: Tensor = x.sum({ axis: 1 }).div(x.mul(x).sum({ axis: 1 }).add(1));
  for (let i = 0; i < 10; i++) kept.push((h = h.mul(rt.tensor([1, 2, 3, 4]).add(i)).add(0.5)));
  rt.compute(...kept);
  const sums = [0, 1, 2, 3].map((r) => {
    const row = Array.from({ length: 10 }, (_, c) => r * 10 + c);
    return row.reduce((a, b) => a + b, 0) / (row.reduce((a, b) => a + b * b, 0) + 1);
  });
  let want = sums;
  for (const [i, t] of kept.entries()) {
    want = want.map((v, r) => v * (r + 1 + i) + 0.5);
    const got = t.dataSync() as Float32Array;
    for (const [r, v] of want.entries()) expect(Math.abs(got[r]! - v)).toBeLessThan(1e-5 * Math.abs(v));
  }
  expect(bound).toBeGreaterThan(2);
  expect(bound).toBeLessThanOrEqual(most);
  await rt.close();
});
