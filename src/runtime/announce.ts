// Tools hear of every runtime that opens in their process: `gpuforge profile run` measures programs that were not written for it.
//
// The list is kept under a name that all copies of the library in a process share, and exists only once a tool asked for it.

import type { Runtime } from './runtime.ts';

type Told = (runtime: Runtime) => void;

const key = Symbol.for('gpuforge.whenRuntimeOpens');
const holder = globalThis as { [key]?: Set<Told> };

/**
 * Calls back with each runtime that is opened from now on, before its program gets it. Returns what ends that.
 * @example typeof whenRuntimeOpens(() => {}) // → 'function'
 */
export function whenRuntimeOpens(told: Told): () => void {
  holder[key] ??= new Set();
  const list = holder[key];
  list.add(told);
  return () => void list.delete(told);
}

/** A tool that throws does not keep a program from its runtime. */
export function announce(runtime: Runtime): Runtime {
  for (const told of holder[key] ?? []) {
    try {
      told(runtime);
    } catch (error) {
      console.error('gpuforge: a tool failed to watch a runtime:', error);
    }
  }
  return runtime;
}
