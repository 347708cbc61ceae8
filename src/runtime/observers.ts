// The logger of a runtime's options: it watches from the start.

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
