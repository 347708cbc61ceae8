// A list of callbacks. One that throws, or whose promise fails, is reported; the others still run.

/**
 * What a function of the caller returned, if that is a promise. It counts as heard: one that fails where nobody waits for it would end
 * the process.
 */
export function promiseOf(returned: unknown): Promise<unknown> | null {
  if (!(returned instanceof Promise)) return null;
  returned.catch(() => {});
  return returned;
}

/** Promises of other libraries, and queries that run when they are awaited, are no `Promise`. */
export const isThenable = <R>(value: unknown): value is Promise<R> =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Promise<R>>).then === 'function';

export type Report = (error: unknown, where: string) => void;

export class Callbacks<T> {
  readonly #where: string;
  readonly #onError: Report;
  /** Replaced, never changed: who runs it goes on with the list as it was. */
  #list: readonly { readonly call: (event: T) => unknown }[] = [];

  constructor(where: string, onError: Report) {
    this.#where = where;
    this.#onError = onError;
  }

  get size(): number {
    return this.#list.length;
  }

  /** The same function may be added twice. Returns what removes it again. */
  add(call: (event: T) => unknown): () => void {
    const entry = { call };
    this.#list = [...this.#list, entry];
    return () => {
      this.#list = this.#list.filter((e) => e !== entry);
    };
  }

  run(event: T): void {
    // A callback may remove itself or add others, which run the next time.
    const list = this.#list;
    for (let i = 0; i < list.length; i++) {
      try {
        const { call } = list[i]!;
        const result = call(event);
        if (result instanceof Promise) result.catch((error) => this.#report(error));
      } catch (error) {
        this.#report(error);
      }
    }
  }

  #report(error: unknown): void {
    try {
      this.#onError(error, this.#where);
    } catch {
      // A reporter that throws has nobody left to tell.
    }
  }
}
