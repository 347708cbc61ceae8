// Typed events: every stage reports, whoever wants listens. With no listener for an event, nothing is built or called.

import type { DeviceId } from '../devices/device.ts';
import type { CleanupReport } from '../governor/memory/cleanup.ts';
import type { LeakReport } from '../governor/memory/leaks.ts';
import type { PressureEvent } from '../governor/memory/monitor.ts';
import type { Decision, Operation } from '../governor/routing/types.ts';
import type { Estimate } from '../kernel/kernel.ts';

export interface Events {
  /** A program was planned and its kernels prepared. */
  compile: { readonly kernels: readonly string[]; readonly device: DeviceId; readonly ms: number };
  /** One kernel or routine was enqueued. `hostMs` is the time of the call, not of the work. */
  launch: { readonly name: string; readonly device: DeviceId; readonly hostMs: number; readonly estimate: Estimate };
  /** The host waited for data. */
  read: { readonly device: DeviceId; readonly bytes: number; readonly ms: number; readonly line: string };
  upload: { readonly device: DeviceId; readonly bytes: number };
  /** Tensors moved between devices because a program needed them elsewhere. */
  move: { readonly from: DeviceId; readonly to: DeviceId; readonly bytes: number };
  /** A tensor was collected that nobody had disposed. */
  leak: { readonly shape: readonly number[]; readonly dtype: string; readonly line: string };
  /** The router chose a device for a program. */
  route: Decision & { readonly op: Operation };
  /** A device's memory pressure changed its level. */
  pressure: PressureEvent;
  /** Memory was cleaned up, by itself or on request. */
  cleanup: CleanupReport;
  /** A tensor left a device for lack of room; `moved` bytes had to be read for that. It comes back when it is needed. */
  spill: { readonly device: DeviceId; readonly bytes: number; readonly moved: number };
  /** Live memory grows without end. */
  growth: LeakReport;
  /** A device is gone. `kept` tensors are elsewhere too, `gone` ones must be computed again or are lost. */
  lost: {
    readonly device: DeviceId;
    readonly reason: string;
    readonly kept: number;
    readonly gone: number;
    readonly reopens: boolean;
  };
  /** A lost device was opened again and computes right. */
  reborn: { readonly device: DeviceId; readonly ms: number; readonly attempts: number };
  /** A lost device will not be opened again. */
  abandoned: { readonly device: DeviceId; readonly reason: string };
  /** Another device does the work of one that fails; told once, until it returns. */
  fallback: { readonly from: DeviceId; readonly to: DeviceId; readonly reason: string };
  /** A device whose work another one did does it again. */
  return: { readonly device: DeviceId };
  /** A callback of the user threw. */
  error: { readonly error: unknown; readonly where: string };
  /** A step of a recurrence that had been given up was read after all, and computed again. */
  recompute: { readonly steps: number };
}

export type Listener<K extends keyof Events> = (event: Events[K]) => void;

export class Emitter {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  /** Whether anybody listens; check before building an event. */
  has(kind: keyof Events): boolean {
    return this.#listeners.has(kind);
  }

  on<K extends keyof Events>(kind: K, listener: Listener<K>): () => void {
    let set = this.#listeners.get(kind);
    if (!set) this.#listeners.set(kind, (set = new Set()));
    set.add(listener as Listener<never>);
    return () => {
      set.delete(listener as Listener<never>);
      if (set.size === 0) this.#listeners.delete(kind);
    };
  }

  emit<K extends keyof Events>(kind: K, event: Events[K]): void {
    for (const listener of this.#listeners.get(kind) ?? []) (listener as Listener<K>)(event);
  }
}
