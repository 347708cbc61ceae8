// What the parts of GPUCompute share: devices, recovery, timings, the books of tensors, and one set of compiled groups per
// station.

import type { Device } from '../devices/device.ts';
import type { ChunkSizer } from './adaptive.ts';
import { Bounded } from './bounded.ts';
import type { Clock } from './clock.ts';
import { DegradationHandler } from './degradation.ts';
import type { DeviceManager } from './device-manager.ts';
import { DisposedError } from './errors.ts';
import { Groups } from './groups.ts';
import { Pacer } from './pacer.ts';
import { type Maybe, Recovery, type RecoveryOptions } from './recovery.ts';
import type { Station } from './station.ts';
import type { TensorPool } from './tensor-pool.ts';
import { TensorBook } from './tensors.ts';
import type { Span, Timeline } from './timeline.ts';

export interface ContextOptions extends RecoveryOptions {
  /** The largest share of the time that the device may be busy with our work, 0 to 1. Default: none. */
  readonly utilizationCeiling?: number | undefined;
  /** Whether a device's lasting slow-down moves work elsewhere or makes chunks smaller. Default true. */
  readonly handleDegradation?: boolean | undefined;
}

export class Context {
  readonly devices: DeviceManager;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly recovery: Recovery;
  readonly pacer: Pacer;
  readonly book = new TensorBook();
  readonly sizes = new Bounded<ChunkSizer>(256);
  /** Null if slow-downs are not handled. */
  readonly degradation: DegradationHandler | null;
  disposed = false;
  readonly #pool: TensorPool;
  readonly #groups = new WeakMap<Station, Map<string, Groups>>();

  constructor(devices: DeviceManager, timeline: Timeline, pool: TensorPool, options: ContextOptions) {
    this.devices = devices;
    this.clock = devices.clock;
    this.timeline = timeline;
    this.recovery = new Recovery(devices, options, (operation) => this.checkOpen(operation));
    this.pacer = new Pacer(devices.clock, options.utilizationCeiling ?? null);
    this.#pool = pool;
    this.degradation =
      (options.handleDegradation ?? true)
        ? new DegradationHandler(devices.clock, (state) => devices.signals.emit('degradation', state))
        : null;
  }

  /** Gives back memory that is only held for reuse. */
  reclaim(station: Station): void {
    this.#pool.trim();
    station.device.trim();
  }

  /** The compiled groups of a device of the station. */
  groups(station: Station, device: string): Groups {
    let all = this.#groups.get(station);
    if (!all) this.#groups.set(station, (all = new Map()));
    let groups = all.get(device);
    if (!groups) all.set(device, (groups = new Groups(station, device)));
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
  computing<T>(device: Device, name: string, bytes: number, work: () => T): Maybe<{ value: T; ms: number }> {
    const before = device.mark();
    return this.#timed(
      { kind: 'compute', name, device: device.id, bytes },
      () => {
        const value = work();
        const after = device.mark();
        return after.done() ? { value, after } : after.whenDone().then(() => ({ value, after }));
      },
      ({ value, after }, span) => ({ value, ms: span(after.since(before)) }),
    );
  }

  /** Runs a copy between host and device, and records how long it took. */
  copying<T>(device: string, kind: 'upload' | 'download', bytes: number, work: () => Maybe<T>): Maybe<T> {
    return this.#timed({ kind, name: kind, device, bytes }, work, (value, span) => {
      span(null);
      return value;
    });
  }

  /** `done` is called with the work's outcome and what records its span: by the device's own time, or by the host's. */
  #timed<T, R>(
    about: Pick<Span, 'kind' | 'name' | 'device' | 'bytes'>,
    work: () => Maybe<T>,
    done: (outcome: T, span: (own: number | null) => number) => R,
  ): Maybe<R> {
    const start = this.clock.now();
    const add = (own: number | null, failed: boolean): number => {
      const ms = own ?? this.clock.now() - start;
      const { kind, name, device, bytes } = about;
      this.timeline.add({ kind, name, device, ms, bytes, source: own === null ? 'host' : 'device', failed });
      return ms;
    };
    const succeed = (outcome: T): R => done(outcome, (own) => add(own, false));
    const fail = (error: unknown): never => {
      add(null, true);
      throw error;
    };
    let outcome: Maybe<T>;
    try {
      outcome = work();
    } catch (e) {
      return fail(e);
    }
    return outcome instanceof Promise ? outcome.then(succeed, fail) : succeed(outcome);
  }
}
