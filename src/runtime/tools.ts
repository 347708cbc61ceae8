// Tools that watch every runtime of a process: `gpuforge profile run` measures programs that were not written for it.
//
// They may take a moment to get ready, but neither their failure nor their silence keeps a program from its runtime.

import { toolsKey } from './announce.ts';
import type { Runtime } from './runtime.ts';

type Told = (runtime: Runtime) => unknown;

/** Tells all tools of a runtime. */
interface Teller {
  (runtime: Runtime): Promise<void>;
  readonly tools: Set<Told>;
}

const holder = globalThis as { [toolsKey]?: Teller };
const patienceMs = 2000;

/**
 * Calls back with each runtime that is opened from now on, before its program gets it; a promise is awaited, for two seconds at
 * most. Returns what ends that.
 * @example typeof whenRuntimeOpens(() => {}) // → 'function'
 */
export function whenRuntimeOpens(told: Told): () => void {
  const { tools } = (holder[toolsKey] ??= makeTeller());
  tools.add(told);
  return () => void tools.delete(told);
}

function makeTeller(): Teller {
  const tools = new Set<Told>();
  return Object.assign((runtime: Runtime) => tell(runtime, [...tools]), { tools });
}

async function tell(runtime: Runtime, tools: readonly Told[]): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  const one = async (told: Told): Promise<unknown> => told(runtime);
  const all = Promise.allSettled(tools.map(one)).then((outcomes) => {
    for (const o of outcomes) {
      if (o.status === 'rejected') console.error('gpuforge: a tool failed to watch a runtime:', o.reason);
    }
  });
  await Promise.race([all, late]);
  clearTimeout(timer);
}
