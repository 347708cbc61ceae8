// Scopes: tensors made inside are disposed when the scope ends, except those it returns.
//
// In Node a scope follows asynchronous calls (AsyncLocalStorage). Where that is missing (browsers), what is made after the
// first `await` is not seen by the scope: dispose it, or make it in a scope of its own.

import type { OperationType } from '../base/operations.ts';
import { importNode, isNode } from '../base/platform.ts';
import type { Place } from '../devices/place.ts';
import type { Want } from './want.ts';

interface Disposable {
  dispose(): void;
}

export interface ScopeStore {
  run<T>(scope: Scope, body: () => T): T;
  current(): Scope | undefined;
  /** No scope is in progress: what follows asynchronous calls is not paid for until the next one. */
  rest?(): void;
}

/** What a scope asks of everything inside. */
export interface ScopePlaces {
  /** Computed here and nowhere else. */
  readonly place?: Place | null | undefined;
  /** Computed here if the device can; what fails is passed on to the attempt that the scope is part of. */
  readonly attempt?: Place | undefined;
  /** What the work inside is, for the router's books. */
  readonly op?: OperationType | undefined;
  /** What the work inside is called, in events. */
  readonly name?: string | undefined;
}

export class Scope {
  readonly parent: Scope | undefined;
  /** Where everything inside is computed; of the nearest scope around that says so. */
  readonly place: Place | null;
  readonly prefer: Place | null;
  readonly op: OperationType | null;
  /** Of the nearest scope around that has one. */
  readonly name: string | null;
  readonly #members = new Set<Disposable>();
  /** The scope that says where; null if none does. */
  readonly #placing: Scope | null;
  #base: Want | null = null;
  #want: Want | null = null;

  constructor(parent: Scope | undefined, { place, attempt, op, name }: ScopePlaces = {}) {
    this.parent = parent;
    this.place = place ?? parent?.place ?? null;
    this.prefer = attempt ?? parent?.prefer ?? null;
    this.op = op ?? parent?.op ?? null;
    this.name = name ?? parent?.name ?? null;
    this.#placing = place || attempt || op ? this : parent ? parent.#placing : null;
  }

  /** What is asked of a place inside. */
  want(base: Want): Want {
    if (this.#placing !== this) return this.#placing?.want(base) ?? base;
    const { place: pin, prefer, op } = this;
    if (this.#base !== base || !this.#want) {
      this.#base = base;
      this.#want = { ...base, ...(pin && { pin, pinned: true }), prefer, once: prefer !== null, op };
    }
    return this.#want;
  }

  add(tensor: Disposable): void {
    this.#members.add(tensor);
  }

  delete(tensor: Disposable): void {
    this.#members.delete(tensor);
  }

  /** Takes a tensor out of this scope and the ones around it: it lives until somebody disposes of it. */
  keep(tensor: Disposable): void {
    for (let scope: Scope | undefined = this; scope; scope = scope.parent) scope.#members.delete(tensor);
  }

  /** Disposes everything but what `result` holds, which moves to the scope around. */
  end(result: unknown): void {
    if (this.#members.size === 0) return;
    const kept = held(result, this.#members);
    for (const tensor of this.#members) {
      if (kept.has(tensor)) this.parent?.add(tensor);
      else tensor.dispose();
    }
    this.#members.clear();
  }
}

/** Objects that no scope looks into: what they hold is not a result. */
export const opaque = new WeakSet<object>();

/**
 * Which of some values a result holds: in arrays, objects, instances of classes, Maps and Sets, however deep. Private fields
 * (#) cannot be seen.
 */
function held(result: unknown, wanted: ReadonlySet<unknown>): ReadonlySet<unknown> {
  const found = new Set<unknown>();
  const seen = new Set<unknown>();
  const open: unknown[] = [result];
  while (open.length > 0 && found.size < wanted.size) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    if (wanted.has(value)) found.add(value);
    else if (!opaque.has(value) && !ArrayBuffer.isView(value)) for (const part of parts(value)) open.push(part);
  }
  return found;
}

function* parts(value: object): Generator<unknown> {
  if (value instanceof Map) for (const [k, v] of value) yield* [k, v];
  else if (value instanceof Set) yield* value;
  for (const key of Object.keys(value)) {
    const field = Object.getOwnPropertyDescriptor(value, key);
    // A getter may do anything: its result is not looked at.
    if (field && 'value' in field) yield field.value;
  }
}

/** A store that follows asynchronous calls where the platform can, and plain calls elsewhere. */
export async function createScopeStore(): Promise<ScopeStore> {
  if (isNode()) {
    const { AsyncLocalStorage } = (await importNode('async_hooks')) as typeof import('node:async_hooks');
    const storage = new AsyncLocalStorage<Scope>();
    return {
      run: (scope, body) => storage.run(scope, body),
      current: () => storage.getStore(),
      rest: () => storage.disable(),
    };
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
