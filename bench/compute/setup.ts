// A facade on the kind of device that is measured.

import { DeviceManager, GPUCompute, type GPUComputeDeps } from '../../src/compute/index.ts';
import type { DeviceKind } from '../../src/index.ts';

export interface Setup {
  readonly kind: DeviceKind;
  readonly make: (options?: GPUComputeDeps) => GPUCompute;
}

export function setup(kind: DeviceKind): Setup {
  const gpu = kind === 'cuda' || kind === 'webgpu';
  return {
    kind,
    make: (options = {}) => {
      const devices = DeviceManager.create({
        kinds: [kind],
        preference: gpu ? { requireGPU: true, software: 'accept' } : { preferGPU: false },
      });
      return GPUCompute.create({ devices, owned: true, ...options });
    },
  };
}

/** Values in [-1, 1), the same for the same seed. */
export function values(length: number, seed = 1): Float32Array {
  let s = seed >>> 0;
  return Float32Array.from({ length }, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 31 - 1;
  });
}
