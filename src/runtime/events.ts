// What the runtime reports, event by event, and the bus that carries it; docs/events.md lists all of it.
//
// Times are milliseconds of `performance.now()`. `id` counts up over all events of a runtime that have one: it connects a
// launch with its span, a launch with the replay it is part of, a program with its launches. With no listener for an event
// nothing is built, called or timed.
//
// Events of a run are told when all of it was enqueued, before the call that caused it returns: a listener may then compute,
// read and dispose as it likes, and never finds a run half done. Work that a listener does is not told: it would never end.

import { EventBus } from '../base/event-bus.ts';
import type { DeviceId } from '../devices/device.ts';
import type { CleanupReport } from '../governor/memory/cleanup.ts';
import type { LeakReport } from '../governor/memory/leaks.ts';
import type { PressureEvent } from '../governor/memory/monitor.ts';
import type { Retried } from '../governor/recovery/attempt.ts';
import type { Decision, Operation } from '../governor/routing/types.ts';
import type { Estimate } from '../kernel/kernel.ts';

/** Bytes went from one place to another. */
export interface TransferEvent {
  readonly id: number;
  /** The device that did it: for a move, the one the bytes went to. */
  readonly device: DeviceId;
  /** A device, or `host`. */
  readonly from: DeviceId;
  readonly to: DeviceId;
  readonly bytes: number;
  readonly start: number;
  /** How long the host was busy with it or waited for it. An upload may still be under way on the device afterwards. */
  readonly ms: number;
  /** The host's side lies in memory that the device reaches directly (`rt.pinned`). */
  readonly pinned: boolean;
}

/** Memory of a device was taken or given back. Small buffers that the garbage collector frees by itself are not told. */
export interface AllocationEvent {
  readonly device: DeviceId;
  readonly bytes: number;
  readonly start: number;
  /** Bytes in live buffers, after it. */
  readonly live: number;
  /** Bytes held from the system, in use or idle. */
  readonly reserved: number;
}

export interface Events {
  /** A program was planned and its kernels prepared. */
  readonly compile: {
    /** The number of the program: `program` of its launches. */
    readonly id: number;
    readonly kernels: readonly string[];
    readonly device: DeviceId;
    readonly start: number;
    readonly ms: number;
    /** Every kernel was there already, in memory or in a cache on disk: nothing had to be compiled. */
    readonly cached: boolean;
  };
  /** One kernel or routine was enqueued. `hostMs` is the time of the call, not of the work. */
  readonly launch: {
    readonly id: number;
    readonly name: string;
    readonly device: DeviceId;
    readonly start: number;
    readonly hostMs: number;
    readonly estimate: Estimate;
    readonly program: number;
    /** The call of a compiled function that it is part of. */
    readonly replay: number | null;
    /** Where the tensors it computes were made: named scopes, and what `rt.attribute` was told. Each once, first made first. */
    readonly issuedIn: readonly unknown[];
    /** The line of your code that made it run, of some launches while spans are detailed: of the first 16 of a program and every 64th. Else ''. */
    readonly line: string;
  };
  /** A compiled function was enqueued. Devices that record it run it as a whole: then there are no launches of its own. */
  readonly replay: {
    readonly id: number;
    /** The name of the function or kernel; '' if it has none. */
    readonly name: string;
    readonly device: DeviceId;
    readonly start: number;
    readonly hostMs: number;
    readonly program: number;
    readonly kernels: readonly string[];
    /** It ran as one recording. */
    readonly recorded: boolean;
    /** Where it was called. */
    readonly issuedIn: readonly unknown[];
  };
  /**
   * When a device was busy with a launch or a replay. Only while `rt.spans` is on, and some time after the launch; on the host's
   * clock, known to `errorUs`.
   */
  readonly span: {
    /** Of the launch or the replay. */
    readonly id: number;
    readonly device: DeviceId;
    readonly start: number;
    readonly end: number;
    /** All launches that were measured together, `id` among them. */
    readonly ids: readonly number[];
    readonly errorUs: number;
    /** The device's clock moves in steps of so many microseconds; null if they are too small to matter. */
    readonly quantumUs: number | null;
    /**
     * 0 for the launch as a whole. On the CPU, with `rt.spans('detailed')`, each worker thread that had a part in it has a span of
     * its own beside that: its number, from 1.
     */
    readonly lane: number;
  };
  /** Data of the host went to a device. */
  readonly upload: TransferEvent;
  /** Data of a device came to the host. `ms` includes the work before it that the device had to finish. */
  readonly download: TransferEvent;
  /** Tensors moved between devices because a program needed them elsewhere, or came back from host memory. */
  readonly move: TransferEvent;
  readonly alloc: AllocationEvent;
  readonly free: AllocationEvent;
  /** The host waited: for data, for a device to finish (`rt.flush`), or for memory to become free. */
  readonly wait: {
    readonly device: DeviceId;
    readonly start: number;
    readonly ms: number;
    /** The line that waited, or '' if there is none outside the library. */
    readonly line: string;
    readonly why: 'read' | 'flush' | 'memory';
  };
  /** A tensor was collected that nobody had disposed. */
  readonly leak: { readonly shape: readonly number[]; readonly dtype: string; readonly line: string };
  /** The router chose a device for a program. */
  readonly route: Decision & { readonly op: Operation };
  /** The router was told how long work really took: `predictedMs` is what it expected. */
  readonly measured: {
    readonly op: Operation;
    readonly device: DeviceId;
    readonly predictedMs: number;
    readonly ms: number;
    /** The call as a whole, transfers and waits included; otherwise the kernels alone. */
    readonly whole: boolean;
  };
  /** A device's memory pressure changed its level. */
  readonly pressure: PressureEvent;
  /** Memory was cleaned up, by itself or on request. */
  readonly cleanup: CleanupReport;
  /** A tensor left a device for lack of room; `moved` bytes had to be read for that. It comes back when it is needed. */
  readonly spill: { readonly device: DeviceId; readonly bytes: number; readonly moved: number };
  /** Live memory grows without end. */
  readonly growth: LeakReport;
  /** A device is gone. `kept` tensors are elsewhere too, `gone` ones must be computed again or are lost. */
  readonly lost: {
    readonly device: DeviceId;
    readonly reason: string;
    readonly kept: number;
    readonly gone: number;
    readonly reopens: boolean;
  };
  /** A lost device was opened again and computes right. */
  readonly reborn: { readonly device: DeviceId; readonly ms: number; readonly attempts: number };
  /** A lost device will not be opened again. */
  readonly abandoned: { readonly device: DeviceId; readonly reason: string };
  /** Something failed and is tried again, after what `reaction` says. */
  readonly retry: Retried;
  /** Another device does the work of one that fails; told once, until it returns. */
  readonly fallback: { readonly from: DeviceId; readonly to: DeviceId; readonly reason: string };
  /** A device whose work another one did does it again. */
  readonly return: { readonly device: DeviceId; readonly probes: number };
  /** A listener or another callback of the user threw, or its promise failed. */
  readonly error: { readonly error: unknown; readonly where: string };
  /** A step of a recurrence that had been given up was read after all, and computed again. */
  readonly recompute: { readonly steps: number };
}

export type EventName = keyof Events;
export type Listener<K extends EventName> = (event: Events[K]) => unknown;

/** Gets events as they happen; `jsonLines` of gpuforge/studio makes one that writes lines. */
export interface EventLogger {
  (kind: EventName, event: Events[EventName]): unknown;
  /** The events it wants; default: all. Events that nobody wants cost nothing. */
  readonly kinds?: readonly EventName[] | undefined;
}

/** A table, so that the compiler sees an event that is missing here. */
const names: Readonly<Record<EventName, true>> = {
  compile: true,
  launch: true,
  replay: true,
  span: true,
  upload: true,
  download: true,
  move: true,
  alloc: true,
  free: true,
  wait: true,
  leak: true,
  route: true,
  measured: true,
  pressure: true,
  cleanup: true,
  spill: true,
  growth: true,
  lost: true,
  reborn: true,
  abandoned: true,
  retry: true,
  fallback: true,
  return: true,
  error: true,
  recompute: true,
};

/**
 * The names of all events, for those who want to hear everything.
 * @example eventNames.includes('launch') // → true
 */
export const eventNames: readonly EventName[] = Object.freeze(Object.keys(names) as EventName[]);

/** What computing causes, in the order in which it happens. */
const work: ReadonlySet<EventName> = new Set<EventName>([
  'compile',
  'launch',
  'replay',
  'upload',
  'download',
  'move',
  'alloc',
  'free',
  'wait',
  'route',
  'measured',
]);

export class Emitter extends EventBus<Events> {
  #id = 0;
  #held = 0;
  #telling = false;
  /** Events that are told later, in their order: what and which, by turns. Two lists, filled and told in turn: nothing is made for an event but itself. */
  #waiting: (EventName | Events[EventName])[] = [];
  #spare: (EventName | Events[EventName])[] = [];
  readonly #changed: ((kind: EventName) => void)[] = [];

  constructor() {
    super(eventNames, 'rt.on');
    this.whenHeard((kind) => {
      for (const told of this.#changed) told(kind);
    });
  }

  /** Whether anybody listens; check before building an event. */
  has(kind: EventName): boolean {
    return this.heard[kind];
  }

  /** A number that no other event has. */
  nextId(): number {
    return ++this.#id;
  }

  override emit<K extends EventName>(kind: K, event: Events[K]): void {
    if (this.#telling && work.has(kind)) return;
    if (this.#held > 0) this.#waiting.push(kind, event);
    else if (this.#telling) super.emit(kind, event);
    else {
      this.#telling = true;
      super.emit(kind, event);
      this.#tellWaiting();
    }
  }

  /** Events wait from here until `release` was called as often. */
  hold(): void {
    this.#held++;
  }

  release(): void {
    this.#held--;
    if (this.#held === 0 && this.#waiting.length > 0 && !this.#telling) this.#tellWaiting();
  }

  #tellWaiting(): void {
    this.#telling = true;
    while (this.#waiting.length > 0) {
      const list = this.#waiting;
      this.#waiting = this.#spare;
      for (let i = 0; i < list.length; i += 2) super.emit(list[i] as EventName, list[i + 1] as never);
      list.length = 0;
      this.#spare = list;
    }
    this.#telling = false;
  }

  /** Told when an event gets its first listener or loses its last one. */
  onHeard(told: (kind: EventName) => void): void {
    this.#changed.push(told);
  }
}
