// WebGPU in Node for the tests that need it: where Dawn finds no adapter, they are reported as skipped with the reason.

import { beforeEach, type TestContext } from 'vitest';
import { noWebGpu } from './webgpu-probe.ts';

export { noWebGpu } from './webgpu-probe.ts';

/** Called at the top of a test file or a suite: its tests are skipped where there is no WebGPU. */
export function needsWebGpu(): void {
  if (noWebGpu !== undefined) console.log(`Skipped: ${noWebGpu}`);
  beforeEach(skipWithoutWebGpu);
}

/** The same for one test, which calls it first. */
export const skipWithoutWebGpu = ({ skip }: TestContext): void => skip(noWebGpu !== undefined, noWebGpu);
