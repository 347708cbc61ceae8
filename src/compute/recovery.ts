// Trying again, within limits. A loop with a counter, never a call of itself: at most `attempts` on one device with waits in
// between, at most one reset per call, then the next device if that is allowed, then an error with the whole history.

import { sleep } from '../governor/recovery/clock.ts';
import type { DeviceManager } from './device-manager.ts';
import {
  aborted,
  ComputeError,
  DeviceLostError,
  type ErrorContext,
  KernelError,
  OutOfMemoryError,
  RecoveryExhaustedError,
  type RecoveryStep,
  TransferError,
  throwIfAborted,
  toComputeError,
} from './errors.ts';
import type { Station } from './station.ts';

export interface RecoveryOptions {
  /** Attempts on one device, the first included. Default 3. */
  readonly attempts?: number | undefined;
  /** Waits before the second, third … attempt, in ms; the last one repeats. Default 50 and 200. */
  readonly waits?: readonly number[] | undefined;
  /** Whether work may go on on another device when one fails for good. Default true. */
  readonly fallback?: boolean | undefined;
}

export interface Attempted {
  readonly operation: string;
  readonly signal?: AbortSignal | undefined;
  /** The class of failures that have none. */
  readonly otherwise?: ErrorContext['otherwise'];
  /** Gives memory back before an attempt is repeated; false if that cannot help any more. */
  readonly reclaim?: ((error: OutOfMemoryError, attempt: number) => boolean) | undefined;
  /** Whether lack of memory may move the work to another device; false where the caller can ask for less. Default true. */
  readonly moveForMemory?: boolean | undefined;
}

/** A value, or a promise of one: what is known at once costs no turn of the queue. */
export type Maybe<T> = T | Promise<T>;

/** What is done at once, or thrown, as a promise too; without the turns of the queue that an async function adds. */
export function promised<T>(work: () => Maybe<T>): Promise<T> {
  try {
    const done = work();
    return done instanceof Promise ? done : Promise.resolve(done);
  } catch (e) {
    return Promise.reject(e);
  }
}

type Reaction = 'reset' | 'reclaim' | 'wait' | 'move';

/** An attempt that failed: where, and how often that device had been opened again before. */
interface Failed {
  readonly station: Station;
  readonly births: number;
  readonly error: unknown;
}

export class Recovery {
  readonly #devices: DeviceManager;
  readonly #checkOpen: (operation: string) => void;
  readonly #attempts: number;
  readonly #waits: readonly number[];
  readonly #fallback: boolean;

  constructor(
    devices: DeviceManager,
    { attempts = 3, waits = [50, 200], fallback = true }: RecoveryOptions,
    checkOpen: (operation: string) => void,
  ) {
    this.#devices = devices;
    this.#checkOpen = checkOpen;
    this.#attempts = attempts;
    this.#waits = waits;
    this.#fallback = fallback;
  }

  /**
   * Runs work on the active station, again where that can help. What is in flight fails when the station ends. What is done at
   * once is returned at once: a promise costs more than many an operation.
   */
  run<T>(about: Attempted, work: (station: Station) => Maybe<T>): Maybe<T> {
    const { operation, signal } = about;
    this.#checkOpen(operation);
    throwIfAborted(signal, operation);
    const station = this.#devices.current;
    if (!station) return this.#attempt(about, work, null);
    const { births } = station;
    const failed = (error: unknown): Promise<T> => this.#attempt(about, work, { station, births, error });
    let done: Maybe<T>;
    try {
      done = work(station);
    } catch (error) {
      return failed(error);
    }
    return done instanceof Promise ? station.guard(done, failed) : done;
  }

  /** The loop of attempts, from the first one on or after it. */
  async #attempt<T>(about: Attempted, work: (station: Station) => Maybe<T>, first: Failed | null): Promise<T> {
    const { operation, signal } = about;
    const history: RecoveryStep[] = [];
    let resets = 0;
    for (let attempt = 1, here = 1; ; attempt++, here++) {
      const outcome = attempt === 1 && first ? first : await this.#once(about, work);
      if ('value' in outcome) return outcome.value;
      const { station, births } = outcome;
      let error = toComputeError(outcome.error, {
        operation,
        device: station.id,
        attempts: attempt,
        otherwise: about.otherwise,
      });
      // A station that has ended explains whatever went wrong on it.
      if (!station.alive && error instanceof ComputeError && error.retryable) error = station.ended;
      if (!(error instanceof ComputeError) || !error.retryable) throw error;
      // The runtime hears of a loss within this turn, and may have the device open again by then.
      if (error instanceof DeviceLostError) await this.#devices.clock.turn();
      error.attempts = attempt;
      const reopened = station.rebirth !== null || station.births !== births;
      const reaction = this.#reaction(error, station, here, resets, reopened, about);
      const step = { attempt, device: station.id, error, reaction: reaction ?? 'give up' };
      history.push(step);
      if (!reaction) throw exhausted(about.operation, history, error);
      this.#devices.signals.emit('retry', { operation, attempt, error: error.message.split('\n')[0]!, reaction });
      if (reaction === 'move') {
        const moved = this.#fallback && (await this.#devices.fallBack(station, error.message.split('\n')[0]!));
        if (!moved) throw exhausted(operation, history, error);
        here = 0;
        continue;
      }
      if (reaction === 'reset') {
        resets++;
        await this.#devices.reset(station, error.message.split('\n')[0]!);
      }
      const waits = this.#waits;
      const ms = waits[Math.min(here, waits.length) - 1] ?? 0;
      await sleep(this.#devices.clock, ms, signal, () => aborted(operation, signal));
    }
  }

  async #once<T>(about: Attempted, work: (station: Station) => Maybe<T>): Promise<{ readonly value: T } | Failed> {
    throwIfAborted(about.signal, about.operation);
    const station = this.#devices.current ?? (await this.#devices.ready());
    const { births } = station;
    try {
      const done = work(station);
      return { value: done instanceof Promise ? await station.guard(done) : done };
    } catch (error) {
      return { station, births, error };
    }
  }

  #reaction(
    error: ComputeError,
    station: Station,
    here: number,
    resets: number,
    reopened: boolean,
    about: Attempted,
  ): Reaction | null {
    const last = here >= this.#attempts;
    const away = this.#fallback && station.kind === 'gpu' ? 'move' : null;
    if (error instanceof OutOfMemoryError) {
      return !last && (about.reclaim?.(error, here) ?? false) ? 'reclaim' : about.moveForMemory === false ? null : away;
    }
    if (last) return away;
    if (error instanceof DeviceLostError || error instanceof TransferError) {
      // The runtime is at it already, or done; `ready` waits for it.
      if (reopened) return 'wait';
      if (resets === 0 && this.#devices.mayReset(station.id)) return 'reset';
      // Once a call: after that only waiting is left, as long as there is a device to wait for.
      return station.alive ? 'wait' : away;
    }
    if (error instanceof KernelError) return here === 1 ? 'wait' : (away ?? 'wait');
    return 'wait';
  }
}

function exhausted(operation: string, history: readonly RecoveryStep[], cause: ComputeError): ComputeError {
  // A refusal for lack of memory stays what it is: callers react to it by asking for less.
  if (cause instanceof OutOfMemoryError) return cause;
  const tried = history.map((h) => `${h.attempt}. ${h.device}: ${h.error.code}, then ${h.reaction}`).join('; ');
  return new RecoveryExhaustedError({
    message: `${operation}: given up after ${history.length} attempts (${tried})`,
    operation,
    device: cause.device,
    attempts: history.length,
    hint: 'The history has every error. See `gpuforge doctor` for the state of the machine.',
    cause,
    history,
  });
}
