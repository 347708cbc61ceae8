// The scopes in progress: which one is current, and which place it pins what is computed inside to.

import type { Place } from '../devices/place.ts';
import type { Want } from './programs.ts';
import { Scope, type ScopeStore } from './scope.ts';

export class Scopes {
  /** Scopes in progress; a cheap test before looking for the current one. */
  active = 0;
  readonly #store: ScopeStore;
  /** Those of them that pin. */
  #pins = 0;

  constructor(store: ScopeStore) {
    this.#store = store;
  }

  current(): Scope | undefined {
    return this.#store.current();
  }

  /** The place that the current scope is pinned to, if any. */
  get pin(): Place | null {
    return this.#pins > 0 ? (this.#store.current()?.place ?? null) : null;
  }

  /** What is asked of a place, with the device the current scope is pinned to. */
  want(base: Want): Want {
    const { pin } = this;
    return pin ? { ...base, pin, pinned: true } : base;
  }

  /** Runs a body in a scope; works for plain and for async bodies. With a place, everything inside is computed there. */
  run<T>(body: () => T, place: Place | null = null): T {
    const scope = new Scope(this.#store.current(), place);
    this.active++;
    if (place) this.#pins++;
    const finish = (result: unknown): void => {
      this.active--;
      if (place) this.#pins--;
      scope.end(result);
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
