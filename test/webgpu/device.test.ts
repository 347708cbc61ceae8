// The device checks on Dawn in Node with SwiftShader, or on whatever adapter VK_ICD_FILENAMES names.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/devices/device.ts';
import type { WebGpuDevice } from '../../src/devices/webgpu/device.ts';
import { openWebGpuDevices } from '../../src/devices/webgpu/open.ts';
import { all } from '../support/extent.ts';
import { needsWebGpu, noWebGpu } from '../support/webgpu.ts';
import { allChecks, checksToRun, gpuChecks } from './checks/index.ts';
import { attentionVariants } from './variants.ts';

let device: Device;

needsWebGpu();

beforeAll(async () => {
  if (noWebGpu) return;
  const { devices, refused } = await openWebGpuDevices();
  if (!devices[0]) throw new Error(refused.map((r) => `${r.reason}; ${r.fix}`).join('\n'));
  device = devices[0];
});

afterAll(async () => {
  await device?.close();
});

for (const group of Object.keys(allChecks)) {
  describe(group, () => {
    for (const c of checksToRun(group, all)) {
      it(c.name, async (context) => {
        if (!device.caps.dtypes.has(c.needs)) context.skip(`this adapter has no ${c.needs}`);
        await c.run(device);
      }, 60_000);
    }
  });
}

describe('with the plans for GPUs', () => {
  let gpu: Device;
  beforeAll(async () => {
    gpu = (await openWebGpuDevices({ plans: 'gpu' })).devices[0]!;
  });
  afterAll(async () => {
    await gpu?.close();
  });
  it.runIf(all)('every cut of attention gives the same', { timeout: 240_000 }, async () => {
    const { traits } = gpu as WebGpuDevice;
    const names: string[] = [];
    await attentionVariants(gpu as WebGpuDevice, traits, false, (name) => names.push(name));
    expect(names.length).toBeGreaterThan(3);
  });

  // Those that show whether threads are joined right; the rest runs on GPU hosts (host.ts).
  const joined = ['sum of f32', 'argmax of f32', 'max of i32', 'long f32 sums'];
  const reductions = allChecks.reductions!.filter(({ name }) => joined.some((j) => name.startsWith(j)));
  for (const c of [...reductions, ...gpuChecks(all)]) {
    it(c.name, async (context) => {
      if (!gpu.caps.dtypes.has(c.needs)) context.skip(`this adapter has no ${c.needs}`);
      await c.run(gpu);
    }, 60_000);
  }
});
