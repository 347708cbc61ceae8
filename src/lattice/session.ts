// The runtime behind a lattice or a graph: opened when device work is first asked for, closed with its owner if it is its own.
// Here, and only here, it is decided which device work is pinned to and which type the router is told.

import {
  createRuntime,
  type DeviceId,
  DeviceLost,
  DeviceUnavailable,
  DisposedError,
  type DType,
  type ForgeError,
  KernelError,
  type OperationType,
  OutOfMemory,
  RecoveryExhausted,
  type Runtime,
  TensorLost,
  turnIfDue,
} from '../index.ts';

export interface SessionOptions {
  readonly runtime?: Runtime | undefined;
  readonly device: string;
  readonly routing: boolean;
}

/** Why work was not done where it was asked for. */
export interface Fallback {
  readonly method: string;
  readonly from: DeviceId;
  readonly to: DeviceId;
  readonly reason: string;
}

const isHost = (rt: Runtime, id: DeviceId): boolean => rt.device(id).caps.host === true;

const hasAll = (rt: Runtime, id: DeviceId, dtypes: readonly DType[]): boolean =>
  dtypes.every((d) => rt.device(id).caps.dtypes.has(d));

export class Session {
  readonly #name: string;
  readonly #options: SessionOptions;
  readonly #fallbacks: Fallback[] = [];
  #opening: Promise<Runtime> | null = null;
  #runtime: Runtime | null = null;
  #closed = false;
  #last: DeviceId | null = null;

  constructor(name: string, options: SessionOptions) {
    this.#name = name;
    this.#options = options;
    this.#runtime = options.runtime ?? null;
  }

  /** The runtime, if one is open. */
  get runtime(): Runtime | null {
    return this.#runtime;
  }

  /** The runtime that was given; null where it is the session's own. */
  get given(): Runtime | null {
    return this.#options.runtime ?? null;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Where work last ran; null before. */
  get device(): DeviceId | null {
    return this.#last;
  }

  get fallbacks(): readonly Fallback[] {
    return this.#fallbacks;
  }

  /** Refuses everything after disposal. */
  check(where: string): void {
    if (this.#closed) throw this.disposed(where);
  }

  disposed(where: string): DisposedError {
    return new DisposedError({
      code: 'DISPOSED',
      message: `${where}: the ${this.#name} was disposed`,
      fix: `Make a new ${this.#name}.`,
      where,
    });
  }

  async open(where: string): Promise<Runtime> {
    this.check(where);
    this.#opening ??= this.#options.runtime ? Promise.resolve(this.#options.runtime) : createRuntime();
    const rt = await this.#opening.catch((error: unknown) => {
      // The next call tries again.
      this.#opening = null;
      throw error;
    });
    this.#runtime = rt;
    // Loops of calls that wait for nothing else let the collector, timers and signals have their turn too.
    const due = turnIfDue(performance.now());
    if (due) await due;
    this.check(where);
    return rt;
  }

  /**
   * Whether a search or sum over all vertices belongs on the host: where the CPU was asked for, or the router prefers it. A GPU
   * needs a launch per level; on small lattices the host is done before that, so no device is even opened.
   */
  async onHost(op: OperationType, vertices: number, where: string): Promise<boolean> {
    this.check(where);
    if (this.keptOnHost(vertices) !== null) return true;
    const rt = await this.open(where);
    return isHost(rt, this.chosen(rt, op, where, vertices));
  }

  /** Why a search or sum over so many vertices stays on the host whatever the router says; null where it is asked. */
  keptOnHost(vertices: number): string | null {
    const { device, routing } = this.#options;
    if (device === 'cpu') return "device: 'cpu' was asked for";
    if (device !== 'auto' || !routing || vertices >= smallVertices) return null;
    return `the lattice is small: the host is done before a GPU has started (below ${smallVertices})`;
  }

  /** The device that work with these dtypes is pinned to; null leaves it to the router. */
  pin(rt: Runtime, where: string, dtypes: readonly DType[] = []): DeviceId | null {
    const wanted = this.#wanted(rt, where);
    if (wanted === null) return null;
    const lacking = dtypes.filter((d) => !rt.device(wanted).caps.dtypes.has(d));
    if (lacking.length === 0) return wanted;
    const other = rt.devices().find((d) => d.open && hasAll(rt, d.id, dtypes))?.id ?? 'host';
    this.fellBack(where, wanted, other, `${wanted} has no ${lacking.join(' and no ')}`);
    return other;
  }

  /** Whether any open device has these dtypes. Where none has, the work is the host's. */
  can(rt: Runtime, dtypes: readonly DType[]): boolean {
    return rt.devices().some((d) => d.open && hasAll(rt, d.id, dtypes));
  }

  /** Runs a body that makes and computes tensors, all but what it returns disposed, at the device that is wanted. */
  within<T>(rt: Runtime, op: OperationType, where: string, body: () => T, dtypes: readonly DType[] = []): T {
    return this.scoped(rt, op, where, dtypes)(body);
  }

  /** The same for many bodies: the device is looked for once. */
  scoped(rt: Runtime, op: OperationType, where: string, dtypes: readonly DType[] = []): <T>(body: () => T) => T {
    const device = this.pin(rt, where, dtypes) ?? undefined;
    this.#last = device ?? this.chosen(rt, op, where);
    return (body) => rt.scope({ device, op }, body);
  }

  fellBack(method: string, from: DeviceId, to: DeviceId, reason: string): void {
    this.#fallbacks.push({ method, from, to, reason });
    if (this.#fallbacks.length > mostFallbacks) this.#fallbacks.shift();
    this.#last = to;
  }

  /** Does work on a device; if that fails for reasons of the device, the same on the host, and remembers it. */
  async orOnHost<T>(where: string, onDevice: () => Promise<T>, onHost: () => T | Promise<T>): Promise<T> {
    try {
      return await onDevice();
    } catch (error) {
      // Closing the runtime under the work is not a failure of the device.
      this.check(where);
      if (!deviceFailed.some((kind) => error instanceof kind)) throw error;
      // After an earlier failure the last work ran on the host; the device that was asked for is the one that failed.
      const { device } = this.#options;
      const from = device === 'auto' || device === 'gpu' ? (this.#last ?? device) : device;
      this.fellBack(where, from, 'cpu', (error as ForgeError).message);
      return onHost();
    }
  }

  /** Ends it: from now on everything is refused. A runtime that was given stays open; its own is closed `after` this. */
  async close(after?: Promise<unknown>): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await after;
    if (this.#options.runtime) return;
    const rt = await this.#opening?.catch(() => null);
    await rt?.close();
  }

  /** What is free at the device where work of this kind would run. */
  freeBytes(rt: Runtime, op: OperationType, where: string): number {
    const device = rt.device(this.chosen(rt, op, where));
    return Math.min(device.caps.maxBufferBytes, device.memory().free);
  }

  /** Where work of this kind would run. */
  chosen(rt: Runtime, op: OperationType, where: string, elements?: number): DeviceId {
    const open = rt.devices().filter((d) => d.open);
    return this.#wanted(rt, where) ?? (open.length === 1 ? open[0]!.id : rt.routing.route(op, elements).device);
  }

  #wanted(rt: Runtime, where: string): DeviceId | null {
    const { device, routing } = this.#options;
    if (device === 'auto' && routing) return null;
    const open = rt.devices().filter((d) => d.open);
    const gpu = open.find((d) => !isHost(rt, d.id))?.id;
    if (device === 'auto') return gpu ?? null;
    const found = device === 'gpu' ? gpu : open.find((d) => d.id === device)?.id;
    if (found !== undefined) return found;
    throw new DeviceUnavailable({
      code: 'DEVICE_UNAVAILABLE',
      message: `${where}: the ${this.#name} asks for ${device}; open are ${open.map((d) => d.id).join(', ')}`,
      fix: "Use device: 'auto', or open the device in the runtime that you give.",
      where,
    });
  }
}

/** Below this a host search takes less time than the launches of a search on a GPU. */
const smallVertices = 1 << 17;

/** What is remembered of them. */
const mostFallbacks = 100;

/** Errors that say something about the device, not about the call. */
const deviceFailed = [DeviceLost, DeviceUnavailable, OutOfMemory, KernelError, TensorLost, RecoveryExhausted] as const;
