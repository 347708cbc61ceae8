// What the parts of GPUCompute share: devices, recovery, timings, the books of tensors, and one set of compiled groups per
// station.

import type { ChunkMemory } from './adaptive.ts';
import type { Clock } from './clock.ts';
import type { DeviceManager } from './device-manager.ts';
import { DisposedError } from './errors.ts';
import { Groups } from './groups.ts';
import type { Pacer } from './pacer.ts';
import type { Recovery } from './recovery.ts';
import type { Station } from './station.ts';
import type { TensorBook } from './tensors.ts';
import type { Timeline } from './timeline.ts';

export interface Parts {
  readonly devices: DeviceManager;
  readonly clock: Clock;
  readonly recovery: Recovery;
  readonly timeline: Timeline;
  readonly book: TensorBook;
  readonly sizes: ChunkMemory;
  readonly pacer: Pacer;
  /** Gives back memory that is only held for reuse; true if there was any. */
  readonly reclaim: (station: Station) => boolean;
}

export class Context implements Parts {
  readonly devices: DeviceManager;
  readonly clock: Clock;
  readonly recovery: Recovery;
  readonly timeline: Timeline;
  readonly book: TensorBook;
  readonly sizes: ChunkMemory;
  readonly pacer: Pacer;
  readonly reclaim: (station: Station) => boolean;
  disposed = false;
  readonly #groups = new WeakMap<Station, Groups>();

  constructor(parts: Parts) {
    this.devices = parts.devices;
    this.clock = parts.clock;
    this.recovery = parts.recovery;
    this.timeline = parts.timeline;
    this.book = parts.book;
    this.sizes = parts.sizes;
    this.pacer = parts.pacer;
    this.reclaim = parts.reclaim;
  }

  groups(station: Station): Groups {
    let groups = this.#groups.get(station);
    if (!groups) this.#groups.set(station, (groups = new Groups(station)));
    return groups;
  }

  checkOpen(operation: string): void {
    if (!this.disposed) return;
    throw new DisposedError({
      message: `${operation}: this GPUCompute was disposed`,
      operation,
      hint: 'Ask for a new one: GPUCompute.getInstance().',
    });
  }

  /**
   * Runs work that the device is given, waits for the device, and records how long it was busy with it: by the device's own
   * timestamps where it has them.
   */
  async computing<T>(station: Station, name: string, bytes: number, work: () => T): Promise<{ value: T; ms: number }> {
    const { device } = station;
    const start = this.clock.now();
    const before = device.mark();
    let value: T;
    try {
      value = work();
      const after = device.mark();
      if (!after.done()) await after.whenDone();
      const own = after.since(before);
      const ms = own ?? this.clock.now() - start;
      const source = own === null ? 'host' : 'device';
      this.timeline.add({ kind: 'compute', name, device: station.id, ms, bytes, source, failed: false });
      return { value, ms };
    } catch (e) {
      const ms = this.clock.now() - start;
      this.timeline.add({ kind: 'compute', name, device: station.id, ms, bytes, source: 'host', failed: true });
      throw e;
    }
  }
}
