// The runtimes that lattice tests run on: reference, CPU and, where there are any, WebGPU and CUDA.

import { openCudaDevices } from '../../src/devices/cuda/discover.ts';
import { createRuntime, type Runtime } from '../../src/index.ts';
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

const open = new Map<Kind, Promise<Runtime>>();

/** One runtime per kind for a test file; `closeAll` ends them. */
export function runtimeOf(kind: Kind): Promise<Runtime> {
  let rt = open.get(kind);
  if (!rt) open.set(kind, (rt = createRuntime({ devices: [kind], cpu: { threads: 1 }, seed: 1 })));
  return rt;
}

export async function closeAll(): Promise<void> {
  for (const rt of open.values()) await (await rt).close();
  open.clear();
}
