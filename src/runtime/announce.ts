// Tools hear of every runtime that opens in their process (tools.ts), and with GPUFORGE_STUDIO=1 `gpuforge studio attach` can look at
// this process. A program without tools loads nothing of this.

import { isNode } from '../base/platform.ts';
import type { Runtime } from './runtime.ts';

/** Shared by all copies of the library in a process; there only once a tool asked for it. */
export const toolsKey = Symbol.for('gpuforge.tools');

export async function announce(runtime: Runtime): Promise<Runtime> {
  await (globalThis as { [toolsKey]?: (runtime: Runtime) => Promise<void> })[toolsKey]?.(runtime);
  if (isNode() && process.env.GPUFORGE_STUDIO) await (await import('./offer-studio.ts')).offerToStudio(runtime);
  return runtime;
}
