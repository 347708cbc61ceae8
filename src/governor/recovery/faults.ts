// Fault injection: a device that fails when it is told to, and is otherwise the device it wraps.
//
// A plan names calls by their number (the third allocation, the tenth call of any kind) and how they fail. A failing call
// has no effect on the device underneath. Once lost, every call throws DeviceLost, waits that were pending reject and `lost`
// resolves. Buffers and programs of another device, or of an earlier life of this one, are refused, and so is a buffer
// that was released: mistakes that a real driver answers with a crash. Counters tell what was called and what is alive.

import type { DType, TypedArray } from '../../base/dtype.ts';
import type {
  Capabilities,
  ClockReading,
  Device,
  DeviceBuffer,
  DeviceId,
  DeviceLoss,
  Launch,
  Mark,
  Program,
  Recording,
  Span,
  Telemetry,
} from '../../devices/device.ts';
import { deviceLost } from '../../devices/lost.ts';
import type { DeviceLost } from '../../errors.ts';
import type { Kernel, Routine } from '../../kernel/kernel.ts';
import { deadlineExceeded } from './errors.ts';
import { closedError, foreign, injectedError, releasedError } from './fault-errors.ts';
import { type FaultKind, type FaultPlan, type FaultSite, FaultTurns } from './fault-plan.ts';

export {
  type Fault,
  type FaultKind,
  type FaultPlan,
  type FaultSite,
  faultKinds,
  faultSites,
  randomFaults,
} from './fault-plan.ts';

export interface FaultCounters {
  readonly calls: Readonly<Record<FaultSite | 'any', number>>;
  /** Buffers that were handed out and not released. Those of a device that was lost or opened anew died with it. */
  readonly live: number;
  readonly liveBytes: number;
  readonly peakBytes: number;
  /** Faults that happened, in order. */
  readonly injected: readonly { readonly at: FaultSite; readonly call: number; readonly as: FaultKind }[];
}

export interface FaultyDevice extends Device {
  readonly inner: Device;
  /** The device that took its place, once it was opened anew. */
  readonly successor: FaultyDevice | null;
  counters(): FaultCounters;
  /** Loses the device now. */
  lose(reason?: string): void;
  /** Replaces the plan; counting goes on. */
  plan(plan: FaultPlan): void;
}

/** Wraps a device so that chosen calls fail. */
export function withFaults(device: Device, plan: FaultPlan = { faults: [] }): FaultyDevice {
  return new Faulty(device, plan);
}

class FaultyBuffer implements DeviceBuffer {
  readonly bytes: number;
  readonly collected: boolean;
  readonly inner: DeviceBuffer;
  readonly owner: Faulty;
  released = false;

  constructor(inner: DeviceBuffer, owner: Faulty, strict: boolean) {
    this.bytes = inner.bytes;
    this.collected = inner.collected && !strict;
    this.inner = inner;
    this.owner = owner;
  }
}

type Reject = (error: unknown) => void;

class Faulty implements FaultyDevice {
  readonly inner: Device;
  readonly id: DeviceId;
  readonly caps: Capabilities;
  readonly lost: Promise<DeviceLoss>;
  readonly readSync?: (src: DeviceBuffer, offset?: number, length?: number) => Uint8Array;
  readonly readTyped?: (src: DeviceBuffer, type: DType, first?: number, count?: number) => TypedArray;
  readonly record?: (steps: readonly Launch[]) => Recording;
  readonly copyFrom?: (from: Device, src: DeviceBuffer, dst: DeviceBuffer) => void;
  readonly reaches?: (from: Device) => boolean;
  readonly pinned?: (bytes: number) => ArrayBuffer;
  readonly isPinned?: (bytes: Uint8Array) => boolean;
  readonly returnRead?: (bytes: Uint8Array) => void;
  readonly telemetry?: () => Telemetry;
  readonly spans?: (on: boolean | 'detailed') => void;
  readonly takeSpans?: () => readonly Span[];
  readonly clock?: () => Promise<ClockReading>;
  readonly pool?: () => { readonly reserved: number; readonly inUse: number; readonly idle: number };
  readonly reopen?: () => Promise<Device>;
  successor: FaultyDevice | null = null;
  readonly #programs = new WeakSet<Program>();
  readonly #live = new Set<FaultyBuffer>();
  readonly #waiting = new Set<Reject>();
  readonly #turns: FaultTurns;
  #liveBytes = 0;
  #peakBytes = 0;
  #loss: DeviceLoss | null = null;
  #hung = false;
  #closed = false;
  #tellLost: (loss: DeviceLoss) => void = () => {};

  constructor(inner: Device, plan: FaultPlan) {
    this.inner = inner;
    this.id = inner.id;
    // Whatever the device underneath is: this one can be lost.
    this.caps = { ...inner.caps, immortal: false };
    this.#turns = new FaultTurns(plan);
    this.lost = new Promise((resolve) => {
      this.#tellLost = resolve;
    });
    // A loss of the device underneath is a loss of this one.
    inner.lost.then((loss) => this.#die(loss));
    const { readSync, readTyped, record, pinned, isPinned, returnRead, telemetry, pool, spans, takeSpans, clock } =
      inner;
    if (readSync)
      this.readSync = (src, offset, length) => this.#readNow(src, (b) => readSync.call(inner, b, offset, length));
    if (readTyped)
      this.readTyped = (src, type, first, count) =>
        this.#readNow(src, (b) => readTyped.call(inner, b, type, first, count));
    if (record) this.record = (steps) => this.#record(steps, record.bind(inner));
    if (inner.copyFrom && inner.reaches) {
      this.copyFrom = (from, src, dst) => this.#copyFrom(from as Faulty, src, dst);
      this.reaches = (from) => from instanceof Faulty && inner.reaches!(from.inner);
    }
    if (pinned) this.pinned = (bytes) => this.#alive('pinned', () => pinned.call(inner, bytes));
    if (isPinned) this.isPinned = (bytes) => isPinned.call(inner, bytes);
    if (returnRead) this.returnRead = (bytes) => returnRead.call(inner, bytes);
    if (telemetry) this.telemetry = () => this.#alive('telemetry', () => telemetry.call(inner));
    if (pool) this.pool = () => this.#alive('pool', () => pool.call(inner));
    if (spans) this.spans = (on) => this.#alive('spans', () => spans.call(inner, on));
    if (takeSpans) this.takeSpans = () => this.#alive('takeSpans', () => takeSpans.call(inner));
    if (clock) this.clock = () => this.#alive('clock', () => clock.call(inner));
    const { rebirth } = plan;
    if (rebirth) this.reopen = async () => this.#reopen(rebirth);
  }

  allocate(bytes: number): DeviceBuffer {
    this.#enter('allocate', bytes);
    const made = new FaultyBuffer(this.inner.allocate(bytes), this, this.#turns.plan.strict ?? true);
    if (made.collected) return made;
    this.#live.add(made);
    this.#liveBytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.#liveBytes);
    return made;
  }

  release(buffer: DeviceBuffer): void {
    const b = buffer as FaultyBuffer;
    if (b.owner !== this) throw foreign(this.id, 'release', 'buffer');
    if (b.released) return;
    b.released = true;
    if (this.#live.delete(b)) this.#liveBytes -= b.bytes;
    if (!this.#loss && !this.#closed && !b.inner.collected) this.inner.release(b.inner);
  }

  write(dst: DeviceBuffer, bytes: Uint8Array, offset?: number): void {
    this.#enter('write', bytes.length);
    this.inner.write(this.#own(dst, 'write'), bytes, offset);
  }

  read(src: DeviceBuffer, offset?: number, length?: number, into?: Uint8Array): Promise<Uint8Array> {
    try {
      this.#enter('read', length ?? src.bytes);
      return this.#wait(this.inner.read(this.#own(src, 'read'), offset, length, into));
    } catch (e) {
      return Promise.reject(e);
    }
  }

  /** Counts as a write here and as a read there. */
  #copyFrom(from: Faulty, src: DeviceBuffer, dst: DeviceBuffer): void {
    from.#enter('read', src.bytes);
    this.#enter('write', src.bytes);
    this.inner.copyFrom!(from.inner, from.#own(src, 'copyFrom'), this.#own(dst, 'copyFrom'));
  }

  prepare(work: Kernel | Routine): Program {
    this.#enter('prepare', 0, work.name);
    const program = this.inner.prepare(work);
    this.#programs.add(program);
    return program;
  }

  launch(program: Program, buffers: readonly DeviceBuffer[], scalars: readonly number[], id?: number): void {
    this.#enter('launch', 0, program.name);
    this.#ready(program);
    const list = buffers.map((b) => this.#own(b, program.name));
    this.inner.launch(program, list, scalars, id);
  }

  mark(): Mark {
    this.#enter('mark');
    return new FaultyMark(
      this.inner.mark(),
      () => this.#hung || this.#loss !== null,
      (p) => this.#wait(p),
    );
  }

  memory(): { readonly total: number; readonly free: number } {
    return this.#alive('memory', () => this.inner.memory());
  }

  trim(): void {
    this.#alive('trim', () => this.inner.trim());
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#rejectAll('closed while work was in flight');
    await this.inner.close();
  }

  counters(): FaultCounters {
    return {
      calls: { ...this.#turns.calls },
      live: this.#live.size,
      liveBytes: this.#liveBytes,
      peakBytes: this.#peakBytes,
      injected: [...this.#turns.injected],
    };
  }

  lose(reason = 'lost on request'): void {
    this.#die({ reason });
  }

  plan(plan: FaultPlan): void {
    this.#turns.plan = plan;
  }

  #reopen(plan: FaultPlan): Device {
    // The device underneath goes on: this wrapper lets go of it without closing it.
    this.#closed = true;
    this.#live.clear();
    this.#liveBytes = 0;
    this.#rejectAll('reopened');
    this.successor = new Faulty(this.inner, plan);
    return this.successor;
  }

  #record(steps: readonly Launch[], record: (steps: readonly Launch[]) => Recording): Recording {
    this.#enter('record');
    for (const s of steps) this.#ready(s.program);
    const made = record(steps);
    return {
      replay: (bindings, scalars, id) => {
        this.#enter('replay');
        made.replay(
          bindings.map((b) => this.#own(b, 'replay')),
          scalars,
          id,
        );
      },
      dispose: () => {
        if (!this.#loss && !this.#closed) made.dispose();
      },
    };
  }

  #readNow<T>(src: DeviceBuffer, read: (b: DeviceBuffer) => T): T {
    this.#enter('read', src.bytes);
    const b = this.#own(src, 'read');
    if (this.#hung) throw deadlineExceeded(`read of ${src.bytes} bytes (${this.id})`, 0);
    return read(b);
  }

  /** Counts a call and lets it fail if it is its turn. */
  #enter(site: FaultSite, bytes = 0, name: string = site): void {
    if (this.#loss) throw this.#lostError(name);
    if (this.#closed) throw closedError(this.id, name);
    for (const as of this.#turns.next(site)) this.#fail(as, site, bytes, name);
  }

  #fail(as: FaultKind, site: FaultSite, bytes: number, name: string): void {
    if (as === 'hang') {
      this.#hung = true;
      return;
    }
    if (as === 'lost') {
      this.#die({ reason: `injected at ${site} ${this.#turns.calls[site]}` });
      throw this.#lostError(name);
    }
    throw injectedError[as](this.id, site, bytes, name);
  }

  #alive<T>(where: string, call: () => T): T {
    if (this.#loss) throw this.#lostError(where);
    return call();
  }

  #own(buffer: DeviceBuffer, where: string): DeviceBuffer {
    const b = buffer as FaultyBuffer;
    if (b.owner !== this) throw foreign(this.id, where, 'buffer');
    if (b.released) throw releasedError(this.id, where, b.bytes);
    return b.inner;
  }

  #ready(program: Program): void {
    if (!this.#programs.has(program)) throw foreign(this.id, program.name, 'program');
  }

  /** The promise, unless the device hangs or goes away first. */
  #wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject);
      promise.then(
        (value) => {
          // A hung device never answers; the wait stays until the device is lost or closed.
          if (this.#hung) return;
          this.#waiting.delete(reject);
          resolve(value);
        },
        (error: unknown) => {
          this.#waiting.delete(reject);
          reject(error);
        },
      );
    });
  }

  #die(loss: DeviceLoss): void {
    if (this.#loss || this.#closed) return;
    this.#loss = loss;
    this.#live.clear();
    this.#liveBytes = 0;
    this.#rejectAll(loss.reason);
    this.#tellLost(loss);
  }

  #rejectAll(reason: string): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const reject of waiting) reject(deviceLost(this.id, reason, 'read'));
  }

  #lostError(where: string): DeviceLost {
    return deviceLost(this.id, this.#loss!.reason, where, this.#loss!.cause);
  }
}

class FaultyMark implements Mark {
  readonly #inner: Mark;
  readonly #stuck: () => boolean;
  readonly #wait: (promise: Promise<void>) => Promise<void>;

  constructor(inner: Mark, stuck: () => boolean, wait: (promise: Promise<void>) => Promise<void>) {
    this.#inner = inner;
    this.#stuck = stuck;
    this.#wait = wait;
  }

  done(): boolean {
    return !this.#stuck() && this.#inner.done();
  }

  whenDone(): Promise<void> {
    return this.#wait(this.#inner.whenDone());
  }

  since(earlier: Mark): number | null {
    return earlier instanceof FaultyMark ? this.#inner.since(earlier.#inner) : null;
  }
}
