// Tools hear of every runtime that opens in their process: `gpuforge profile run` measures programs that were not written for it.
//
// The list is kept under a name that all copies of the library in a process share, and exists only once a tool asked for it. A
// tool may take a moment to get ready, but neither its failure nor its silence keeps a program from its runtime.

import type { Runtime } from './runtime.ts';

type Told = (runtime: Runtime) => unknown;

const key = Symbol.for('gpuforge.whenRuntimeOpens');
const holder = globalThis as { [key]?: Set<Told> };
const patienceMs = 2000;

/**
 * Calls back with each runtime that is opened from now on, before its program gets it; a promise is awaited, for two seconds at
 * most. Returns what ends that.
 * @example typeof whenRuntimeOpens(() => {}) // → 'function'
 */
export function whenRuntimeOpens(told: Told): () => void {
  holder[key] ??= new Set();
  const list = holder[key];
  list.add(told);
  return () => void list.delete(told);
}

export async function announce(runtime: Runtime): Promise<Runtime> {
  const tools = [...(holder[key] ?? [])];
  if (tools.length === 0) return runtime;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  const tell = async (told: Told): Promise<unknown> => told(runtime);
  const all = Promise.allSettled(tools.map(tell)).then((outcomes) => {
    for (const o of outcomes)
      if (o.status === 'rejected') console.error('gpuforge: a tool failed to watch a runtime:', o.reason);
  });
  await Promise.race([all, late]);
  clearTimeout(timer);
  return runtime;
}
