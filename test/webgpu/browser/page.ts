// What the test page runs: the device checks, in the browser, with the results left for the test to read.

import { openWebGpuDevices } from '../../../src/devices/webgpu/open.ts';
import { checksFor, forGpus } from '../checks/index.ts';

export interface PageResult {
  readonly device: string;
  readonly passed: string[];
  readonly skipped: string[];
  readonly failed: { readonly name: string; readonly message: string }[];
}

declare global {
  /** Every `nth` check of a group, those that repeat another only where `nth` is 1. */
  var runChecks: (group: string, nth: number) => Promise<PageResult>;
}

globalThis.runChecks = async (group, nth) => {
  const { devices, refused } = await openWebGpuDevices(group === forGpus ? { plans: 'gpu' } : {});
  const device = devices[0];
  if (!device) throw new Error(refused.map((r) => `${r.reason}; ${r.fix}`).join('\n'));
  const result: PageResult = { device: device.caps.name, passed: [], skipped: [], failed: [] };
  for (const c of checksFor(group, nth === 1).filter((_, i) => i % nth === 0)) {
    const name = `${group}: ${c.name}`;
    if (!device.caps.dtypes.has(c.needs)) {
      result.skipped.push(name);
      continue;
    }
    try {
      await c.run(device);
      result.passed.push(name);
    } catch (error) {
      result.failed.push({ name, message: error instanceof Error ? error.message : String(error) });
    }
  }
  await device.close();
  return result;
};
