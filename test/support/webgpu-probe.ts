// Whether WebGPU can be opened in Node here.

import { openWebGpuDevices } from '../../src/devices/webgpu/open.ts';

async function probe(): Promise<string | undefined> {
  const { devices, refused } = await openWebGpuDevices();
  for (const d of devices) await d.close();
  return devices.length > 0
    ? undefined
    : `no WebGPU in Node: ${refused.map((r) => `${r.reason}; ${r.fix}`).join('; ')}`;
}

/** Why WebGPU cannot be opened in Node here; undefined where it can. */
export const noWebGpu: string | undefined = await probe();
