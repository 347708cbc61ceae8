// A runtime on the CPU for tests of the layers above devices.

import { afterEach } from 'vitest';
import type { Node } from '../../src/graph/node.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/index.ts';

/** A runtime that is closed after the test. */
export function fixture(options: RuntimeOptions = { devices: ['cpu'], cpu: { threads: 1 } }): () => Promise<Runtime> {
  const open: Runtime[] = [];
  afterEach(async () => {
    for (const rt of open.splice(0)) await rt.close();
  });
  return async () => {
    const rt = await createRuntime(options);
    open.push(rt);
    return rt;
  };
}

/** A device's view of lost memory: bytes held by tensors of the runtime. */
export const heldBytes = (rt: Runtime): number => rt.stats().bytes;

/** Counts how often the sources of nodes are asked for from now on. */
export const countSources = (nodes: readonly Node[]): (() => number) => {
  let asked = 0;
  for (const node of nodes) {
    let { sources } = node;
    Object.defineProperty(node, 'sources', {
      get: () => {
        asked++;
        return sources;
      },
      set: (given: typeof sources) => {
        sources = given;
      },
    });
  }
  return () => asked;
};
