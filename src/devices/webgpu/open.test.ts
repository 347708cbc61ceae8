import { expect, it } from 'vitest';
import { openWebGpuDevices, reopenWebGpuDevice } from './open.ts';

/** A WebGPU whose adapter is not there. */
const empty = { requestAdapter: () => Promise.resolve(null) } as unknown as GPU;

it('says why a device is not there, and never throws', async () => {
  const { devices, refused } = await openWebGpuDevices({ gpu: empty });
  expect(devices).toEqual([]);
  expect(refused[0]).toMatchObject({ id: 'webgpu:0', reason: expect.stringContaining('no adapter') });
});

it('reopens WebGPU devices only', async () => {
  await expect(reopenWebGpuDevice({ id: 'cpu' } as never)).rejects.toMatchObject({ code: 'WRONG_DEVICE' });
});
