// Tells what the collector has found. All who want to know share one registry, which lives as long as the process.
//
// V8 runs the finalizers of registries in a task. If the collector has taken every registry with something to tell by then, as happens to
// registries of runtimes that were closed, no finalizer of the process runs ever again (seen in Node 20), and what is forgotten stays.

interface Entry {
  readonly of: WeakRef<Finalizer<never>>;
  readonly value: unknown;
}

let registry: FinalizationRegistry<Entry> | null = null;

const shared = (): FinalizationRegistry<Entry> =>
  (registry ??= new FinalizationRegistry(({ of, value }) => of.deref()?.found(value as never)));

/** Calls `found` with what was registered for an object that is gone, as long as it is reachable itself. */
export class Finalizer<T> {
  readonly found: (value: T) => void;
  readonly #self = new WeakRef(this);

  constructor(found: (value: T) => void) {
    this.found = found;
  }

  /** The object must not be reachable from the value. `token` takes it back. */
  register(object: object, value: T, token?: object): void {
    shared().register(object, { of: this.#self, value }, token);
  }

  unregister(token: object): void {
    shared().unregister(token);
  }
}
