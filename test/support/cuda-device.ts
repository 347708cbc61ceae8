// A CUDA device whose driver only notes what is asked of it.

import { expect } from 'vitest';
import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import { openCudaDevices } from '../../src/devices/cuda/discover.ts';
import type { Device } from '../../src/devices/device.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { KernelBuilder } from '../gpu/build.ts';
import { MockCuda } from './cuda-mock.ts';

export const MiB = 2 ** 20;

/** A CUDA device over a recording driver, its calls from now on. */
export async function openMock(
  change: (ffi: MockCuda) => void = () => {},
): Promise<{ ffi: MockCuda; device: CudaDevice }> {
  const ffi = new MockCuda();
  change(ffi);
  const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
  const { devices, refused } = await openCudaDevices({ ffi, host, cacheDir: false });
  expect(refused).toEqual([]);
  ffi.calls.length = 0;
  return { ffi, device: devices[0] as CudaDevice };
}

/** A device whose first read is what a device is asked to compute before it is used. */
export function passing(device: Device): Device {
  const read = device.read.bind(device);
  let first = true;
  const answer = [1, -1, 0.3, 2.5, -7.25, 20, 88, -80].map(Math.exp);
  return Object.assign(device, {
    read: (...args: Parameters<Device['read']>) => {
      if (!first) return read(...args);
      first = false;
      return Promise.resolve(new Uint8Array(Float32Array.from({ length: 256 }, (_, i) => answer[i % 8]!).buffer));
    },
  });
}

export function addScalar(n: number, name = 'add_scalar'): Kernel {
  const k = new KernelBuilder([n]);
  k.inPlace.push(0);
  k.output(k.op('add', k.whole('f32'), k.scalar('f32')));
  return k.done(name);
}

export const located = (b: object): number => (b as { address: number }).address;

export const pattern = (n: number): Uint8Array => new Uint8Array(n).map((_, i) => (i * 31 + 7) & 255);
