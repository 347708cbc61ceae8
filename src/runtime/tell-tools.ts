// Tells tools of a runtime. They may take a moment to get ready, but neither their failure nor their silence keeps a program from
// its runtime. Loaded only where there are tools.

import type { Told } from './announce.ts';
import type { Runtime } from './runtime.ts';

const patienceMs = 2000;

export async function tellTools(runtime: Runtime, tools: readonly Told[], studio: string): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  const tell = async (told: Told): Promise<unknown> => told(runtime);
  const all = Promise.allSettled(tools.map(tell)).then((outcomes) => {
    for (const o of outcomes) {
      if (o.status === 'rejected') console.error('gpuforge: a tool failed to watch a runtime:', o.reason);
    }
  });
  await Promise.race([all, late]);
  clearTimeout(timer);
  if (/^(1|true|control)$/.test(studio)) await offerToStudio(runtime);
}

/** The name of the package is put together at run time: a bundle for browsers has no studio. */
async function offerToStudio(runtime: unknown): Promise<void> {
  try {
    const studio: { offerStudio(runtime: unknown): Promise<void> } = await import(
      /* @vite-ignore */ /* webpackIgnore: true */ ['gpuforge', 'studio'].join('/')
    );
    await studio.offerStudio(runtime);
  } catch (error) {
    // Watching is never worth failing for.
    process.emitWarning(
      `gpuforge studio cannot attach here: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
