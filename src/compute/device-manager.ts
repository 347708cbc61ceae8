// Chooses the device, tells the true choice, notices its loss, builds it anew, and brings it back when it is well again.
//
// One station (a runtime on one device) is active at a time. Selections and resets are done one after the other; whoever
// asks for the station meanwhile waits. A device that was reset too often is quarantined; a probe in the background lets it
// out again after it passed three times.

import { withDeadline } from '../governor/recovery/deadline.ts';
import { Recent } from '../governor/recovery/recent.ts';
import type { DeviceKind } from '../runtime/devices.ts';
import type { RuntimeOptions } from '../runtime/runtime.ts';
import { type Clock, systemClock } from './clock.ts';
import {
  type ComputeError,
  DeviceUnavailableError,
  DisposedError,
  deviceLost,
  InvalidArgumentError,
} from './errors.ts';
import { type ComputeEvents, type ComputeListener, type ComputeLogger, Signals } from './events.ts';
import { Healer } from './healer.ts';
import { gpuKinds, opener } from './open.ts';
import { checkPreference } from './preference.ts';
import { probeElements } from './probe.ts';
import { choose, type OpenRuntime } from './select.ts';
import { Shared } from './shared.ts';
import { Station } from './station.ts';
import type { DevicePreference, DeviceSelection } from './types.ts';

export interface DeviceManagerOptions {
  /** Kinds of devices to look for. Default: CUDA, WebGPU, CPU. */
  readonly kinds?: readonly DeviceKind[] | undefined;
  /** Passed on to `createRuntime`. */
  readonly runtime?: Omit<RuntimeOptions, 'devices'> | undefined;
  /** What to use until `selectDevice` says otherwise. */
  readonly preference?: DevicePreference | undefined;
  readonly logger?: ComputeLogger | undefined;
  /** Resets of one device within 10 minutes before it is quarantined. Default 3. */
  readonly maxResets?: number | undefined;
  /** How often a quarantined device is probed, in ms. Default 5000. */
  readonly probeEveryMs?: number | undefined;
  /** Whether a better device that was healed is used again by itself. Default true. */
  readonly returnWhenHealed?: boolean | undefined;
}

export interface DeviceManagerDeps extends DeviceManagerOptions {
  readonly open?: OpenRuntime | undefined;
  readonly clock?: Clock | undefined;
  /** Values in the large kernel of the probe, a power of two. Default 2^20. */
  readonly probeElements?: number | undefined;
}

/** Somebody whose tensors live on the station: told before it goes, and asked how many there are. */
export interface Tenant {
  live(): number;
  /** Brings the tensors to host memory, if the station still lives. Returns how many are safe and how many are not. */
  leave(station: Station): Promise<{ restored: number; lost: number }>;
}

const quietMs = 5000;
const closeMs = 2000;
const rebirthMs = 10_000;
const resetWindowMs = 10 * 60_000;

const shared = new Shared<DeviceManager, DeviceManagerOptions>('DeviceManager', (options) =>
  DeviceManager.create(options),
);

export class DeviceManager {
  readonly clock: Clock;
  readonly signals = new Signals();
  readonly #kinds: readonly DeviceKind[];
  readonly #open: OpenRuntime;
  readonly #probeElements: number;
  readonly #returns: boolean;
  readonly #tenants = new Set<Tenant>();
  readonly #healer: Healer;
  readonly #maxResets: number;
  /** Per device: those of its runtime, which opens a lost device by itself, and those of this manager. */
  readonly #resets = new Map<string, Recent>();
  #preference: DevicePreference;
  #station: Station | null = null;
  #selection: DeviceSelection | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  /** Selections and resets that are waiting or in progress. */
  #busy = 0;
  #resetting: Promise<void> | null = null;
  #disposed = false;

  /** The instance shared by the whole process; made anew after `dispose()`. */
  static getInstance(options?: DeviceManagerOptions): DeviceManager {
    return shared.get(options);
  }

  /** An instance of one's own. */
  static create(deps: DeviceManagerDeps = {}): DeviceManager {
    return new DeviceManager(deps);
  }

  private constructor(deps: DeviceManagerDeps) {
    this.clock = deps.clock ?? systemClock;
    this.signals.logger = deps.logger ?? null;
    this.#kinds = deps.kinds ?? ['cuda', 'webgpu', 'cpu'];
    this.#open = deps.open ?? opener(deps.runtime ?? {});
    this.#maxResets = deps.maxResets ?? 3;
    this.#probeElements = deps.probeElements ?? probeElements;
    this.#returns = deps.returnWhenHealed ?? true;
    this.#preference = deps.preference ?? {};
    this.#healer = new Healer({
      open: this.#open,
      clock: this.clock,
      everyMs: deps.probeEveryMs ?? 5000,
      healed: (device, probes) => this.#healed(device, probes),
    });
    checkPreference(this.#preference, 'DeviceManager');
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** The last selection, as `selectDevice` returned it. */
  get selection(): DeviceSelection | null {
    return this.#selection;
  }

  /** Devices that are not used at the moment, and why. */
  get quarantined(): ReadonlyMap<string, string> {
    return this.#healer.patients;
  }

  /**
   * Chooses a device: the best of those that are there, compute right and meet the preference. `live` says what happens to
   * tensors on the device used before: they are moved, or the call is refused.
   */
  async selectDevice(preference: DevicePreference = {}, live: 'move' | 'refuse' = 'move'): Promise<DeviceSelection> {
    this.#checkOpen('selectDevice');
    checkPreference(preference, 'selectDevice');
    return this.#exclusive(async () => {
      const count = [...this.#tenants].reduce((n, t) => n + t.live(), 0);
      if (live === 'refuse' && count > 0) {
        throw new InvalidArgumentError({
          message: `selectDevice: ${count} tensors are alive on ${this.#station?.id}`,
          operation: 'selectDevice',
          device: this.#station?.id,
          hint: "Dispose them first, or let them be moved: selectDevice(preference, 'move').",
        });
      }
      this.#preference = preference;
      return this.#choose();
    });
  }

  /** What executes the next operation; null before the first selection, after `cleanup` and while there is none. */
  getActiveDevice(): string | null {
    return this.#station?.alive ? this.#station.id : null;
  }

  /** Frees all device resources. The next operation selects a device again. Doing it twice does nothing. */
  async cleanup(): Promise<void> {
    await this.#exclusive(async () => {
      const station = this.#station;
      this.#station = null;
      this.#selection = null;
      if (station) await this.#abandon(station, disposed('cleanup', station.id));
    });
  }

  /** Calls back when the active device is lost; returns a function that stops it. */
  onDeviceLost(callback: (event: ComputeEvents['lost']) => void): () => void {
    return this.signals.on('lost', callback);
  }

  on<K extends keyof ComputeEvents>(kind: K, listener: ComputeListener<K>): () => void {
    return this.signals.on(kind, listener);
  }

  /** The station, selected with the last preference if there is none. Waits for a selection or reset in progress. */
  async ready(): Promise<Station> {
    this.#checkOpen('selectDevice');
    await this.#queue;
    const station = this.#station;
    // Not longer than a new start would take; a device that needs more is built anew.
    if (station?.rebirth)
      await withDeadline(station.rebirth, rebirthMs, { what: `reopening (${station.id})` }).catch(() =>
        station.end(deviceLost('device', station.id, 'it did not come back in time')),
      );
    if (station?.alive) return station;
    if (station) {
      await this.reset(station, station.ended?.message.split('\n')[0] ?? 'it was lost');
      return this.ready();
    }
    await this.#exclusive(async () => {
      if (!this.#station) await this.#choose();
    });
    return this.ready();
  }

  /** The station if work can be sent there at once: no selection or reset is in progress. */
  get current(): Station | null {
    const station = this.#station;
    return station?.alive && this.#busy === 0 && !station.rebirth ? station : null;
  }

  /** The station, whatever is in progress; null if there is none that lives. */
  get station(): Station | null {
    return this.#station?.alive ? this.#station : null;
  }

  join(tenant: Tenant): () => void {
    this.#tenants.add(tenant);
    return () => this.#tenants.delete(tenant);
  }

  /**
   * Builds the device anew: whatever is in flight ends or fails, tensors are saved as far as that is possible, and a device
   * is selected again. Callers during a reset join it. Does nothing if `station` is not the active one any more.
   */
  async reset(station: Station | null, cause: string): Promise<void> {
    this.#checkOpen('resetDevice');
    if (station && station !== this.#station) return this.#resetting ?? undefined;
    this.#resetting ??= this.#exclusive(() => this.#rebuild(cause)).finally(() => {
      this.#resetting = null;
    });
    return this.#resetting;
  }

  /** Whether one more reset of a device is within the limit. */
  mayReset(device: string): boolean {
    return this.#resetsOf(device).count < this.#maxResets;
  }

  /** Leaves a device for the next best one. False if there is no other. */
  async fallBack(station: Station, reason: string): Promise<boolean> {
    return this.#exclusive(async () => {
      if (this.#station !== station) return this.#station?.alive ?? false;
      this.#healer.admit(station.id, reason);
      try {
        await this.#choose();
        return true;
      } catch (e) {
        if (!(e instanceof DeviceUnavailableError)) throw e;
        return false;
      }
    });
  }

  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#healer.stop();
    await this.cleanup();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #rebuild(cause: string): Promise<void> {
    const start = this.clock.now();
    const station = this.#station;
    const device = station?.id ?? 'none';
    const tooMany = station !== null && !this.mayReset(device);
    if (station) this.#resetsOf(device).add();
    let saved = { restored: 0, lost: 0 };
    this.#station = null;
    if (station) saved = await this.#abandon(station, deviceLost('resetDevice', device, cause));
    if (tooMany) this.#healer.admit(device, `it was reset ${this.#maxResets} times within 10 minutes`);
    await this.#choose(device);
    this.signals.emit('reset', { device, cause, ms: this.clock.now() - start, ...saved });
  }

  /** Lets what is in flight end, saves the tensors and closes the runtime. */
  async #abandon(station: Station, error: ComputeError): Promise<{ restored: number; lost: number }> {
    if (station.alive) await station.quiet(quietMs);
    let [restored, lost] = [0, 0];
    for (const tenant of this.#tenants) {
      const saved = await tenant.leave(station);
      restored += saved.restored;
      lost += saved.lost;
    }
    station.end(error);
    await station.close(closeMs);
    return { restored, lost };
  }

  /** Selects a device and makes it the active one. */
  async #choose(before?: string): Promise<DeviceSelection> {
    const { found, rejected } = await choose({
      kinds: this.#kinds,
      preference: this.#preference,
      open: this.#open,
      clock: this.clock,
      excluded: this.#healer.patients,
      probeElements: this.#probeElements,
    });
    const { kind, runtime, device, probe, unverified } = found;
    const gpu = gpuKinds.includes(kind);
    const old = this.#station;
    let station = old;
    // The same device again: what lives on it stays where it is.
    if (old?.alive && old.id === device.id) await runtime.close();
    else {
      const made = new Station(runtime, device, gpu ? 'gpu' : 'cpu', probe);
      if (old) await this.#abandon(old, deviceLost('selectDevice', old.id, `${made.id} was selected instead`));
      this.#station = station = made;
      made.watch({
        lost: (reason) => this.signals.emit('lost', { device: made.id, reason }),
        reborn: (ms) => {
          this.#resetsOf(made.id).add();
          this.signals.emit('reset', { device: made.id, cause: 'it was lost', ms, restored: 0, lost: 0 });
        },
      });
    }
    const { preferGPU = true } = this.#preference;
    const fellBack = preferGPU && !gpu;
    const reason = fellBack
      ? 'no usable GPU: the CPU does the work'
      : `it computes right, and the probe kernel takes ${probe.kernelMs.toFixed(2)} ms on it`;
    this.#selection = { device: device.id, kind: station!.kind, reason, unverified, rejected };
    this.signals.emit('device', { device: device.id, kind: station!.kind, reason });
    if (fellBack) this.signals.emit('fallback', { from: before ?? old?.id ?? null, to: device.id, reason });
    return this.#selection;
  }

  #resetsOf(device: string): Recent {
    let resets = this.#resets.get(device);
    if (!resets) this.#resets.set(device, (resets = new Recent(this.clock, resetWindowMs)));
    return resets;
  }

  #healed(device: string, probes: number): void {
    this.signals.emit('healed', { device, probes });
    if (!this.#returns || this.#disposed) return;
    this.#exclusive(async () => {
      if (this.#station && !this.#disposed) await this.#choose();
    }).catch((error) => this.signals.emit('error', { source: 'return to a healed device', error }));
  }

  /** One after the other. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++;
    const result = this.#queue.then(work).finally(() => this.#busy--);
    this.#queue = result.catch(() => {});
    return result;
  }

  #checkOpen(operation: string): void {
    if (this.#disposed) throw disposed(operation, null);
  }
}

const disposed = (operation: string, device: string | null): DisposedError =>
  new DisposedError({
    message: `${operation}: the device manager was disposed or cleaned up`,
    operation,
    device,
    hint: 'Ask for a new one: getInstance().',
  });
