// Errors of recovery itself: what is said when retrying, waiting or restoring came to its end.

import { type ErrorInfo, ForgeError } from '../../errors.ts';

/** A fault that may well be gone at the next attempt. Nothing was changed. */
export class TransientError extends ForgeError {
  static override readonly code: string = 'TRANSIENT';
  static override readonly retryable: boolean = true;
  override name = 'TransientError';
}

/** The values of a tensor were on a device that was lost, and nothing was kept from which they could be made again. */
export class TensorLost extends ForgeError {
  static override readonly code: string = 'TENSOR_LOST';
  override name = 'TensorLost';
}

/** A wait took longer than its limit. What was waited for may still be running. */
export class DeadlineExceeded extends ForgeError {
  static override readonly code: string = 'DEADLINE_EXCEEDED';
  static override readonly retryable: boolean = true;
  override name = 'DeadlineExceeded';
  readonly limitMs: number;

  constructor(info: ErrorInfo & { readonly limitMs: number }) {
    super(info);
    this.limitMs = info.limitMs;
  }
}

/** The caller's AbortSignal ended a wait. `cause` is the signal's reason. */
export class Aborted extends ForgeError {
  static override readonly code: string = 'ABORTED';
  override name = 'Aborted';
}

/** One attempt that failed, as RecoveryExhausted lists them. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly device: string | null;
  readonly error: unknown;
  /** What was done about it before the next attempt. */
  readonly reaction: string;
  /** Milliseconds on the clock of the retry, for ordering and durations only. */
  readonly at: number;
  /** The wait after it; 0 after the last. */
  readonly waitedMs: number;
}

/** Every attempt that the limits allow has failed. `cause` is the last error, `history` has all of them. */
export class RecoveryExhausted extends ForgeError {
  static override readonly code: string = 'RECOVERY_EXHAUSTED';
  override name = 'RecoveryExhausted';
  readonly history: readonly FailedAttempt[];

  constructor(info: ErrorInfo & { readonly history: readonly FailedAttempt[] }) {
    super({ attempts: info.history.length, ...info });
    this.history = info.history;
  }
}

/** @internal What ends work whose signal was triggered. A reason that is an error of the library says itself why. */
export function aborted(what: string, signal: AbortSignal | undefined): ForgeError {
  const reason: unknown = signal?.reason;
  if (reason instanceof ForgeError) return reason;
  return new Aborted({
    code: 'ABORTED',
    message: `${what}: aborted by the caller`,
    fix: 'Nothing is wrong: the AbortSignal that was passed in was triggered.',
    where: what,
    cause: reason,
  });
}

/** @internal */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted) throw aborted(what, signal);
}

/** @internal */
export function deadlineExceeded(what: string, limitMs: number): DeadlineExceeded {
  return new DeadlineExceeded({
    code: 'DEADLINE_EXCEEDED',
    message: `${what}: no answer within ${limitMs} ms`,
    fix: 'Check whether the device still responds; raise recovery.timeoutMs if the work really takes longer.',
    where: what,
    limitMs,
  });
}
