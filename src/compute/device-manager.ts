// Chooses the device, tells the true choice, and passes on what the runtime does about its failures.
//
// One runtime with all devices is open at a time; the selected device is the one that work is pinned to. Losses, retries,
// quarantine, probes in the background and the return of a device are the runtime's; here they become the facade's events and
// the answer to the question what runs the next operation.

import { notMade } from '../base/arguments.ts';
import { checkMethods } from '../base/signatures.ts';
import {
  ArgumentError,
  createRuntime,
  type DeviceKind,
  DeviceLost,
  DeviceUnavailable,
  DisposedError,
  type LeakReport,
  type Runtime,
  type RuntimeOptions,
} from '../index.ts';
import { type Clock, systemClock } from '../profile/clock.ts';
import type { Monitored, MonitorSource } from '../profile/monitor.ts';
import { Shared } from '../profile/shared.ts';
import { Timeline } from '../profile/timeline.ts';
import { type ComputeEvents, type ComputeListener, type ComputeLogger, createSignals, type Signals } from './events.ts';
import { checkPreference } from './preference.ts';
import { probeElements } from './probe.ts';
import { choose, unavailable } from './select.ts';
import { computeKinds, managerMakers, managerSignatures } from './signatures.ts';
import { Standing } from './standing.ts';
import { Station } from './station.ts';
import type { DevicePreference, DeviceSelection } from './types.ts';

/** Opens a runtime. False counts as a failure, as an exception does. */
export type OpenRuntime = (options: RuntimeOptions) => Promise<Runtime | false>;

export interface DeviceManagerOptions {
  /** Kinds of devices to look for. Default: CUDA, WebGPU, CPU. */
  readonly kinds?: readonly DeviceKind[] | undefined;
  /** Passed on to `createRuntime`. */
  readonly runtime?: Omit<RuntimeOptions, 'devices'> | undefined;
  /** 'pinned' (default): work runs on the selected device. 'measured': the runtime's router chooses for each piece of work. */
  readonly routing?: 'pinned' | 'measured' | undefined;
  /** What to use until `selectDevice` says otherwise. */
  readonly preference?: DevicePreference | undefined;
  readonly logger?: ComputeLogger | undefined;
  /** How often a lost device is opened again within 10 minutes before it is quarantined. Default 3. */
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

/** Somebody who handed out tensors. */
export interface Tenant {
  /** How many are alive, and how many of them are lost. */
  count(): { readonly live: number; readonly lost: number };
}

const shared = new Shared<DeviceManager, DeviceManagerOptions>('DeviceManager', (options) =>
  DeviceManager.create(options),
);

export class DeviceManager implements MonitorSource {
  /** @internal */
  readonly clock: Clock;
  /** @internal */
  readonly timeline: Timeline;
  /** @internal */
  readonly signals: Signals;
  readonly routing: 'pinned' | 'measured';
  readonly #deps: DeviceManagerDeps;
  readonly #tenants = new Set<Tenant>();
  readonly #growth = new Set<(report: LeakReport) => void>();
  readonly #standing: Standing;
  #preference: DevicePreference;
  #runtime: Runtime | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  /** Selections that are waiting or in progress. */
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

  private constructor(deps: DeviceManagerDeps = notMade('DeviceManager', 'DeviceManager.create()')) {
    this.#deps = deps;
    this.clock = deps.clock ?? systemClock;
    this.timeline = new Timeline(this.clock);
    this.routing = deps.routing ?? 'pinned';
    this.signals = createSignals(deps.logger);
    this.#standing = new Standing({
      signals: this.signals,
      returns: deps.returnWhenHealed ?? true,
      lostTensors: () => this.#lost(),
    });
    this.#preference = deps.preference ?? {};
    checkPreference(this.#preference, 'DeviceManager');
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** The last selection, as `selectDevice` returned it; while another device does the work, that one. */
  get selection(): DeviceSelection | null {
    return this.#standing.selection;
  }

  /** Devices that get no work at the moment, and why. */
  get quarantined(): ReadonlyMap<string, string> {
    return this.#runtime ? this.#standing.quarantined(this.#runtime) : new Map();
  }

  /**
   * Chooses a device: the best of those that are there, compute right and meet the preference. `live` says what happens if
   * there are tensors on the device used before: they follow where they are used, or the call is refused.
   */
  async selectDevice(preference: DevicePreference = {}, live: 'move' | 'refuse' = 'move'): Promise<DeviceSelection> {
    this.#checkOpen('selectDevice');
    checkPreference(preference, 'selectDevice');
    return this.#exclusive(async () => {
      const count = [...this.#tenants].reduce((n, t) => n + t.count().live, 0);
      if (live === 'refuse' && count > 0) {
        throw new ArgumentError({
          message: `selectDevice: ${count} tensors are alive on ${this.#standing.station?.id}`,
          where: 'selectDevice',
          device: this.#standing.station?.id,
          fix: "Dispose them first, or let them be moved: selectDevice(preference, 'move').",
        });
      }
      return this.#choose(preference);
    });
  }

  /** What executes the next operation; null before the first selection, after `cleanup`, and while that is being decided. */
  getActiveDevice(): string | null {
    return this.#standing.active()?.id ?? null;
  }

  /** Frees all device resources; tensors end with them. The next operation selects a device again. Doing it twice does nothing. */
  async cleanup(): Promise<void> {
    await this.#exclusive(async () => {
      const runtime = this.#runtime;
      this.#runtime = null;
      this.#standing.clear();
      await runtime?.close();
    });
  }

  /** Calls back when the active device is lost; returns a function that stops it. */
  onDeviceLost(callback: (event: ComputeEvents['lost']) => void): () => void {
    return this.signals.on('lost', callback);
  }

  on<K extends keyof ComputeEvents>(kind: K, listener: ComputeListener<K>): () => void {
    return this.signals.on(kind, listener);
  }

  /** @internal The station, selected with the last preference if there is none. Waits for a selection in progress. */
  async ready(): Promise<Station> {
    this.#checkOpen('selectDevice');
    await this.#queue;
    const { station } = this.#standing;
    if (station) return station;
    await this.#exclusive(async () => {
      if (!this.#standing.station) await this.#choose(this.#preference);
    });
    return this.ready();
  }

  /** The station if work can be sent there at once: no selection is in progress. */
  get station(): Station | null {
    return this.#busy === 0 ? this.#standing.station : null;
  }

  get runtime(): Runtime | null {
    return this.#runtime;
  }

  /** What monitors look at. */
  get current(): Monitored | null {
    const { station } = this.#standing;
    if (!station) return null;
    const { id, kind } = this.#standing.active() ?? station;
    const open = station.runtime.devices().some((d) => d.open && d.id === id);
    return { runtime: station.runtime, id, kind, device: open ? station.runtime.device(id) : null };
  }

  /** @internal */
  join(tenant: Tenant): () => void {
    this.#tenants.add(tenant);
    return () => this.#tenants.delete(tenant);
  }

  onGrowth(listener: (report: LeakReport) => void): () => void {
    this.#growth.add(listener);
    return () => this.#growth.delete(listener);
  }

  /** @internal */
  anomaly(found: ComputeEvents['anomaly']): void {
    this.signals.emit('anomaly', found);
  }

  /** @internal */
  error(where: string, error: unknown): void {
    this.signals.emit('error', { where, error });
  }

  /** Builds the device anew; its tensors are saved. If it is gone for good, another is selected. Callers join a reset. */
  async reset(cause: string): Promise<void> {
    this.#checkOpen('resetDevice');
    const station = await this.ready();
    this.#resetting ??= this.#reset(station, cause).finally(() => {
      this.#resetting = null;
    });
    return this.#resetting;
  }

  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await this.cleanup();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #reset({ runtime, id }: Station, cause: string): Promise<void> {
    const start = this.clock.now();
    let restored = 0;
    try {
      ({ restored } = await runtime.reset(id));
    } catch (e) {
      if (!(e instanceof DeviceLost || e instanceof DeviceUnavailable)) throw e;
      await this.#exclusive(() => this.#choose(this.#preference));
    }
    const lost = this.#lost();
    this.signals.emit('reset', { device: id, cause, ms: this.clock.now() - start, restored, lost });
  }

  /** Selects a device and makes it the active one. */
  async #choose(preference: DevicePreference): Promise<DeviceSelection> {
    const runtime = this.#runtime ?? (await this.#open());
    const { found, rejected } = await choose({
      runtime,
      preference,
      clock: this.clock,
      excluded: this.quarantined,
      probeElements: this.#deps.probeElements ?? probeElements,
    });
    const { id, kind, probe, unverified } = found;
    const before = this.#standing.station;
    this.#preference = preference;
    const fellBack = (preference.preferGPU ?? true) && kind === 'cpu';
    const reason = fellBack
      ? 'no usable GPU: the CPU does the work'
      : `it computes right, and the probe kernel takes ${probe.kernelMs.toFixed(2)} ms on it`;
    const selection = { device: id, kind, reason, unverified, rejected };
    this.#standing.selected(before?.id === id ? before : new Station(runtime, id, kind, probe), selection);
    this.signals.emit('device', { device: id, kind, reason });
    if (fellBack) this.signals.emit('fallback', { from: before?.id ?? null, to: id, reason });
    return selection;
  }

  async #open(): Promise<Runtime> {
    const { kinds = ['cuda', 'webgpu', 'cpu'], runtime: options = {}, maxResets, probeEveryMs, open } = this.#deps;
    const refused = (rejected: DeviceSelection['rejected']) =>
      unavailable(rejected, this.#preference.requireGPU ?? false);
    try {
      const runtime = await (open ?? createRuntime)({
        ...options,
        devices: kinds,
        // Where everything is pinned there is nothing to route, and no reason to measure for it.
        routing: this.routing === 'pinned' ? { mode: 'off', ...options.routing } : options.routing,
        recovery: { resets: maxResets, probeEveryMs, ...options.recovery },
      });
      if (!runtime) throw refused(kinds.map((device) => ({ device, reason: 'it reported that it could not start' })));
      this.#standing.follow(runtime);
      runtime.on('growth', (report) => {
        for (const listener of this.#growth) listener(report);
      });
      this.#runtime = runtime;
      return runtime;
    } catch (e) {
      throw e instanceof DeviceUnavailable && e.where === 'createRuntime' ? refused(e.rejected) : e;
    }
  }

  #lost(): number {
    return [...this.#tenants].reduce((n, t) => n + t.count().lost, 0);
  }

  /** One after the other. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++;
    const result = this.#queue.then(work).finally(() => this.#busy--);
    this.#queue = result.catch(() => {});
    return result;
  }

  #checkOpen(operation: string): void {
    if (!this.#disposed) return;
    throw new DisposedError({
      message: `${operation}: the device manager was disposed`,
      where: operation,
      fix: 'Ask for a new one: getInstance().',
    });
  }
}

checkMethods(DeviceManager.prototype, managerSignatures, computeKinds);
checkMethods(DeviceManager, managerMakers, computeKinds);
