// What the caller of a computation asks of the place it runs at.

import type { OperationType } from '../base/operations.ts';
import { type Asked, asked } from '../governor/recovery/attempt.ts';

/** What the caller asks of the place. */
export interface Want extends Asked {
  /** Only places whose results can be read synchronously, from inputs that can be read synchronously. */
  readonly sync: boolean;
  /** Inputs may be awaited. */
  readonly awaits: boolean;
  /** Where the result goes next: to the host, or nobody knows. */
  readonly wanted: 'host' | null;
  /** What the caller says the work is, for the router's books; null if nothing was said. */
  readonly op: OperationType | null;
}

export const anywhere: Want = {
  sync: false,
  awaits: false,
  wanted: null,
  op: null,
  ...asked,
};
