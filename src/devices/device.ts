// The device contract: everything the runtime asks of a device, and nothing else.
//
// A device owns bytes and runs kernels on them, in the order of the calls. It does not know tensors, graphs, pools or
// routing. Calls return as soon as the work is enqueued; only `read` waits. A device that computes on the calling thread
// (the CPU) may simply be done when a call returns.

import type { DType, TypedArray } from '../base/dtype.ts';
import type { Kernel, Routine, RoutineOp } from '../kernel/kernel.ts';
import type { AluOp } from '../kernel/ops.ts';

/** `cpu`, `webgpu:0`, `cuda:1`, `reference`. */
export type DeviceId = string;

export interface Capabilities {
  readonly name: string;
  /** Element types that can be stored and computed on. */
  readonly dtypes: ReadonlySet<DType>;
  /** Ops the renderer expresses by itself, per dtype. Anything missing is decomposed before `prepare` sees it. */
  readonly native: Readonly<Partial<Record<DType, ReadonlySet<AluOp>>>>;
  /** Functions of f32 that the device also has with relative errors of up to 2^-17: where a value is rounded to a half, that is enough. */
  readonly coarse?: ReadonlySet<AluOp>;
  /** Vector code branches around costly arms of choices: those that no element takes cost nothing. */
  readonly skipsArms?: boolean;
  readonly routines: ReadonlySet<RoutineOp>;
  /** The language of raw kernels; missing where there is none. */
  readonly raw?: 'ptx' | 'wgsl' | 'wasm';
  /** Whether matmul takes an epilogue: elementwise work on its result, applied before that is stored. */
  readonly matmulEpilogue: boolean;
  /** Where `rows` is among the routines: bytes of a row's operands that stay on the chip, and of a row that lies side by side with others. */
  readonly rows?: { readonly bytes: number; readonly columnBytes: number };
  /** Where `attention` is among the routines: the largest depth and width of heads in each type. They are multiples of 8. */
  readonly attention?: Readonly<Partial<Record<DType, number>>>;
  /** Sorts rows sooner if nobody asks for the positions (`Sort.valuesOnly`). */
  readonly valueSorts?: boolean;
  /** Where `topk` is among the routines: finds any number of neighbours anywhere, in rows of any length. */
  readonly selectsAnywhere?: boolean;
  /** Running sums of integers along rows take narrower integers as they are (`Scan.from`). */
  readonly widensScans?: boolean;
  /** A launch costs next to nothing: work is not worth copying together to save some. */
  readonly cheapLaunches?: boolean;
  /** Most buffers one launch can bind, inputs and outputs together. */
  readonly maxBuffers: number;
  /** Largest single buffer, in bytes. */
  readonly maxBufferBytes: number;
  /** `readSync` exists. */
  readonly syncRead: boolean;
  /** Works in this process's own memory: it cannot be lost. */
  readonly immortal?: boolean;
  /** Computes on the host's own processor. To routing, every other device is a GPU. */
  readonly host?: boolean;
  /** Anything else worth showing, for people: driver, architecture, threads, features. */
  readonly details: Readonly<Record<string, string | number | boolean>>;
}

/** Bytes on a device. Opaque: only its own device looks inside. */
export interface DeviceBuffer {
  readonly bytes: number;
  /** The garbage collector frees it by itself: nobody has to release it, and whoever does frees it earlier (small buffers of an immortal device). */
  readonly collected: boolean;
}

/** A kernel or routine made ready for one device. Lives until the device closes or its cache drops it. */
export interface Program {
  readonly name: string;
  /** What was generated, for `explain` and error messages: WAT-like text, WGSL, PTX. */
  readonly source: string;
  /** It came from a cache that outlives the process, instead of being compiled. */
  readonly cached?: boolean;
}

export interface Launch {
  readonly program: Program;
  /** Index into the bindings of a replay, inputs then outputs. */
  readonly buffers: readonly number[];
  /** Index into the scalars of a replay. */
  readonly scalars: readonly number[];
}

/** Recorded launches that can be replayed with other buffers and scalars. */
export interface Recording {
  /** `id`: measure it as one span, see `Device.spans`. */
  replay(bindings: readonly DeviceBuffer[], scalars: readonly number[], id?: number): void;
  /**
   * Fills one binding with bytes, replays, waits, and returns the bytes of another, as one piece of work. They are good until the next
   * call. Missing where it would not be faster than `write`, `replay` and `readSync`.
   */
  exchange?(
    bindings: readonly DeviceBuffer[],
    scalars: readonly number[],
    input: number,
    bytes: Uint8Array,
    output: number,
  ): Uint8Array;
  dispose(): void;
}

/** A point on the device's timeline: everything enqueued before it. */
export interface Mark {
  done(): boolean;
  whenDone(): Promise<void>;
  /** Device time in ms between an earlier mark and this one, once both are done; null where it cannot be measured. */
  since(earlier: Mark): number | null;
}

/** When a device was busy with a launch or a replay, in milliseconds of the device's own clock. */
export interface Span {
  readonly id: number;
  readonly start: number;
  readonly end: number;
  /** All launches that were measured together, `id` among them; missing if it is only that one. */
  readonly ids?: readonly number[];
  /** The clock moves in steps of so many microseconds; missing if they are too small to matter. */
  readonly quantumUs?: number;
  /** The n-th worker thread of the device at the same launch, counted from 1; missing for the launch itself. */
  readonly lane?: number;
}

/** The device's clock showed `device` when the host's (`performance.now()`) showed `host`, within so many microseconds. */
export interface ClockReading {
  readonly device: number;
  readonly host: number;
  readonly errorUs: number;
}

/** Measured or absent, never invented. */
export interface Telemetry {
  /** Share of the time in which the device was busy, from 0 to 1. */
  readonly utilization?: number;
  readonly memoryUsed?: number;
  readonly memoryTotal?: number;
  readonly temperature?: number;
  readonly power?: number;
  readonly clocks?: Readonly<Record<string, number>>;
  readonly processes?: readonly { readonly pid: number; readonly memory: number }[];
}

export interface DeviceLoss {
  readonly reason: string;
  readonly cause?: unknown;
}

export interface Device {
  readonly id: DeviceId;
  readonly caps: Capabilities;
  /** Throws OutOfMemory with nothing half-done. `bytes` may be 0. Contents are undefined. */
  allocate(bytes: number): DeviceBuffer;
  /** Safe while work on the buffer is enqueued: the bytes are reused only after it. */
  release(buffer: DeviceBuffer): void;
  /** Copies from the host; `bytes` may be changed by the caller as soon as this returns. */
  write(dst: DeviceBuffer, bytes: Uint8Array, offset?: number): void;
  /**
   * A fresh copy of the bytes, after all work enqueued before. A device that can fills `into`, which is as long, and returns it instead.
   */
  read(src: DeviceBuffer, offset?: number, length?: number, into?: Uint8Array): Promise<Uint8Array>;
  readSync?(src: DeviceBuffer, offset?: number, length?: number): Uint8Array;
  /**
   * Copies a whole buffer of another device into one of this device, as large, after all work enqueued on both and without the
   * host waiting. Only from devices that `reaches` says yes to; from others the bytes go through the host.
   */
  copyFrom?(from: Device, src: DeviceBuffer, dst: DeviceBuffer): void;
  /** Whether there is a direct way from another device to this one. */
  reaches?(from: Device): boolean;
  /** Takes back bytes that a read gave and that nobody looks at any more. Where it is missing, the garbage collector is soon enough. */
  returnRead?(bytes: Uint8Array): void;
  /** As `readSync`, but straight into an array of the type that stores `type` (f16 and bf16 as 16 bits). */
  readTyped?(src: DeviceBuffer, type: DType, first?: number, count?: number): TypedArray;
  /** Cached by structure. Errors carry the rendered source. */
  prepare(work: Kernel | Routine): Program;
  /** Buffers: inputs, then outputs, as the kernel or routine lists them. Enqueues; an error may surface at the next read. */
  launch(program: Program, buffers: readonly DeviceBuffer[], scalars: readonly number[], id?: number): void;
  record?(steps: readonly Launch[]): Recording;
  /** Host memory from which transfers are fastest; `write` recognises it. Where it is missing, any memory is as good. */
  pinned?(bytes: number): ArrayBuffer;
  /** Whether bytes lie in such memory. */
  isPinned?(bytes: Uint8Array): boolean;
  /** A point on the timeline. With `timed` false only its end is asked for, which can be known sooner; `since` is null then. */
  mark(timed?: boolean): Mark;
  /**
   * Measures launches and replays that are given an `id`, from now on or no more; 'detailed' each by itself, where several are
   * otherwise measured together. Missing where the device has no clock.
   */
  spans?(on: boolean | 'detailed'): void;
  /** What was measured and is known by now, each span once. */
  takeSpans?(): readonly Span[];
  /** Compares the clock of the spans with the host's. Only while spans are on. */
  clock?(): Promise<ClockReading>;
  /** `whole`: the figures are the device's own, with what other processes use; else they speak of what we may use. */
  memory(): { readonly total: number; readonly free: number; readonly whole?: boolean };
  /** What the device's own pool holds: taken from the system, handed out, and the difference, held for reuse. */
  pool?(): { readonly reserved: number; readonly inUse: number; readonly idle: number };
  telemetry?(): Telemetry;
  /** Gives back to the system what is held only for reuse. */
  trim(): void;
  readonly lost: Promise<DeviceLoss>;
  /** Opens the same device anew after it was lost. Missing where a lost device stays lost as long as the process lives. */
  reopen?(): Promise<Device>;
  close(): Promise<void>;
}
