// The one loop of attempts: every read, write, move and run goes through it.
//
// Work that failed is tried again at the same place, after making room, after the device came back, or at another place;
// `reactionTo` says which error allows what. Every call ends within a bounded number of attempts, in a result or in the error
// that the caller should see. A place that failed is left out for the rest of the call; what happened is told to `Health`, on
// which later placements depend.

import type { Place } from '../../devices/place.ts';
import { DeviceLost, DeviceUnavailable, ForgeError, OutOfMemory } from '../../errors.ts';
import type { Node } from '../../graph/node.ts';
import type { Ladder } from '../memory/ladder.ts';
import { type Clock, sleep, systemClock } from './clock.ts';
import { aborted, type FailedAttempt, RecoveryExhausted } from './errors.ts';
import type { DeviceHealth, Health } from './health.ts';
import type { Losses } from './loss.ts';
import type { AttemptPolicy, ResolvedRecovery } from './options.ts';
import { type Reaction, reactionTo } from './retry.ts';
import { leave } from './revive.ts';

/** What a call asks of places, as far as failures change it. */
export interface Asked {
  /** Places that failed in this call, as a mask; why the first of them did. */
  readonly excluded: number;
  readonly failed: unknown;
  /** Those of them from which bytes could not be read. */
  readonly unreadable: number;
  /** Failures at the present place. */
  readonly tries: number;
  /** Times that a lost device was waited for. */
  readonly resets: number;
  /** The only place to use; `pinned` if the user said so. */
  readonly pin: Place | null;
  readonly pinned: boolean;
  /** The place to use if it can do the work. */
  readonly prefer: Place | null;
  /** An attempt around this one tries again: what fails here is passed on as it is. */
  readonly once: boolean;
  /** What the call allows in place of the runtime's options. */
  readonly policy: AttemptPolicy | null;
}

/** What is asked of places before anything failed. */
export const asked: Asked = {
  excluded: 0,
  failed: null,
  unreadable: 0,
  tries: 0,
  resets: 0,
  pin: null,
  pinned: false,
  prefer: null,
  once: false,
  policy: null,
};

/** What was done about a failure. */
export type RetryReaction = 'wait' | 'make room' | 'reset' | 'move';

/** Something failed and is tried again. */
export interface Retried {
  readonly what: string;
  readonly device: string;
  /** Failures of the call so far. */
  readonly attempt: number;
  readonly error: string;
  /** The `code` of the error. */
  readonly code: string;
  readonly reaction: RetryReaction;
  /** ms before the next attempt. */
  readonly waitMs: number;
}

/** Where work failed. */
export interface Blame {
  /** Null if only the error itself can tell. */
  readonly place: Place | null;
  /** Whose bytes could not be read there; they are given up if the place is ruled out. Null if nothing was read. */
  readonly node: Node | null;
}

/** Work that is attempted: a constant of whoever does it, so that a call which succeeds pays for no closure. */
export interface Work<S, W extends Asked, T> {
  /** Names the work in errors. */
  readonly what: string;
  /** One attempt; `failures` counts those before it. All or nothing: one that throws has changed nothing. */
  run(subject: S, want: W, failures: number): T;
  /** Null: what threw has been attempted as often as that makes sense. */
  blame(error: unknown, subject: S): Blame | null;
}

/** A value, or a promise of one: what is known at once costs no turn of the queue. */
export type Maybe<T> = T | Promise<T>;

export type Undefinable<T> = { readonly [K in keyof T]?: T[K] | undefined };

export interface AttemptParts {
  readonly places: readonly Place[];
  readonly losses: Losses;
  readonly health: Health;
  readonly ladder: Ladder;
  readonly options: ResolvedRecovery;
  /** Another device does the work of one that fails; told once, until it returns. */
  readonly fellBack: (event: { from: string; to: string; reason: string }) => void;
  readonly retried?: ((event: Retried) => void) | undefined;
  readonly clock?: Clock | undefined;
}

/** Reactions after which the same place may be asked once more, if the attempts are not used up. */
const attemptsFor = (reaction: Reaction, options: Pick<AttemptPolicy, 'attempts'>): number =>
  reaction === 'again' ? options.attempts : reaction === 'once' ? Math.min(2, options.attempts) : 1;

/** Inputs that are given up one by one at a place that cannot be read. */
const mostInputs = 256;

/** One failed attempt, as far as it is understood. */
interface Failure {
  readonly error: ForgeError;
  readonly place: Place;
  readonly node: Node | null;
  readonly reaction: Reaction;
  /** The place is ruled out already, and only an input that is nowhere else was asked for there. */
  readonly known: boolean;
}

export class Attempts {
  readonly #parts: AttemptParts;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
  }

  /** Runs work until it succeeds or there is no point in another attempt. */
  run<S, W extends Asked, T>(work: Work<S, W, T>, subject: S, want: W): T {
    try {
      return work.run(subject, want, 0);
    } catch (error) {
      return this.failed(work, subject, want, error);
    }
  }

  /** As `run`, after a first attempt that whoever asks made without us. */
  failed<S, W extends Asked, T>(work: Work<S, W, T>, subject: S, want: W, error: unknown): T {
    if (want.once) throw error;
    return this.#again(work, subject, want, error);
  }

  /**
   * As `run`, with time to free memory, to wait for a device that comes back, to back off. What is done at once is returned at
   * once.
   */
  runAsync<S, W extends Asked, T>(work: Work<S, W, Maybe<T>>, subject: S, want: W, signal?: AbortSignal): Maybe<T> {
    if (want.once) return work.run(subject, want, 0);
    try {
      const done = work.run(subject, want, 0);
      return done instanceof Promise ? this.#orAgain(done, work, subject, want, signal) : done;
    } catch (error) {
      return this.#againAsync(work, subject, want, error, signal);
    }
  }

  /** The runtime's options, with what a call says instead. */
  policy({ what = 'attempt', attempts, backoffMs, fallback }: Undefinable<AttemptPolicy>): AttemptPolicy {
    const { options } = this.#parts;
    return {
      what,
      attempts: attempts ?? options.attempts,
      backoffMs: backoffMs ?? options.backoffMs,
      fallback: fallback ?? options.fallback,
    };
  }

  /** The place that is preferred, if it is there and trusted. */
  placeNow({ prefer, excluded }: Asked): Place | null {
    if (!prefer?.alive || (excluded & prefer.bit) !== 0) return null;
    return resting(this.#parts.health.of(prefer.id)) ? null : prefer;
  }

  /** As `placeNow`, waiting for a device that comes back, or another place where the policy allows one; throws if there is none. */
  async place(want: Asked, signal?: AbortSignal): Promise<Place> {
    const { losses, health, places, options, fellBack } = this.#parts;
    const { prefer, excluded } = want;
    const { fallback } = want.policy ?? options;
    const free = prefer && (excluded & prefer.bit) === 0 ? prefer : null;
    if (free && (free.alive || (await losses.back(free, signal))) && (!fallback || !resting(health.of(free.id))))
      return free;
    const others = places.filter((p) => p !== prefer && p.alive && (excluded & p.bit) === 0);
    const to = fallback ? (others.find((p) => health.usable(p.id)) ?? others[0]) : undefined;
    if (!to) throw want.failed ?? notThere(prefer!);
    if (free && health.fellBack(free.id, to.id))
      fellBack({ from: free.id, to: to.id, reason: health.of(free.id).lastError ?? 'it was lost' });
    return to;
  }

  #again<S, W extends Asked, T>(work: Work<S, W, T>, subject: S, first: W, error: unknown): T {
    const story = new Story<S, W>(this.#parts, work, subject);
    for (let want = first, thrown = error; ; ) {
      const failure = story.failed(thrown, want);
      want = story.next(failure, want) ?? story.elsewhere(failure, want);
      try {
        return work.run(subject, want, story.count);
      } catch (e) {
        thrown = e;
      }
    }
  }

  /** Apart: what is done at once pays for no closure. */
  #orAgain<S, W extends Asked, T>(
    done: Promise<T>,
    work: Work<S, W, Maybe<T>>,
    subject: S,
    want: W,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return done.catch((error) => this.#againAsync(work, subject, want, error, signal));
  }

  async #againAsync<S, W extends Asked, T>(
    work: Work<S, W, Maybe<T>>,
    subject: S,
    first: W,
    error: unknown,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const story = new Story<S, W>(this.#parts, work, subject);
    for (let want = first, thrown = error; ; ) {
      if (signal?.aborted) throw aborted(work.what, signal);
      const failure = story.failed(thrown, want);
      want = (await story.nextAsync(failure, want, signal)) ?? story.elsewhere(failure, want);
      try {
        return await work.run(subject, want, story.count);
      } catch (e) {
        thrown = e;
      }
    }
  }
}

/** No work is sent there for now; a device on probation is tried by whoever asks for it. */
const resting = ({ state }: DeviceHealth): boolean => state === 'open' || state === 'quarantined';

function notThere(place: Place): ForgeError {
  const about = { where: place.id, device: place.id };
  return place.alive
    ? new DeviceUnavailable({
        ...about,
        message: `${place.id} failed too often and gets no work for now`,
        fix: 'Wait a while, allow another device (fallback), or see rt.recovery.history().',
      })
    : new DeviceLost({
        ...about,
        message: `the computation is for ${place.id}, which was lost`,
        fix: 'Use another device, or wait until the device is back.',
      });
}

/** What happened in one call, from its first failure on. */
class Story<S, W extends Asked> {
  readonly #parts: AttemptParts;
  readonly #work: Work<S, W, unknown>;
  readonly #subject: S;
  readonly #clock: Clock;
  readonly #failed: FailedAttempt[] = [];

  constructor(parts: AttemptParts, work: Work<S, W, unknown>, subject: S) {
    this.#parts = parts;
    this.#work = work;
    this.#subject = subject;
    this.#clock = parts.clock ?? systemClock;
  }

  /** Attempts that failed. */
  get count(): number {
    return this.#failed.length;
  }

  #policy(want: W): Omit<AttemptPolicy, 'what'> {
    return want.policy ?? this.#parts.options;
  }

  /** What is done about the last failure. */
  #reacts({ error, place }: Failure, reaction: RetryReaction, waitMs = 0): void {
    const last = this.#failed.pop()!;
    this.#failed.push({ ...last, reaction, waitedMs: waitMs });
    const { what } = this.#work;
    const { attempt } = last;
    this.#parts.retried?.({
      what,
      device: place.id,
      attempt,
      error: firstLine(error),
      code: error.code,
      reaction,
      waitMs,
    });
  }

  /** Which place an error speaks of, and what may help. Throws what nothing helps against. */
  failed(error: unknown, want: W): Failure {
    const { places, health, losses } = this.#parts;
    const blame = this.#work.blame(error, this.#subject);
    const reaction = reactionTo(error);
    if (!blame || !(error instanceof ForgeError) || reaction === 'never') throw error;
    const place = places.find((p) => p.id === error.where) ?? blame.place;
    if (!place) throw error;
    const attempt = this.#failed.length;
    const [device, at] = [place.id, this.#clock.now()];
    this.#failed.push({ attempt: attempt + 1, device, error, reaction: 'give up', at, waitedMs: 0 });
    const excluded = (want.excluded & place.bit) !== 0;
    // A place that is ruled out can still be asked for inputs that are nowhere else: each is given up after one failure.
    const known = blame.node !== null && excluded && attempt < mostInputs;
    if (!known && (excluded || attempt > this.#policy(want).attempts * places.length + 2))
      throw this.#exhausted(error, reaction);
    if (reaction === 'reset') {
      if (place.alive) losses.lost(place, place.device, firstLine(error));
    } else if (reaction !== 'make-room') health.failed(place.id, error);
    return { error, place, node: blame.node, reaction, known };
  }

  /** How to ask again at the same place; null if that is no use. */
  next({ place, node, reaction, known, error }: Failure, want: W): W | null {
    if (known) return this.#leaving(error, node, place, want);
    return this.#again(place, reaction, want) ? { ...want, tries: want.tries + 1 } : null;
  }

  async nextAsync(failure: Failure, want: W, signal: AbortSignal | undefined): Promise<W | null> {
    const { error, place, reaction } = failure;
    const { ladder, losses } = this.#parts;
    const { backoffMs } = this.#policy(want);
    const again = this.next(failure, want);
    if (again) {
      if (failure.known) return again;
      const wait = backoffMs[Math.min(want.tries, backoffMs.length - 1)] ?? 0;
      this.#reacts(failure, 'wait', wait);
      await sleep(this.#clock, wait, signal, () => aborted(this.#work.what, signal!));
      return again;
    }
    const once = { ...want, tries: want.tries + 1 };
    if (error instanceof OutOfMemory && want.tries < 2 && place.alive) {
      if (await ladder.makeAsync(place, error.requested)) {
        this.#reacts(failure, 'make room');
        return once;
      }
    }
    // Where the place matters it is waited for, one time a call.
    const waits = (want.prefer === place && want.resets === 0) || !this.#other(place, want);
    if (reaction !== 'reset' || !waits || !(await losses.back(place, signal))) return null;
    this.#reacts(failure, 'reset');
    return { ...once, resets: want.resets + 1 };
  }

  /** How to ask again at another place; throws if there is none. */
  elsewhere(failure: Failure, want: W): W {
    const { error, place, node, reaction } = failure;
    const { health, places } = this.#parts;
    const { fallback } = this.#policy(want);
    const may = fallback === 'failures' ? !(error instanceof OutOfMemory) : fallback;
    if (!may || want.pinned || !this.#other(place, want)) throw this.#exhausted(error, reaction);
    this.#reacts(failure, 'move');
    const excluded = want.excluded | place.bit;
    const to = places.find((p) => p.alive && (excluded & p.bit) === 0)!;
    // Without room there, work goes elsewhere as a matter of course; a device that fails is news.
    if (!(error instanceof OutOfMemory) && health.fellBack(place.id, to.id))
      this.#parts.fellBack({ from: place.id, to: to.id, reason: firstLine(error) });
    const unreadable = node ? want.unreadable | place.bit : want.unreadable;
    const moved = { ...want, excluded, unreadable, pin: null, tries: 0, failed: want.failed ?? error };
    return this.#leaving(error, node, place, moved);
  }

  /** The bytes that could not be read are given up at a place that is ruled out; throws if they cannot be had otherwise. */
  #leaving(error: ForgeError, node: Node | null, place: Place, want: W): W {
    if (node && !leave(node, place, want.unreadable)) throw this.#exhausted(error, reactionTo(error));
    return want;
  }

  /** Whether the same place is asked once more: not beyond the attempts, nor a place that gets no work while another can have it. */
  #again(place: Place, reaction: Reaction, want: W): boolean {
    const { health } = this.#parts;
    const policy = this.#policy(want);
    if (want.tries + 1 >= attemptsFor(reaction, policy)) return false;
    return health.usable(place.id) || !policy.fallback || want.pinned || !this.#other(place, want);
  }

  #other(place: Place, want: W): boolean {
    return this.#parts.places.some((p) => p !== place && p.alive && (want.excluded & p.bit) === 0);
  }

  /** What the caller sees: the error itself, or all of them where repeating it was of no use. */
  #exhausted(error: ForgeError, reaction: Reaction): ForgeError {
    if ((reaction !== 'again' && reaction !== 'once') || this.#failed.length === 1) return error;
    const { what } = this.#work;
    return new RecoveryExhausted({
      message: `${what}: failed ${this.#failed.length} times, the last time with: ${firstLine(error)}`,
      fix: error.fix,
      where: error.where,
      device: this.#failed.at(-1)!.device,
      history: this.#failed,
      cause: error,
    });
  }
}

const firstLine = (error: ForgeError): string => error.message.split('\n', 1)[0]!;
