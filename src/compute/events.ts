// What the facade reports. Nothing is printed: listen with `on`, or give a logger that gets all of it.

import type { DegradationState } from '../batch/degradation.ts';
import { type CallbackError, EventBus } from '../index.ts';

export interface ComputeEvents {
  /** A device was selected. */
  device: { readonly device: string; readonly kind: 'gpu' | 'cpu'; readonly reason: string };
  lost: { readonly device: string; readonly reason: string };
  reset: {
    readonly device: string;
    readonly cause: string;
    readonly ms: number;
    readonly restored: number;
    readonly lost: number;
  };
  /** Work goes on on another device than the one wanted. */
  fallback: { readonly from: string | null; readonly to: string; readonly reason: string };
  /** A device that had been given up passed its probes and is used again. */
  healed: { readonly device: string; readonly probes: number };
  retry: {
    readonly operation: string;
    readonly attempt: number;
    readonly error: string;
    readonly reaction: string;
    /** ms before the next attempt. */
    readonly waitMs: number;
  };
  /** One chunk of a batch was done. */
  chunk: { readonly operation: string; readonly size: number; readonly ms: number };
  anomaly: { readonly kind: string; readonly message: string; readonly value: number; readonly baseline: number };
  /** A device became slower at an operation, what was done about it, and the end of that. */
  degradation: DegradationState;
  /** A listener threw, or something in the background failed. */
  error: CallbackError;
}

export type ComputeListener<K extends keyof ComputeEvents> = (event: ComputeEvents[K]) => unknown;
export type ComputeLogger = (kind: keyof ComputeEvents, event: ComputeEvents[keyof ComputeEvents]) => void;
export type Signals = EventBus<ComputeEvents>;

/** A table, so that the compiler sees an event that is missing here. */
const names: Readonly<Record<keyof ComputeEvents, true>> = {
  device: true,
  lost: true,
  reset: true,
  fallback: true,
  healed: true,
  retry: true,
  chunk: true,
  anomaly: true,
  degradation: true,
  error: true,
};

/** A bus for the events of the facade; a logger hears all of them. */
export function createSignals(logger: ComputeLogger | undefined): Signals {
  const kinds = Object.keys(names) as (keyof ComputeEvents)[];
  const signals: Signals = new EventBus<ComputeEvents>(kinds, 'on');
  if (logger) for (const kind of kinds) signals.on(kind, (event) => logger(kind, event));
  return signals;
}
