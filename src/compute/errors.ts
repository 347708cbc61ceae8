// Errors of the facade: one class per reaction, all of them ForgeErrors.
//
// `retryable` says whether trying again can help once something was done about it: a reset, memory given back, another
// device. `attempts` counts what was tried before the error was given up on. `toComputeError` gives the errors of the
// layers below their class here and keeps them as `cause`; it never hides one.

import * as forge from '../errors.ts';

export interface ComputeErrorInfo {
  readonly message: string;
  readonly operation: string;
  readonly hint: string;
  readonly device?: string | null | undefined;
  readonly attempts?: number | undefined;
  readonly cause?: unknown;
}

interface ErrorClass {
  readonly code: string;
  readonly retryable: boolean;
}

/** `code` and `retryable` are the class's. */
export abstract class ComputeError extends forge.ForgeError {
  static readonly code: string = 'COMPUTE';
  static readonly retryable: boolean = false;
  readonly retryable: boolean;
  readonly operation: string;
  readonly device: string | null;
  readonly hint: string;
  attempts: number;

  constructor(info: ComputeErrorInfo) {
    const { code, retryable } = new.target as ErrorClass;
    super({ code, message: info.message, fix: info.hint, where: info.operation, cause: info.cause });
    this.retryable = retryable;
    this.operation = info.operation;
    this.device = info.device ?? null;
    this.hint = info.hint;
    this.attempts = info.attempts ?? 1;
  }
}

/** A bad shape, type or option. */
export class InvalidArgumentError extends ComputeError {
  override name = 'InvalidArgumentError';
  static override readonly code = 'INVALID_ARGUMENT';
}

/** An object used after its disposal. */
export class DisposedError extends ComputeError {
  override name = 'DisposedError';
  static override readonly code = 'DISPOSED';
}

/** No device meets the request; `rejected` tells why each one does not. */
export class DeviceUnavailableError extends ComputeError {
  override name = 'DeviceUnavailableError';
  static override readonly code = 'DEVICE_UNAVAILABLE';
  readonly rejected: readonly { readonly device: string; readonly reason: string }[];

  constructor(info: ComputeErrorInfo & { readonly rejected?: DeviceUnavailableError['rejected'] | undefined }) {
    super(info);
    this.rejected = info.rejected ?? [];
  }
}

/** The device disappeared or was poisoned. Trying again can help after a reset. */
export class DeviceLostError extends ComputeError {
  override name = 'DeviceLostError';
  static override readonly code = 'DEVICE_LOST';
  static override readonly retryable = true;
}

/** An allocation was refused. Trying again can help after memory was given back, or with smaller pieces. */
export class OutOfMemoryError extends ComputeError {
  override name = 'OutOfMemoryError';
  static override readonly code = 'OUT_OF_MEMORY';
  static override readonly retryable = true;
  readonly requested: number | null;
  readonly available: number | null;

  constructor(info: ComputeErrorInfo & { readonly requested?: number | null; readonly available?: number | null }) {
    super(info);
    this.requested = info.requested ?? null;
    this.available = info.available ?? null;
  }
}

/** A copy between host and device failed. */
export class TransferError extends ComputeError {
  override name = 'TransferError';
  static override readonly code = 'TRANSFER_FAILED';
  static override readonly retryable = true;
}

/** A computation failed on the device. */
export class KernelError extends ComputeError {
  override name = 'KernelError';
  static override readonly code = 'KERNEL_FAILED';
  static override readonly retryable = true;
}

/** The data did not survive a reset. */
export class TensorLostError extends ComputeError {
  override name = 'TensorLostError';
  static override readonly code = 'TENSOR_LOST';
}

/** One item of a batch failed; the results made before it were freed. */
export class BatchError extends ComputeError {
  override name = 'BatchError';
  static override readonly code = 'BATCH_FAILED';
  readonly index: number;
  readonly completed: number;

  constructor(info: ComputeErrorInfo & { readonly index: number; readonly completed: number }) {
    super(info);
    this.index = info.index;
    this.completed = info.completed;
  }
}

/** One step of a recovery that did not succeed. */
export interface RecoveryStep {
  readonly attempt: number;
  readonly device: string | null;
  readonly error: ComputeError;
  /** What was done about it before the next attempt. */
  readonly reaction: string;
}

/** The limits of recovery were reached; `history` has every step. */
export class RecoveryExhaustedError extends ComputeError {
  override name = 'RecoveryExhaustedError';
  static override readonly code = 'RECOVERY_EXHAUSTED';
  readonly history: readonly RecoveryStep[];

  constructor(info: ComputeErrorInfo & { readonly history?: readonly RecoveryStep[] | undefined }) {
    super(info);
    this.history = info.history ?? [];
  }
}

/** The caller aborted. */
export class AbortError extends ComputeError {
  override name = 'AbortError';
  static override readonly code = 'ABORTED';
}

export interface ErrorContext {
  readonly operation: string;
  readonly device: string | null;
  readonly attempts?: number | undefined;
  /** The class of failures that no layer below has a class for; without it they are passed on as they are. */
  readonly otherwise?: 'transfer' | 'kernel' | undefined;
}

type Target = new (info: ComputeErrorInfo) => ComputeError;

/** By `code`, for errors whose class is shared by several reactions or that come from layers loaded on need. */
const byCode: Readonly<Record<string, Target>> = {
  BUFFER_TOO_LARGE: OutOfMemoryError,
  TENSOR_LOST: TensorLostError,
  RECOVERY_EXHAUSTED: RecoveryExhaustedError,
  ABORTED: AbortError,
  DEADLINE_EXCEEDED: DeviceLostError,
  TIMEOUT: DeviceLostError,
};

const byClass: readonly (readonly [new (...args: never[]) => forge.ForgeError, Target])[] = [
  [forge.OutOfMemory, OutOfMemoryError],
  [forge.ShapeError, InvalidArgumentError],
  [forge.DTypeError, InvalidArgumentError],
  [forge.ArgumentError, InvalidArgumentError],
  [forge.IndexError, InvalidArgumentError],
  [forge.DisposedError, DisposedError],
  [forge.DeviceLost, DeviceLostError],
  [forge.DeviceUnavailable, DeviceUnavailableError],
  [forge.KernelError, KernelError],
];

const fallbacks: Readonly<Record<'transfer' | 'kernel', Target>> = { transfer: TransferError, kernel: KernelError };

/** The facade's error for one from below; what no layer knows (a user's own exception) is returned as it is. */
export function toComputeError(error: unknown, context: ErrorContext): unknown {
  if (error instanceof ComputeError) return error;
  const { operation, device, attempts } = context;
  const make = (Class: Target | undefined, text: string, hint: string): unknown => {
    if (!Class) return error;
    const message = `${operation}${device ? ` (${device})` : ''}: ${text}`;
    const sizes = error instanceof forge.OutOfMemory ? { requested: error.requested, available: error.available } : {};
    return new Class({ message, operation, device, attempts, hint, cause: error, ...sizes });
  };
  const otherwise = context.otherwise && fallbacks[context.otherwise];
  if (error instanceof forge.ForgeError) {
    const Class = byCode[error.code] ?? byClass.find(([Below]) => error instanceof Below)?.[1] ?? otherwise;
    return make(Class, error.message.split('\n  fix: ')[0]!, error.fix);
  }
  if (error instanceof Error && error.name === 'AbortError')
    return make(AbortError, 'aborted', 'The caller asked for it.');
  return make(otherwise, error instanceof Error ? error.message : String(error), 'The cause has the details.');
}

export const deviceLost = (operation: string, device: string, reason: string): DeviceLostError =>
  new DeviceLostError({
    message: `${operation} (${device}): the device is gone: ${reason}`,
    operation,
    device,
    hint: 'The operation can be tried again after a reset, which the facade does by itself within its limits.',
  });

export const aborted = (operation: string, signal: AbortSignal | undefined): AbortError =>
  new AbortError({
    message: `${operation}: aborted by the caller`,
    operation,
    hint: 'Nothing is left behind; call again when it is wanted.',
    cause: signal?.reason,
  });

export function throwIfAborted(signal: AbortSignal | undefined, operation: string): void {
  if (signal?.aborted) throw aborted(operation, signal);
}
