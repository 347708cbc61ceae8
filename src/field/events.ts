// What a field takes, and what it tells those who listen.

import type { BusEvents } from '../index.ts';
import type { LoopTick } from './loop.ts';
import type { FieldSettings } from './settings.ts';
import type { FieldState } from './state.ts';

export type FieldInput = ArrayLike<number>;

/** What a field tells those who listen. Without a listener nothing is built. */
export interface FieldEvents extends BusEvents {
  /** A cycle was done. */
  readonly cycle: { readonly sensors: Float32Array; readonly motors: Float32Array; readonly state: FieldState };
  /** A tick of a loop has ended. */
  readonly tick: LoopTick;
  /** Settings were changed: from this cycle on they hold. */
  readonly settings: {
    readonly cycle: number;
    readonly changed: Partial<FieldSettings>;
    readonly settings: FieldSettings;
  };
}
