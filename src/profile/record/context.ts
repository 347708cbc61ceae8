// Which span the running code is in.
//
// In Node the answer follows asynchronous calls (AsyncLocalStorage). Browsers have nothing like it: there the current span is
// known in synchronous code, and `span.run` enters it again after an `await`.

import { builtinModule, importNode, isNode } from '../../base/platform.ts';

export interface SpanContext<T> {
  /** True if spans are found again after an `await`. */
  readonly asynchronous: boolean;
  current(): T | undefined;
  /** Runs a function inside a span. */
  run<R>(span: T, body: () => R): R;
  /** From here on the code is in this span; for `using`, which has no function to run. */
  enter(span: T | undefined): void;
}

type AsyncHooks = typeof import('node:async_hooks');

/** Follows asynchronous calls where the platform can. */
export function createContext<T extends object>(): SpanContext<T> {
  if (!isNode()) return new StackContext<T>();
  const hooks = builtinModule('async_hooks') as AsyncHooks | undefined;
  return hooks ? new AsyncContext<T>(hooks) : new LateContext<T>();
}

class AsyncContext<T extends object> implements SpanContext<T> {
  readonly asynchronous = true;
  readonly #storage: InstanceType<AsyncHooks['AsyncLocalStorage']>;

  constructor({ AsyncLocalStorage }: AsyncHooks) {
    this.#storage = new AsyncLocalStorage();
  }

  current(): T | undefined {
    return this.#storage.getStore() as T | undefined;
  }

  run<R>(span: T, body: () => R): R {
    return this.#storage.run(span, body);
  }

  enter(span: T | undefined): void {
    this.#storage.enterWith(span);
  }
}

class StackContext<T extends object> implements SpanContext<T> {
  readonly asynchronous: boolean = false;
  #current: T | undefined;

  current(): T | undefined {
    return this.#current;
  }

  run<R>(span: T, body: () => R): R {
    const outer = this.#current;
    this.#current = span;
    try {
      return body();
    } finally {
      this.#current = outer;
    }
  }

  enter(span: T | undefined): void {
    this.#current = span;
  }
}

/** For Node before 20.16, which loads its own modules asynchronously only: synchronous until then. */
class LateContext<T extends object> implements SpanContext<T> {
  #inner: SpanContext<T> = new StackContext<T>();

  constructor() {
    importNode('async_hooks').then((hooks) => {
      if (this.#inner.current() === undefined) this.#inner = new AsyncContext<T>(hooks as AsyncHooks);
    });
  }

  get asynchronous(): boolean {
    return this.#inner.asynchronous;
  }

  current(): T | undefined {
    return this.#inner.current();
  }

  run<R>(span: T, body: () => R): R {
    return this.#inner.run(span, body);
  }

  enter(span: T | undefined): void {
    this.#inner.enter(span);
  }
}
