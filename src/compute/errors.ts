// Errors of the facade: the runtime's own under the names of the contract, and two more.
//
// `told` fills in which call failed and on which device, and gives failures that no layer has a class for the one that
// the caller expects. It never hides an error.

import { type ErrorInfo, ForgeError, KernelError } from '../index.ts';

export { BatchOperationError as BatchError } from '../batch/failures.ts';
export {
  Aborted as AbortError,
  ArgumentError as InvalidArgumentError,
  DeviceLost as DeviceLostError,
  DeviceUnavailable as DeviceUnavailableError,
  DisposedError,
  type FailedAttempt as RecoveryStep,
  ForgeError as ComputeError,
  KernelError,
  OutOfMemory as OutOfMemoryError,
  RecoveryExhausted as RecoveryExhaustedError,
  TensorLost as TensorLostError,
} from '../index.ts';

/** A copy between host and device failed. */
export class TransferError extends ForgeError {
  static override readonly code: string = 'TRANSFER_FAILED';
  static override readonly retryable: boolean = true;
  override name = 'TransferError';
}

/** The class of failures that have none: errors of a driver. */
export type Otherwise = 'transfer' | 'kernel';

const otherwiseClasses: Readonly<Record<Otherwise, new (info: ErrorInfo) => ForgeError>> = {
  transfer: TransferError,
  kernel: KernelError,
};

/** An error with the call and the device; what is not the library's own (a user's exception) is returned as it is. */
export function told(error: unknown, operation: string, device: string | null, otherwise?: Otherwise): unknown {
  if (!(error instanceof ForgeError)) return error;
  if (error.constructor === ForgeError && otherwise) {
    const message = `${operation}: ${error.message.split('\n  fix: ')[0]}`;
    return new otherwiseClasses[otherwise]({ message, where: operation, device, fix: error.fix, cause: error });
  }
  error.operation = operation;
  error.device ??= device;
  return error;
}
