// What the parts of GPUCompute share: where work runs, how it is timed, what was handed out.

import { DegradationHandler } from '../batch/degradation.ts';
import { Groups } from '../batch/groups.ts';
import { Pacer } from '../batch/pacer.ts';
import type { ChunkSizer } from '../batch/sizer.ts';
import { BatchStatistics } from '../batch/stats.ts';
import { ArgumentError, DisposedError, type Maybe, type Tensor, turnIfDue } from '../index.ts';
import { Bounded } from '../profile/bounded.ts';
import type { Clock } from '../profile/clock.ts';
import type { OpenSpan } from '../profile/record/span.ts';
import { attached } from '../profile/sources.ts';
import type { Span, Timeline } from '../profile/timeline.ts';
import type { DeviceManager } from './device-manager.ts';
import { type Otherwise, told } from './errors.ts';
import { Handles } from './handles.ts';
import type { Station } from './station.ts';

export interface ContextOptions {
  /** Attempts on one device, the first included. Default 3. */
  readonly attempts?: number | undefined;
  /** Waits before the second, third … attempt, in ms; the last one repeats. Default 50 and 200. */
  readonly waits?: readonly number[] | undefined;
  /** Whether work may go on on another device when one fails for good. Default true. */
  readonly fallback?: boolean | undefined;
  /** The largest share of the time that the device may be busy with our work, 0 to 1. Default: none. */
  readonly utilizationCeiling?: number | undefined;
  /** Whether a device's lasting slow-down moves work elsewhere or makes chunks smaller. Default true. */
  readonly handleDegradation?: boolean | undefined;
}

/** A piece of work that is tried as a whole. */
export interface Task {
  readonly operation: string;
  readonly signal?: AbortSignal | undefined;
  /** The class of failures that have none. */
  readonly otherwise?: Otherwise | undefined;
  /** Lack of memory is passed on at once: the caller can ask for less. */
  readonly divisible?: boolean | undefined;
  /** Another device than the selected one. */
  readonly device?: string | undefined;
}

/** Where a piece of work runs. */
export interface Site {
  readonly station: Station;
  /** Null if the router decides. */
  readonly device: string | null;
  /** Needed for what is made after an `await`. */
  readonly run: <T>(body: () => T) => T;
}

export class Context {
  readonly devices: DeviceManager;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly pacer: Pacer;
  readonly handles = new Handles();
  readonly sizes = new Bounded<ChunkSizer>(256);
  readonly stats = new BatchStatistics();
  /** Null if slow-downs are not handled. */
  readonly degradation: DegradationHandler | null;
  disposed = false;
  readonly #options: ContextOptions;
  readonly #groups = new WeakMap<object, Map<string, Groups>>();

  constructor(devices: DeviceManager, options: ContextOptions) {
    this.devices = devices;
    this.clock = devices.clock;
    this.timeline = devices.timeline;
    this.#options = options;
    this.pacer = new Pacer(devices.clock, options.utilizationCeiling ?? null);
    // Where the router chooses, it also sees that a device has become slow.
    this.degradation =
      (options.handleDegradation ?? true) && devices.routing === 'pinned'
        ? new DegradationHandler(devices.clock, (state) => devices.signals.emit('degradation', state))
        : null;
  }

  /** Runs work on the selected device by the runtime's policy. What is done at once is returned at once. */
  run<T>(task: Task, work: (site: Site) => Maybe<T>): Maybe<T> {
    this.checkOpen(task.operation);
    const { station } = this.devices;
    return station ? this.#on(station, task, work) : this.devices.ready().then((s) => this.#on(s, task, work));
  }

  #on<T>(station: Station, task: Task, work: (site: Site) => Maybe<T>): Maybe<T> {
    const { operation, signal, otherwise, divisible = false } = task;
    const { attempts, waits, fallback = true } = this.#options;
    const failed = (error: unknown): never => {
      throw told(error, operation, station.id, otherwise);
    };
    const policy = {
      what: operation,
      attempts,
      backoffMs: waits,
      fallback: fallback && divisible ? ('failures' as const) : fallback,
      signal,
      device: task.device ?? (this.devices.routing === 'measured' ? undefined : station.id),
    };
    try {
      const done = station.runtime.attempt(policy, ({ device, run }) => work({ station, device, run }));
      return done instanceof Promise ? done.catch(failed) : done;
    } catch (error) {
      return failed(error);
    }
  }

  /** The compiled groups of a device of the station. */
  groups({ runtime }: Station, device: string): Groups {
    let all = this.#groups.get(runtime);
    if (!all) this.#groups.set(runtime, (all = new Map()));
    let groups = all.get(device);
    if (!groups) all.set(device, (groups = new Groups(runtime, device)));
    return groups;
  }

  /** Tensors that the caller gets, to be disposed of with the facade: at once if it was disposed of while they were made. */
  handOut(tensors: readonly Tensor[], operation: string): void {
    if (this.disposed) for (const t of tensors) t.dispose();
    this.checkOpen(operation);
    for (const t of tensors) this.handles.add(t);
  }

  checkOpen(operation: string): void {
    if (!this.disposed) return;
    throw new DisposedError({
      message: `${operation}: this GPUCompute was disposed`,
      where: operation,
      fix: 'Ask for a new one: GPUCompute.getInstance().',
    });
  }

  /** Throws unless a tensor can be used on the station. */
  checkTensor(tensor: Tensor, { runtime }: Station, operation: string): void {
    if (tensor.disposed) {
      throw new DisposedError({
        message: `${operation}: ${tensor} was disposed`,
        where: operation,
        fix: 'Dispose of a tensor after its last use.',
      });
    }
    if (runtime.owns(tensor)) return;
    throw new ArgumentError({
      message: `${operation}: ${tensor} belongs to another runtime`,
      where: operation,
      fix: 'Use tensors of this facade, made after the last clean-up of its devices.',
    });
  }

  /**
   * Runs work that the device is given, waits for the device, and records how long it was busy with it: by the device's own
   * timestamps where it has them.
   */
  computing(
    { station, device }: Site,
    name: string,
    bytes: number,
    work: () => Tensor[],
  ): Maybe<{ value: Tensor[]; ms: number }> {
    const { runtime } = station;
    const before = device === null ? null : runtime.device(device).mark();
    const about = { kind: 'compute' as const, name, device: device ?? station.id, bytes };
    return this.#timed(
      about,
      () => {
        const value = work();
        about.device = device ?? value[0]?.device ?? station.id;
        const after = runtime.device(about.device).mark();
        return after.done() ? { value, after } : after.whenDone().then(() => ({ value, after }));
      },
      ({ value, after }, span) => ({ value, ms: span(before && after.since(before)) }),
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
    let scope: OpenSpan | null = null;
    const add = (own: number | null, failed: boolean): number => {
      const ms = own ?? scope?.durationMs ?? this.clock.now() - start;
      const { kind, name, device, bytes } = about;
      this.timeline.add({ kind, name, device, ms, bytes, source: own === null ? 'host' : 'device', failed });
      return ms;
    };
    const succeed = (outcome: T): R => done(outcome, (own) => add(own, false));
    const fail = (error: unknown): never => {
      add(null, true);
      throw error;
    };
    // A profiler of the runtime sees the same pieces of work, and measures them: there is one source.
    const { station } = this.devices;
    const profiler = station && attached.get(station.runtime);
    let outcome: Maybe<T>;
    try {
      outcome = profiler
        ? profiler.profile(about.name, { device: about.device }, (span) => {
            scope = span;
            return work();
          })
        : work();
    } catch (e) {
      return fail(e);
    }
    return outcome instanceof Promise ? outcome.then(succeed, fail) : succeed(outcome);
  }
}

/**
 * What is done at once, or thrown, as a promise too; without the turns of the queue that an async function adds. Loops of such
 * calls let the event loop turn every few milliseconds.
 */
export function promised<T>(work: () => Maybe<T>): Promise<T> {
  try {
    const done = work();
    if (done instanceof Promise) return done;
    return turnIfDue(performance.now())?.then(() => done) ?? Promise.resolve(done);
  } catch (e) {
    return Promise.reject(e);
  }
}
