// The runtimes that field tests run on: CPU and, where there is one, WebGPU.

import { noWebGpu } from '../support/webgpu.ts';

export const kinds = ['cpu', ...(noWebGpu === undefined ? ['webgpu' as const] : [])] as const;
export type Kind = (typeof kinds)[number];

/** Requests per second of a server that refuses none as too fast: a quick machine answers one in less than a tenth of a millisecond. */
export const anyRate = 1e9;

export { closeAll, ownRuntime, runtimeOf } from '../support/runtimes.ts';
