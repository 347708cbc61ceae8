// A runtime that plans for CUDA and computes with the reference: what a GPU would be asked to do, checked without one.
//
// Every kernel and routine is made ready for a recording driver too, so that what the PTX renderer cannot express fails here.

import { openCudaDevices } from '../../src/devices/cuda/discover.ts';
import type { Device } from '../../src/devices/device.ts';
import { createRuntime, type Runtime } from '../../src/index.ts';
import { MockCuda } from '../support/cuda-mock.ts';

export async function openCudaPlans(): Promise<Runtime> {
  const ffi = new MockCuda();
  const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
  const { devices } = await openCudaDevices({ ffi, host, cacheDir: false });
  const cuda = devices[0]!;
  const { raw: _, ...caps } = cuda.caps;
  const wrap = (reference: Device): Device => ({
    ...reference,
    caps: { ...caps, immortal: true },
    prepare: (work) => {
      cuda.prepare(work);
      return reference.prepare(work);
    },
  });
  return createRuntime({ devices: ['reference'], wrap });
}
