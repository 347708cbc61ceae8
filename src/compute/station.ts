// A runtime on the one device that was selected, from its opening to its end. What is in flight on it is guarded: when the
// station ends, by loss, reset or disposal, every guarded promise is rejected at once with the reason, so that no caller can
// be left waiting for a device that will not answer.

import type { Device, DeviceId } from '../devices/device.ts';
import { withDeadline } from '../governor/recovery/deadline.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { TensorHost } from '../tensor/host.ts';
import { type ComputeError, deviceLost } from './errors.ts';
import type { ProbeResult } from './probe.ts';

export class Station {
  readonly id: DeviceId;
  readonly kind: 'gpu' | 'cpu';
  readonly runtime: Runtime;
  /** Tensors of this station's runtime have this host. */
  readonly host: TensorHost;
  /** What the device did in its probe. */
  readonly probe: ProbeResult;
  readonly #pending = new Set<(error: ComputeError) => void>();
  #idle: (() => void)[] = [];
  #ended: ComputeError | null = null;
  #births = 0;
  #rebirth: { readonly promise: Promise<boolean>; readonly settle: (back: boolean) => void } | null = null;

  constructor(runtime: Runtime, device: Device, kind: 'gpu' | 'cpu', probe: ProbeResult) {
    this.probe = probe;
    this.runtime = runtime;
    this.id = device.id;
    this.kind = kind;
    const empty = runtime.zeros([0]);
    this.host = empty.host;
    empty.dispose();
  }

  /** The device that is there now: a runtime may open a lost one again by itself. */
  get device(): Device {
    return this.runtime.device(this.id);
  }

  /** Other devices that the runtime has open. */
  get others(): readonly DeviceId[] {
    return this.runtime
      .devices()
      .filter((d) => d.open && d.id !== this.id)
      .map((d) => d.id);
  }

  /** While the runtime opens its lost device again: whether that worked. */
  get rebirth(): Promise<boolean> | null {
    return this.#rebirth?.promise ?? null;
  }

  /** How often the runtime opened its lost device again. */
  get births(): number {
    return this.#births;
  }

  get alive(): boolean {
    return this.#ended === null;
  }

  /** Why it ended. */
  get ended(): ComputeError | null {
    return this.#ended;
  }

  get pending(): number {
    return this.#pending.size;
  }

  /** The promise, or the reason for which the station ended before it was settled; or what `otherwise` makes of a failure. */
  guard<T>(work: Promise<T>, otherwise?: (error: unknown) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const fail = (error: unknown): void =>
        otherwise ? resolve(Promise.reject(error).catch(otherwise)) : reject(error);
      if (this.#ended) {
        work.catch(() => {});
        fail(this.#ended);
        return;
      }
      this.#pending.add(fail);
      const left = (): void => {
        this.#pending.delete(fail);
        if (this.#pending.size === 0) for (const f of this.#idle.splice(0)) f();
      };
      work.then(
        (value) => {
          left();
          resolve(value);
        },
        (error) => {
          const known = this.#pending.has(fail);
          left();
          // Whoever waited was told when the station ended.
          if (known) fail(error);
        },
      );
    });
  }

  /**
   * Notices the loss of the device, as the runtime does by itself. Where the runtime opens it again, the station waits for that;
   * else it ends. Tells of it as long as the station lives.
   */
  watch(told: { readonly lost: (reason: string) => void; readonly reborn: (ms: number) => void }): void {
    const gone = (reason: string): void => this.end(deviceLost('device', this.id, reason));
    this.runtime.on('lost', ({ device, reason, reopens }) => {
      if (device !== this.id || !this.alive) return;
      if (reopens) this.#expectRebirth();
      else gone(reason);
      told.lost(reason);
    });
    this.runtime.on('reborn', ({ device, ms }) => {
      if (device !== this.id) return;
      this.#reborn(true);
      told.reborn(ms);
    });
    this.runtime.on('abandoned', ({ device, reason }) => {
      if (device === this.id) gone(reason);
    });
  }

  #expectRebirth(): void {
    let settle: (back: boolean) => void = () => {};
    const promise = new Promise<boolean>((resolve) => {
      settle = resolve;
    });
    this.#rebirth ??= { promise, settle };
  }

  #reborn(back: boolean): void {
    if (back) this.#births++;
    this.#rebirth?.settle(back);
    this.#rebirth = null;
  }

  /** Nothing more is sent to the device; what is in flight fails with this error. The first reason counts. */
  end(error: ComputeError): void {
    if (this.#ended) return;
    this.#ended = error;
    this.#reborn(false);
    for (const reject of [...this.#pending]) reject(error);
    this.#pending.clear();
    for (const f of this.#idle.splice(0)) f();
  }

  /** Waits until nothing is in flight, for `ms` at most. */
  async quiet(ms: number): Promise<boolean> {
    if (this.#pending.size === 0) return true;
    const idle = new Promise<void>((resolve) => this.#idle.push(resolve));
    await withDeadline(idle, ms, { what: `work in flight (${this.id})` }).catch(() => {});
    return this.#pending.size === 0;
  }

  /** Closes the runtime, waiting for `ms` at most: a device that is gone may never answer. */
  async close(ms: number): Promise<void> {
    await withDeadline(this.runtime.close(), ms, { what: `close (${this.id})` }).catch(() => {});
  }
}
