// An event bus: named events with typed data, any number of listeners for each.
//
// A listener can do no harm. One that throws, or whose promise fails, becomes an `error` event; the work that was reported
// goes on. A listener of `error` that throws is counted and goes no further. `heard` tells whether anybody listens: whoever
// emits looks there first, so that an event nobody wants is never built.

import { ArgumentError } from '../errors.ts';
import { Callbacks } from './callbacks.ts';

/** A callback threw: a listener, or a function the user gave. */
export interface CallbackError {
  readonly error: unknown;
  /** What threw, in words. */
  readonly where: string;
}

/** Every bus has this event. */
export interface BusEvents {
  readonly error: CallbackError;
}

type Name<E> = keyof E & string;
type Lists<E> = { readonly [K in keyof E]: Callbacks<E[K]> };

export class EventBus<E extends BusEvents> {
  /** Per event: whether anybody listens. */
  readonly heard: { readonly [K in keyof E]: boolean };
  /** Listeners that threw so far, and what the last of them threw. */
  failures = 0;
  lastFailure: CallbackError | null = null;
  readonly #lists: Lists<E>;
  readonly #where: string;
  #changed: (kind: Name<E>, heard: boolean) => void = () => {};

  /** `where` names the bus in errors: `rt.on`. */
  constructor(names: readonly Name<E>[], where: string) {
    this.#where = where;
    this.heard = Object.fromEntries(names.map((n) => [n, false])) as { [K in keyof E]: boolean };
    const list = <K extends Name<E>>(name: K) =>
      new Callbacks<E[K]>(`a listener of '${name}'`, (error, at) => this.#failed(name, { error, where: at }));
    this.#lists = Object.fromEntries(names.map((n) => [n, list(n)])) as unknown as Lists<E>;
  }

  /** Listens; returns what ends it. Calling that twice does nothing more, and the same function may listen twice. */
  on<K extends Name<E>>(kind: K, listener: (event: E[K]) => unknown): () => void {
    if (!Object.hasOwn(this.#lists, kind)) throw noSuchEvent(this.#where, kind, Object.keys(this.#lists));
    if (typeof listener !== 'function') throw notAFunction(this.#where, kind, listener);
    const list = this.#lists[kind];
    const remove = list.add(listener);
    this.#note(kind, list.size);
    return () => {
      remove();
      this.#note(kind, list.size);
    };
  }

  emit<K extends Name<E>>(kind: K, event: E[K]): void {
    this.#lists[kind].run(event);
  }

  /** Told when the first listener of an event comes and when the last one goes. */
  protected whenHeard(changed: (kind: Name<E>, heard: boolean) => void): void {
    this.#changed = changed;
  }

  #note(kind: Name<E>, listeners: number): void {
    const heard = listeners > 0;
    if (this.heard[kind] === heard) return;
    (this.heard as { [K in keyof E]: boolean })[kind] = heard;
    this.#changed(kind, heard);
  }

  #failed(kind: Name<E>, failure: CallbackError): void {
    this.failures++;
    this.lastFailure = failure;
    if (kind !== 'error') this.emit('error', failure as E['error']);
  }
}

function noSuchEvent(where: string, kind: unknown, names: readonly string[]): ArgumentError {
  return new ArgumentError({
    code: 'UNKNOWN_EVENT',
    message: `${where}: there is no event '${String(kind)}'`,
    fix: `Events are ${names.join(', ')}.`,
    where,
  });
}

function notAFunction(where: string, kind: string, listener: unknown): ArgumentError {
  return new ArgumentError({
    code: 'BAD_LISTENER',
    message: `${where}: the listener of '${kind}' is ${listener === null ? 'null' : `a ${typeof listener}`}`,
    fix: 'Give a function of the event.',
    where,
  });
}
