// What the facade reports. Nothing is printed: listen with `on`, or give a logger that gets all of it.

import type { DegradationState } from './degradation.ts';

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
  retry: { readonly operation: string; readonly attempt: number; readonly error: string; readonly reaction: string };
  /** One chunk of a batch was done. */
  chunk: { readonly operation: string; readonly size: number; readonly ms: number };
  anomaly: { readonly kind: string; readonly message: string; readonly value: number; readonly baseline: number };
  /** A device became slower at an operation, what was done about it, and the end of that. */
  degradation: DegradationState;
  error: { readonly source: string; readonly error: unknown };
}

export type ComputeListener<K extends keyof ComputeEvents> = (event: ComputeEvents[K]) => void;
export type ComputeLogger = (kind: keyof ComputeEvents, event: ComputeEvents[keyof ComputeEvents]) => void;

export class Signals {
  readonly #listeners = new Map<keyof ComputeEvents, Set<ComputeListener<never>>>();
  logger: ComputeLogger | null = null;

  on<K extends keyof ComputeEvents>(kind: K, listener: ComputeListener<K>): () => void {
    let set = this.#listeners.get(kind);
    if (!set) this.#listeners.set(kind, (set = new Set()));
    set.add(listener as ComputeListener<never>);
    return () => {
      set.delete(listener as ComputeListener<never>);
    };
  }

  /** An exception in a listener becomes an `error` event; the others still hear. */
  emit<K extends keyof ComputeEvents>(kind: K, event: ComputeEvents[K]): void {
    const { logger } = this;
    const listeners = this.#listeners.get(kind);
    if (!logger && !listeners?.size) return;
    const failed: unknown[] = [];
    const tell = (call: () => void): void => {
      try {
        call();
      } catch (e) {
        failed.push(e);
      }
    };
    if (logger) tell(() => logger(kind, event));
    for (const listener of listeners ?? []) tell(() => (listener as ComputeListener<K>)(event));
    if (kind === 'error') return;
    for (const error of failed) this.emit('error', { source: `listener of '${kind}'`, error });
  }
}
