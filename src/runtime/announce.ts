// Tools hear of every runtime that opens in their process: `gpuforge profile run` measures programs that were not written for it,
// and with GPUFORGE_STUDIO=1 `gpuforge studio attach` can look at this process.
//
// The list is kept under a name that all copies of the library in a process share, and exists only once a tool asked for it.

import { environment } from '../base/platform.ts';
import { checked } from '../base/signatures.ts';
import type { Runtime } from './runtime.ts';

export type Told = (runtime: Runtime) => unknown;

const key = Symbol.for('gpuforge.whenRuntimeOpens');
const holder = globalThis as { [key]?: Set<Told> };

/**
 * Calls back with each runtime that is opened from now on, before its program gets it; a promise is awaited, for two seconds at
 * most. Returns what ends that.
 * @example typeof whenRuntimeOpens(() => {}) // → 'function'
 */
export const whenRuntimeOpens = checked('whenRuntimeOpens', 'told:function', (told: Told): (() => void) => {
  const list = (holder[key] ??= new Set());
  list.add(told);
  return () => void list.delete(told);
});

export async function announce(runtime: Runtime): Promise<Runtime> {
  const tools = holder[key];
  const studio = environment().GPUFORGE_STUDIO;
  if (tools?.size || studio)
    await (await import('./tell-tools.ts')).tellTools(runtime, [...(tools ?? [])], studio || '');
  return runtime;
}
