// The runtimes that field tests run on: CPU and, where there is one, WebGPU.

import { noWebGpu } from '../support/webgpu.ts';

export const kinds = ['cpu', ...(noWebGpu === undefined ? ['webgpu' as const] : [])] as const;
export type Kind = (typeof kinds)[number];

export { closeAll, ownRuntime, runtimeOf } from '../support/runtimes.ts';
