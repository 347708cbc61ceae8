// A program that was started with GPUFORGE_STUDIO=1 can be looked at from outside. Loaded only then.

/**
 * With GPUFORGE_STUDIO=1, `gpuforge studio attach` can look at this process. The name of the package is put together at run
 * time: a bundle for browsers has no studio, and a program without the variable never loads it.
 */
export async function offerToStudio(runtime: unknown): Promise<void> {
  if (!/^(1|true|control)$/.test(process.env.GPUFORGE_STUDIO ?? '')) return;
  try {
    const studio: { offerStudio(runtime: unknown): Promise<void> } = await import(
      /* @vite-ignore */ ['gpuforge', 'studio'].join('/')
    );
    await studio.offerStudio(runtime);
  } catch (error) {
    // Watching is never worth failing for.
    process.emitWarning(
      `gpuforge studio cannot attach here: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
