// Devices that measure their own work, and work that takes them a while.

import type { RuntimeOptions, Tensor } from '../../src/index.ts';

export const timedDevices: readonly (readonly [string, RuntimeOptions])[] = [
  ['cpu', { devices: ['cpu'], cpu: { threads: 1 } }],
  ['webgpu:0', { devices: ['webgpu'] }],
];

/** A kernel of many dependent steps for each element. */
export function chain(x: Tensor, steps: number): Tensor {
  let y = x;
  for (let i = 0; i < steps; i++) y = y.mul(0.999).add(0.001).sub(y.mul(y).mul(1e-6));
  return y;
}
