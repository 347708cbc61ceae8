// The runtimes that lattice tests run on: reference, CPU and, where there are any, WebGPU and CUDA.

import { openCudaDevices } from '../../src/devices/cuda/discover.ts';
import { noWebGpu } from '../support/webgpu-probe.ts';

async function hasCuda(): Promise<boolean> {
  const { devices } = await openCudaDevices();
  for (const d of devices) await d.close();
  return devices.length > 0;
}

export type Kind = 'reference' | 'cpu' | 'webgpu' | 'cuda';

export const kinds: readonly Kind[] = [
  'reference',
  'cpu',
  ...(noWebGpu === undefined ? ['webgpu' as const] : []),
  ...((await hasCuda()) ? ['cuda' as const] : []),
];

export { closeAll, ownRuntime, runtimeOf } from '../support/runtimes.ts';
