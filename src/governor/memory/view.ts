// What the monitor is told about one runtime's memory, and what it may ask for. The runtime implements this; nothing here
// knows tensors or devices.

import type { DType } from '../../base/dtype.ts';
import { idle } from '../../base/platform.ts';
import type { DeviceId } from '../../devices/device.ts';

/** The memory of one device, in bytes, as of now. */
export interface PlaceFigures {
  readonly id: DeviceId;
  /** Of buffers handed out. */
  readonly inUse: number;
  readonly peak: number;
  /** Held from the driver, in use or idle. */
  readonly reserved: number;
  /** Held only for reuse: a clean-up can give it back. */
  readonly reclaimable: number;
  /** Infinity if none was set. */
  readonly budget: number;
  /** What all devices hold together, and may; missing if that has no limit. */
  readonly shared?: { readonly inUse: number; readonly limit: number } | undefined;
  /** Null where the platform does not tell. */
  readonly total: number | null;
  readonly free: number | null;
  /** Used by other processes. */
  readonly others: number | null;
  /** Whether `total` and `free` are the device's own figures, or only our budget is known. */
  readonly source: 'device' | 'budget';
  readonly allocations: number;
  readonly releases: number;
  readonly failures: number;
  /** The device was lost: there is nothing to be had. */
  readonly lost?: boolean | undefined;
}

/** Live bytes and who made them. */
export interface Holder {
  readonly bytes: number;
  /** Where the bytes are; `host` for spilled ones. */
  readonly device: DeviceId;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** The line that made it, or '' where that is not recorded. */
  readonly site: string;
  readonly ageMs: number;
  /** A count that rises with each use in the runtime: the smallest was used longest ago. */
  readonly lastUse: number;
}

/** One step of a clean-up. */
export interface Rung {
  readonly name: string;
  run(device: DeviceId): void;
}

/** One runtime's memory, as the monitor sees it. */
export interface MemoryView {
  /** In order of preference; the first is the one meant where no device is named. */
  places(): readonly PlaceFigures[];
  holders(): Iterable<Holder>;
  /** Drop caches, … , give blocks back to the driver: in this order. */
  readonly rungs: readonly Rung[];
  hostSpilled(): { readonly bytes: number; readonly limit: number };
  /** Peaks count anew from what is in use now. */
  resetPeaks?(): void;
}

/** What the engine shows at each allocation; a `Place` has all of it. */
export interface Noticed {
  readonly index: number;
  readonly inUse: number;
}

/** Time as the monitor sees it; tests move it by hand. */
export interface TickClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back every `ms`, without keeping the process alive. Returns what stops it. */
  every(ms: number, tick: () => void): () => void;
}

export const systemClock: TickClock = {
  now: () => Date.now(),
  every: (ms, tick) => {
    const timer = idle(setInterval(tick, ms));
    return () => clearInterval(timer);
  },
};

export const MiB = 2 ** 20;
