// One piece of work on one device, tried again where that can help: for layers that do several things and want them done in
// one place or in another, never half here and half there.
//
// Everything inside is computed on the device that the attempt runs on, as far as that has the dtypes. What fails inside is
// not tried again there, but as a whole, by the one loop of attempts. What an attempt made is disposed of when it fails.

import { checked } from '../base/signatures.ts';
import type { DeviceId } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Attempts, Maybe, Undefinable, Work } from '../governor/recovery/attempt.ts';
import { withDeadline } from '../governor/recovery/deadline.ts';
import { aborted } from '../governor/recovery/errors.ts';
import type { AttemptPolicy } from '../governor/recovery/options.ts';
import type { RuntimeHost } from './host.ts';
import { anywhere, type Want } from './want.ts';

export interface AttemptOptions extends Undefinable<AttemptPolicy> {
  /** Where the work runs as long as that device works. Default: wherever the router says, op by op. */
  readonly device?: DeviceId | undefined;
  /**
   * Ends the wait for the work with an error, once the work has stopped, or after five seconds. Work that goes on is not tried
   * again, and what it returns is disposed of.
   */
  readonly signal?: AbortSignal | undefined;
}

/** One attempt, as the work sees it. */
export interface Attempt {
  /** Where it runs; null if the router decides, op by op. */
  readonly device: DeviceId | null;
  /** Runs something as part of the attempt: needed after an `await` in browsers, where scopes do not follow promises. */
  run<T>(body: () => T): T;
}

export type AttemptWork<T> = (attempt: Attempt) => Maybe<T>;

/** Runs work until it succeeds or there is no point in trying again. What is done at once is returned at once. */
export function attempt<T>(
  host: RuntimeHost,
  attempts: Attempts,
  options: AttemptOptions,
  work: AttemptWork<T>,
): Maybe<T> {
  const { signal, device } = options;
  const policy = attempts.policy(options);
  if (signal?.aborted) throw aborted(policy.what, signal);
  const at = (place: Place | null): Maybe<T> => {
    const places = place ? { attempt: place } : {};
    // Where scopes follow promises it is inside already.
    const run = checked('run', 'body:function', <R>(body: () => R): R => {
      const inside = host.scopes.current();
      return inside && inside.prefer === place ? body() : host.scope(body, places);
    });
    return host.scope(() => unlessAborted(work({ device: place?.id ?? null, run }), policy.what, signal), places);
  };
  // Without a device each op is placed, and tried again, by itself.
  if (device === undefined) return heeding(at(null), policy.what, signal);
  const subject: { place: Place | null } = { place: null };
  const whole: Work<typeof subject, Want, Maybe<T>> = {
    what: policy.what,
    run: (s, want) => {
      s.place = attempts.placeNow(want);
      if (s.place) return at(s.place);
      return attempts.place(want, signal).then((place) => at((s.place = place)));
    },
    blame: (_, { place }) => place && { place, node: null },
  };
  const want: Want = { ...anywhere, prefer: host.place(device, 'attempt'), policy };
  return heeding(attempts.runAsync(whole, subject, want, signal), policy.what, signal);
}

/** How long work has to stop after its signal. */
const stopMs = 5000;

/** A wait that the signal ends too: as soon as the work has stopped and what it made is disposed of, or does not stop. */
const heeding = <T>(done: Maybe<T>, what: string, signal: AbortSignal | undefined): Maybe<T> =>
  signal && done instanceof Promise ? leaving(done, what, signal) : done;

async function leaving<T>(done: Promise<T>, what: string, signal: AbortSignal): Promise<T> {
  try {
    return await withDeadline(done, Number.POSITIVE_INFINITY, { what, signal });
  } catch (error) {
    if (signal.aborted) await withDeadline(done, stopMs, { what }).catch(() => {});
    throw error;
  }
}

/** Nobody waits any more for what comes after the signal: as an error its scope disposes of it. */
const unlessAborted = <T>(done: Maybe<T>, what: string, signal: AbortSignal | undefined): Maybe<T> =>
  signal && done instanceof Promise
    ? done.then((value) => {
        if (signal.aborted) throw aborted(what, signal);
        return value;
      })
    : done;
