// Scopes: tensors made inside are disposed when the scope ends, except those it returns.
//
// In Node a scope follows asynchronous calls (AsyncLocalStorage). Where that is missing (browsers), what is made after the
// first `await` is not seen by the scope: dispose it, or make it in a scope of its own.

import { importNode, isNode } from '../base/platform.ts';
import type { Place } from '../devices/place.ts';
import type { Want } from './programs.ts';

interface Disposable {
  dispose(): void;
}

export interface ScopeStore {
  run<T>(scope: Scope, body: () => T): T;
  current(): Scope | undefined;
}

/** What a scope asks of everything inside. */
export interface ScopePlaces {
  /** Computed here and nowhere else. */
  readonly place?: Place | null | undefined;
  /** Computed here if the device can; what fails is passed on to the attempt that the scope is part of. */
  readonly attempt?: Place | undefined;
}

export class Scope {
  readonly parent: Scope | undefined;
  /** Where everything inside is computed; of the nearest scope around that says so. */
  readonly place: Place | null;
  readonly prefer: Place | null;
  readonly #members = new Set<Disposable>();
  /** The scope that says where; null if none does. */
  readonly #placing: Scope | null;
  #base: Want | null = null;
  #want: Want | null = null;

  constructor(parent: Scope | undefined, { place, attempt }: ScopePlaces = {}) {
    this.parent = parent;
    this.place = place ?? parent?.place ?? null;
    this.prefer = attempt ?? parent?.prefer ?? null;
    this.#placing = place || attempt ? this : parent ? parent.#placing : null;
  }

  /** What is asked of a place inside. */
  want(base: Want): Want {
    if (this.#placing !== this) return this.#placing?.want(base) ?? base;
    const { place: pin, prefer } = this;
    if (this.#base !== base || !this.#want) {
      this.#base = base;
      this.#want = { ...base, ...(pin && { pin, pinned: true }), prefer, once: prefer !== null };
    }
    return this.#want;
  }

  add(tensor: Disposable): void {
    this.#members.add(tensor);
  }

  delete(tensor: Disposable): void {
    this.#members.delete(tensor);
  }

  /** Disposes everything but what `result` holds, which moves to the scope around. */
  end(result: unknown): void {
    const kept = new Set<unknown>();
    collect(result, kept, 0);
    for (const tensor of this.#members) {
      if (kept.has(tensor)) this.parent?.add(tensor);
      else tensor.dispose();
    }
    this.#members.clear();
  }
}

/** Values inside arrays and plain objects of a result, to a sensible depth. */
function collect(value: unknown, into: Set<unknown>, depth: number): void {
  if (typeof value !== 'object' || value === null || into.has(value) || depth > 8) return;
  into.add(value);
  if (ArrayBuffer.isView(value)) return;
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value) || prototype === Object.prototype || prototype === null) {
    for (const v of Object.values(value)) collect(v, into, depth + 1);
  }
}

/** A store that follows asynchronous calls where the platform can, and plain calls elsewhere. */
export async function createScopeStore(): Promise<ScopeStore> {
  if (isNode()) {
    const { AsyncLocalStorage } = (await importNode('async_hooks')) as typeof import('node:async_hooks');
    const storage = new AsyncLocalStorage<Scope>();
    return { run: (scope, body) => storage.run(scope, body), current: () => storage.getStore() };
  }
  let current: Scope | undefined;
  return {
    run: (scope, body) => {
      const outer = current;
      current = scope;
      try {
        return body();
      } finally {
        current = outer;
      }
    },
    current: () => current,
  };
}
