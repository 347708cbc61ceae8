// The scopes in progress: which one is current, and what it asks of everything that is computed inside.
//
// Where a scope follows asynchronous calls, every promise of the process takes three times as long, scope or no scope. So the store rests
// once no scope is in progress, in the next turn of the event loop: a loop of scopes does not wake it again and again.

import { nextTurn } from '../base/turn.ts';
import type { Handle } from '../tensor/host.ts';
import { Scope, type ScopePlaces, type ScopeStore } from './scope.ts';
import type { Want } from './want.ts';

export class Scopes {
  /** Scopes in progress; a cheap test before looking for the current one. */
  active = 0;
  readonly #store: ScopeStore;
  /** Those of them that ask for a place, or say what kind of work it is. */
  #pins = 0;
  /** Those of them that have a name. */
  named = 0;
  /** The store is about to rest. */
  #resting = false;

  constructor(store: ScopeStore) {
    this.#store = store;
  }

  current(): Scope | undefined {
    return this.#store.current();
  }

  /** Takes a tensor out of all scopes. */
  keep(tensor: Handle): void {
    if (this.active > 0) this.#store.current()?.keep(tensor);
  }

  /** What is asked of a place, with the device of the current scope. */
  want(base: Want): Want {
    return this.#pins > 0 ? (this.#store.current()?.want(base) ?? base) : base;
  }

  readonly #rest = (): void => {
    this.#resting = false;
    if (this.active === 0) this.#store.rest?.();
  };

  /** Runs a body in a scope; works for plain and for async bodies. */
  run<T>(body: () => T, places: ScopePlaces = {}): T {
    const scope = new Scope(this.#store.current(), places);
    const pins = places.place || places.attempt || places.op ? 1 : 0;
    const names = places.name === undefined ? 0 : 1;
    this.active++;
    this.#pins += pins;
    this.named += names;
    const finish = (result: unknown): void => {
      this.active--;
      this.#pins -= pins;
      this.named -= names;
      scope.end(result);
      if (this.active === 0 && !this.#resting) {
        this.#resting = true;
        nextTurn(this.#rest);
      }
    };
    let result: T;
    try {
      result = this.#store.run(scope, body);
    } catch (e) {
      finish(undefined);
      throw e;
    }
    if (result instanceof Promise) {
      return result.then(
        (value) => {
          finish(value);
          return value;
        },
        (error) => {
          finish(undefined);
          throw error;
        },
      ) as T;
    }
    finish(result);
    return result;
  }
}
