// Who watches a runtime from its start: the logger of its options, and the studio if the environment asks for it.

import { isNode } from '../base/platform.ts';
import { ArgumentError } from '../errors.ts';
import { type Emitter, type EventName, type Events, eventNames } from './events.ts';

/** Gets events as they happen; see `jsonLines` of gpuforge/studio for one that writes lines. */
export interface EventLogger {
  (kind: EventName, event: Events[EventName]): unknown;
  /** The events it wants; default: all. Events that nobody wants cost nothing. */
  readonly kinds?: readonly EventName[] | undefined;
}

export function attachLogger(events: Emitter, logger: EventLogger | undefined): void {
  if (logger === undefined) return;
  if (typeof logger !== 'function') {
    throw new ArgumentError({
      code: 'BAD_OPTION',
      message: `createRuntime: logger is ${logger === null ? 'null' : `a ${typeof logger}`}`,
      fix: 'Give a function of the name of an event and the event.',
      where: 'createRuntime',
    });
  }
  for (const kind of logger.kinds ?? eventNames) events.on(kind, (event) => logger(kind, event));
}

/**
 * With GPUFORGE_STUDIO=1, `gpuforge studio attach` can look at this process. The name of the package is put together at run
 * time: a bundle for browsers has no studio, and a program without the variable never loads it.
 */
export async function offerToStudio(runtime: unknown): Promise<void> {
  if (!isNode() || !/^(1|true|control)$/.test(process.env.GPUFORGE_STUDIO ?? '')) return;
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
