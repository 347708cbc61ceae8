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

export abstract class ComputeError extends forge.ForgeError {
  abstract readonly retryable: boolean;
  readonly operation: string;
  readonly device: string | null;
  readonly hint: string;
  attempts: number;

  constructor(code: string, info: ComputeErrorInfo) {
    super({ code, message: info.message, fix: info.hint, where: info.operation, cause: info.cause });
    this.operation = info.operation;
    this.device = info.device ?? null;
    this.hint = info.hint;
    this.attempts = info.attempts ?? 1;
  }
}

/** A bad shape, type or option. */
export class InvalidArgumentError extends ComputeError {
  readonly retryable = false;
  constructor(info: ComputeErrorInfo) {
    super('INVALID_ARGUMENT', info);
  }
}

/** An object used after its disposal. */
export class DisposedError extends ComputeError {
  readonly retryable = false;
  constructor(info: ComputeErrorInfo) {
    super('DISPOSED', info);
  }
}

/** No device meets the request; `rejected` tells why each one does not. */
export class DeviceUnavailableError extends ComputeError {
  readonly retryable = false;
  readonly rejected: readonly { readonly device: string; readonly reason: string }[];
  constructor(info: ComputeErrorInfo & { readonly rejected?: DeviceUnavailableError['rejected'] | undefined }) {
    super('DEVICE_UNAVAILABLE', info);
    this.rejected = info.rejected ?? [];
  }
}

/** The device disappeared or was poisoned. Trying again can help after a reset. */
export class DeviceLostError extends ComputeError {
  readonly retryable = true;
  constructor(info: ComputeErrorInfo) {
    super('DEVICE_LOST', info);
  }
}

/** An allocation was refused. Trying again can help after memory was given back, or with smaller pieces. */
export class OutOfMemoryError extends ComputeError {
  readonly retryable = true;
  readonly requested: number | null;
  readonly available: number | null;
  constructor(info: ComputeErrorInfo & { readonly requested?: number | null; readonly available?: number | null }) {
    super('OUT_OF_MEMORY', info);
    this.requested = info.requested ?? null;
    this.available = info.available ?? null;
  }
}

/** A copy between host and device failed. */
export class TransferError extends ComputeError {
  readonly retryable = true;
  constructor(info: ComputeErrorInfo) {
    super('TRANSFER_FAILED', info);
  }
}

/** A computation failed on the device. */
export class KernelError extends ComputeError {
  readonly retryable = true;
  constructor(info: ComputeErrorInfo) {
    super('KERNEL_FAILED', info);
  }
}

/** The data did not survive a reset. */
export class TensorLostError extends ComputeError {
  readonly retryable = false;
  constructor(info: ComputeErrorInfo) {
    super('TENSOR_LOST', info);
  }
}

/** One item of a batch failed; the results made before it were freed. */
export class BatchError extends ComputeError {
  readonly retryable = false;
  readonly index: number;
  readonly completed: number;
  constructor(info: ComputeErrorInfo & { readonly index: number; readonly completed: number }) {
    super('BATCH_FAILED', info);
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
  readonly retryable = false;
  readonly history: readonly RecoveryStep[];
  constructor(info: ComputeErrorInfo & { readonly history: readonly RecoveryStep[] }) {
    super('RECOVERY_EXHAUSTED', info);
    this.history = info.history;
  }
}

/** The caller aborted. */
export class AbortError extends ComputeError {
  readonly retryable = false;
  constructor(info: ComputeErrorInfo) {
    super('ABORTED', info);
  }
}

export interface ErrorContext {
  readonly operation: string;
  readonly device: string | null;
  readonly attempts?: number | undefined;
  /** The class of failures that no layer below has a class for; without it they are passed on as they are. */
  readonly otherwise?: 'transfer' | 'kernel' | undefined;
}

type Converter = (error: forge.ForgeError, info: ComputeErrorInfo) => ComputeError;

/** By `code`, for errors whose class is shared by several reactions or that come from layers loaded on need. */
const byCode: Readonly<Record<string, Converter>> = {
  BUFFER_TOO_LARGE: (_e, info) => new OutOfMemoryError(info),
  TENSOR_LOST: (_e, info) => new TensorLostError(info),
  RECOVERY_EXHAUSTED: (_e, info) => new RecoveryExhaustedError({ ...info, history: [] }),
  ABORTED: (_e, info) => new AbortError(info),
  DEADLINE_EXCEEDED: (_e, info) => new DeviceLostError(info),
  TIMEOUT: (_e, info) => new DeviceLostError(info),
};

const byClass: readonly (readonly [new (...args: never[]) => forge.ForgeError, Converter])[] = [
  [
    forge.OutOfMemory,
    (e, info) => {
      const { requested, available } = e as forge.OutOfMemory;
      return new OutOfMemoryError({ ...info, requested, available });
    },
  ],
  [forge.ShapeError, (_e, info) => new InvalidArgumentError(info)],
  [forge.DTypeError, (_e, info) => new InvalidArgumentError(info)],
  [forge.ArgumentError, (_e, info) => new InvalidArgumentError(info)],
  [forge.IndexError, (_e, info) => new InvalidArgumentError(info)],
  [forge.DisposedError, (_e, info) => new DisposedError(info)],
  [forge.DeviceLost, (_e, info) => new DeviceLostError(info)],
  [forge.DeviceUnavailable, (_e, info) => new DeviceUnavailableError(info)],
  [forge.KernelError, (_e, info) => new KernelError(info)],
];

const fallbacks: Readonly<Record<'transfer' | 'kernel', (info: ComputeErrorInfo) => ComputeError>> = {
  transfer: (info) => new TransferError(info),
  kernel: (info) => new KernelError(info),
};

/** The facade's error for one from below; what no layer knows (a user's own exception) is returned as it is. */
export function toComputeError(error: unknown, context: ErrorContext): unknown {
  if (error instanceof ComputeError) return error;
  const { operation, device, attempts } = context;
  const info = (message: string, hint: string): ComputeErrorInfo => ({
    message: `${operation}${device ? ` (${device})` : ''}: ${message}`,
    operation,
    device,
    attempts,
    hint,
    cause: error,
  });
  if (error instanceof forge.ForgeError) {
    const text = info(error.message.split('\n  fix: ')[0]!, error.fix);
    const convert = byCode[error.code] ?? byClass.find(([Class]) => error instanceof Class)?.[1];
    if (convert) return convert(error, text);
    return context.otherwise ? fallbacks[context.otherwise](text) : error;
  }
  if (error instanceof Error && error.name === 'AbortError')
    return new AbortError(info('aborted', 'The caller asked for it.'));
  if (!context.otherwise) return error;
  const message = error instanceof Error ? error.message : String(error);
  return fallbacks[context.otherwise](info(message, 'The cause has the details.'));
}

export function throwIfAborted(signal: AbortSignal | undefined, operation: string): void {
  if (!signal?.aborted) return;
  throw new AbortError({
    message: `${operation}: aborted by the caller`,
    operation,
    hint: 'Nothing is left behind; call again when it is wanted.',
    cause: signal.reason,
  });
}
