// The runtimes that field tests run on: CPU and, where there is one, WebGPU.

import { createRuntime, type Runtime } from '../../src/index.ts';
import { noWebGpu } from '../support/webgpu.ts';

export const kinds = ['cpu', ...(noWebGpu === undefined ? ['webgpu' as const] : [])] as const;
export type Kind = (typeof kinds)[number];

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
