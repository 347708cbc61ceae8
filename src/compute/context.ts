// What the parts of GPUCompute share: devices, recovery, timings, the books of tensors, and one set of compiled groups per
// station.

import { ChunkMemory } from './adaptive.ts';
import type { Clock } from './clock.ts';
import type { DeviceManager } from './device-manager.ts';
import { DisposedError } from './errors.ts';
import { Groups } from './groups.ts';
import { Pacer } from './pacer.ts';
import { Recovery, type RecoveryOptions } from './recovery.ts';
import type { Station } from './station.ts';
import type { TensorPool } from './tensor-pool.ts';
import { TensorBook } from './tensors.ts';
import type { Timeline } from './timeline.ts';

export interface ContextOptions extends RecoveryOptions {
  /** The largest share of the time that the device may be busy with our work, 0 to 1. Default: none. */
  readonly utilizationCeiling?: number | undefined;
}

export class Context {
  readonly devices: DeviceManager;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly recovery: Recovery;
  readonly pacer: Pacer;
  readonly book = new TensorBook();
  readonly sizes = new ChunkMemory();
  disposed = false;
  readonly #pool: TensorPool;
  readonly #groups = new WeakMap<Station, Groups>();

  constructor(devices: DeviceManager, timeline: Timeline, pool: TensorPool, options: ContextOptions) {
    this.devices = devices;
    this.clock = devices.clock;
    this.timeline = timeline;
    this.recovery = new Recovery(devices, options);
    this.pacer = new Pacer(devices.clock, options.utilizationCeiling ?? null);
    this.#pool = pool;
  }

  /** Gives back memory that is only held for reuse. */
  reclaim(station: Station): void {
    this.#pool.trim();
    station.device.trim();
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
