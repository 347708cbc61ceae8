// Bounded retry: a loop with a counter, with a growing wait between attempts.
//
// What an error allows is a table (`reactionTo`): most errors are never retried, a transient one up to the limit, a failed
// kernel once. Out of memory and a lost device are retried only where the caller says how to make room or reset, and a
// reset happens at most once per call. When the limits are reached, RecoveryExhausted carries every attempt.

import {
  ArgumentError,
  DeviceLost,
  DeviceUnavailable,
  DisposedError,
  DTypeError,
  ForgeError,
  FormatError,
  IndexError,
  KernelError,
  OutOfMemory,
  ShapeError,
} from '../../errors.ts';
import { type Clock, sleep, systemClock } from './clock.ts';
import {
  Aborted,
  aborted,
  DeadlineExceeded,
  type FailedAttempt,
  RecoveryExhausted,
  TensorLost,
  TransientError,
} from './errors.ts';

/** What may help against an error: nothing, another attempt (any number or one), more room, or a new device. */
export type Reaction = 'never' | 'again' | 'once' | 'make-room' | 'reset';

const never = [
  ShapeError,
  DTypeError,
  ArgumentError,
  DisposedError,
  IndexError,
  FormatError,
  DeviceUnavailable,
  TensorLost,
  Aborted,
  RecoveryExhausted,
];

interface Row {
  readonly applies: (error: ForgeError) => boolean;
  readonly reaction: Reaction;
}

const reactions: readonly Row[] = [
  { applies: (e) => never.some((c) => e instanceof c), reaction: 'never' },
  { applies: (e) => e instanceof OutOfMemory, reaction: 'make-room' },
  // A device that does not answer is as good as lost.
  { applies: (e) => e instanceof DeviceLost || e instanceof DeadlineExceeded, reaction: 'reset' },
  { applies: (e) => e instanceof KernelError, reaction: 'once' },
  { applies: (e) => e instanceof TransientError, reaction: 'again' },
  // Driver errors that did not poison the context, and batches the GPU refused as a whole.
  { applies: (e) => e.code.startsWith('CUDA_ERROR') || e.code === 'GPU_ERROR', reaction: 'again' },
];

/** What may help against this error. Errors that are not the library's own are bugs, and never retried. */
export function reactionTo(error: unknown): Reaction {
  if (!(error instanceof ForgeError)) return 'never';
  return reactions.find((r) => r.applies(error))?.reaction ?? 'never';
}

export interface RetryOptions {
  /** Names the work in errors. */
  readonly what: string;
  /** Attempts in all. Default 3. */
  readonly attempts?: number | undefined;
  /** Waits after the first, second, … attempt; the last one repeats. Default 50 and 200. */
  readonly backoffMs?: readonly number[] | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  /** Makes room, or says false: then there is no use in another attempt. */
  readonly makeRoom?: ((error: ForgeError) => boolean) | undefined;
  /** Called before each further attempt. */
  readonly onRetry?: ((error: ForgeError, attempt: number, waitMs: number) => void) | undefined;
}

export interface AsyncRetryOptions extends Omit<RetryOptions, 'makeRoom'> {
  readonly makeRoom?: ((error: ForgeError) => boolean | Promise<boolean>) | undefined;
  /** Brings the device back, or says false. */
  readonly reset?: ((error: ForgeError) => boolean | Promise<boolean>) | undefined;
}

export const defaultAttempts = 3;
export const defaultBackoffMs: readonly number[] = [50, 200];

/** The counter of one call: which failures may be followed by another attempt, and after what wait. */
class Attempts {
  readonly #options: RetryOptions | AsyncRetryOptions;
  readonly #clock: Clock;
  readonly #failed: FailedAttempt[] = [];
  #kernels = 0;
  #resets = 0;

  constructor(options: RetryOptions | AsyncRetryOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** What to do before the next attempt; throws if there is none. */
  failed(error: unknown, canReset: boolean): { readonly reaction: Reaction; readonly waitMs: number } {
    const { attempts = defaultAttempts, backoffMs = defaultBackoffMs, makeRoom } = this.#options;
    const reaction = reactionTo(error);
    const allowed: Readonly<Record<Reaction, () => boolean>> = {
      never: () => false,
      again: () => true,
      once: () => this.#kernels++ === 0,
      'make-room': () => makeRoom !== undefined,
      reset: () => canReset && this.#resets++ === 0,
    };
    const attempt = this.#failed.length + 1;
    const may = allowed[reaction]();
    const waitMs = may && attempt < attempts ? (backoffMs[Math.min(attempt, backoffMs.length) - 1] ?? 0) : 0;
    this.#failed.push({ attempt, error, at: this.#clock.now(), waitedMs: waitMs });
    // What cannot be retried here is passed on as it is: a layer above may know what to do with it.
    if (!may && reaction !== 'once') throw error;
    if (!may || attempt >= attempts) throw this.exhausted();
    this.#options.onRetry?.(error as ForgeError, attempt + 1, waitMs);
    return { reaction, waitMs };
  }

  exhausted(): ForgeError {
    const { what } = this.#options;
    const last = this.#failed.at(-1)!.error as ForgeError;
    if (this.#failed.length === 1) return last;
    return new RecoveryExhausted({
      code: 'RECOVERY_EXHAUSTED',
      message: `${what}: failed ${this.#failed.length} times, the last time with: ${last.message.split('\n')[0]}`,
      fix: last.fix,
      where: what,
      attempts: this.#failed,
      cause: last,
    });
  }
}

/** Runs `work` until it succeeds or the limits are reached. */
export async function retry<T>(
  work: (attempt: number) => T | Promise<T>,
  options: AsyncRetryOptions,
): Promise<Awaited<T>> {
  const { what, signal, clock = systemClock } = options;
  const attempts = new Attempts(options, clock);
  for (let attempt = 1; ; attempt++) {
    if (signal?.aborted) throw aborted(what, signal);
    try {
      return await work(attempt);
    } catch (error) {
      const { reaction, waitMs } = attempts.failed(error, options.reset !== undefined);
      const helped =
        reaction === 'make-room'
          ? await options.makeRoom!(error as ForgeError)
          : reaction === 'reset'
            ? await options.reset!(error as ForgeError)
            : true;
      if (!helped) throw attempts.exhausted();
      // Room that was made, and a device that is back, need no waiting for.
      if (reaction === 'again' || reaction === 'once') await sleep(clock, waitMs, signal, () => aborted(what, signal!));
    }
  }
}

/** As `retry`, for synchronous calls: it does not wait, and cannot reset a device. */
export function retrySync<T>(work: (attempt: number) => T, options: RetryOptions): T {
  const attempts = new Attempts({ ...options, backoffMs: [] }, options.clock ?? systemClock);
  for (let attempt = 1; ; attempt++) {
    try {
      return work(attempt);
    } catch (error) {
      const { reaction } = attempts.failed(error, false);
      if (reaction === 'make-room' && !options.makeRoom!(error as ForgeError)) throw attempts.exhausted();
    }
  }
}
