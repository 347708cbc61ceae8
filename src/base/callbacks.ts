// A list of callbacks. One that throws, or whose promise fails, is reported; the others still run.

export type Report = (error: unknown, where: string) => void;

export class Callbacks<T> {
  readonly #where: string;
  readonly #onError: Report;
  readonly #list = new Set<{ readonly call: (event: T) => unknown }>();

  constructor(where: string, onError: Report) {
    this.#where = where;
    this.#onError = onError;
  }

  get size(): number {
    return this.#list.size;
  }

  /** The same function may be added twice. Returns what removes it again. */
  add(call: (event: T) => unknown): () => void {
    const entry = { call };
    this.#list.add(entry);
    return () => void this.#list.delete(entry);
  }

  run(event: T): void {
    // A copy: a callback may remove itself or add others, which run the next time.
    for (const { call } of [...this.#list]) {
      try {
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
