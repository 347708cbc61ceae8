import { expect, it } from 'vitest';
import { DeviceUnavailable } from '../../errors.ts';
import { openWebGpuDevices, persist, reopenWebGpuDevice } from './open.ts';

/** A WebGPU whose adapter is not there. */
const empty = { requestAdapter: () => Promise.resolve(null) } as unknown as GPU;

it('says why a device is not there, and never throws', async () => {
  const { devices, refused } = await openWebGpuDevices({ gpu: empty });
  expect(devices).toEqual([]);
  expect(refused[0]).toMatchObject({ id: 'webgpu:0', reason: expect.stringContaining('no adapter') });
});

it('tries again with longer pauses until the device is there', async () => {
  const pauses: number[] = [];
  let attempts = 0;
  const opened = await persist(
    () => (++attempts < 4 ? Promise.reject(new Error('not yet')) : Promise.resolve('device')),
    (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  );
  expect(opened).toBe('device');
  expect(pauses).toEqual([50, 100, 200]);
});

it('gives up with a typed error that carries the last reason', async () => {
  let waited = 0;
  const failed = persist(
    () => Promise.reject(new Error('no adapter')),
    (ms) => {
      waited += ms;
      return Promise.resolve();
    },
  );
  await expect(failed).rejects.toBeInstanceOf(DeviceUnavailable);
  await expect(failed).rejects.toMatchObject({ code: 'DEVICE_GONE', message: expect.stringContaining('no adapter') });
  expect(waited).toBe(3150);
});

it('reopens WebGPU devices only', async () => {
  await expect(reopenWebGpuDevice({ id: 'cpu' } as never)).rejects.toMatchObject({ code: 'WRONG_DEVICE' });
});
