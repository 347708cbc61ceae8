// WebGPU in Node for the tests that need it: where Dawn finds no adapter, they are reported as skipped with the reason.

import { beforeEach, type TestContext } from 'vitest';
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

/** Called at the top of a test file or a suite: its tests are skipped where there is no WebGPU. */
export function needsWebGpu(): void {
  if (noWebGpu !== undefined) console.log(`Skipped: ${noWebGpu}`);
  beforeEach(skipWithoutWebGpu);
}

/** The same for one test, which calls it first. */
export const skipWithoutWebGpu = ({ skip }: TestContext): void => skip(noWebGpu !== undefined, noWebGpu);
