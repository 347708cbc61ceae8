// The one shared instance of a class: made at the first request, made anew after it was disposed. Asking with other options
// than those it was made with is an error: ignoring them would leave the caller with an object it did not ask for.

import { ArgumentError } from '../index.ts';

export class Shared<T extends { readonly disposed: boolean }, O extends object> {
  readonly #ask: string;
  readonly #own: string;
  readonly #make: (options: O) => T;
  #current: T | null = null;
  #options: O | null = null;

  /** How it is asked for, and how an instance of one's own is made, are said in errors. */
  constructor(
    name: string,
    make: (options: O) => T,
    { ask = `${name}.getInstance`, own = `${name}.create()` }: { readonly ask?: string; readonly own?: string } = {},
  ) {
    this.#ask = ask;
    this.#own = own;
    this.#make = make;
  }

  get(options?: O): T {
    if (this.#current && !this.#current.disposed) {
      if (this.#options === null) return this.#current;
      const different = options ? firstDifference(options, this.#options!) : undefined;
      if (different === undefined) return this.#current;
      throw new ArgumentError({
        message: `${this.#ask}: the shared instance was made with another '${different}'`,
        where: this.#ask,
        fix: `Dispose the shared instance first, or make one of your own with ${this.#own}.`,
      });
    }
    this.#options = options ?? ({} as O);
    this.#current = this.#make(this.#options);
    return this.#current;
  }

  /** Makes this the shared instance, whatever options others ask with. */
  adopt(instance: T): void {
    this.#current = instance;
    this.#options = null;
  }
}

/** The name of an option that is given and differs; what is not given does not count. */
function firstDifference(asked: object, made: object): string | undefined {
  return Object.entries(asked).find(([k, v]) => v !== undefined && !same(v, (made as Record<string, unknown>)[k]))?.[0];
}

function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return false;
  const plain = (v: object): boolean => Array.isArray(v) || Object.getPrototypeOf(v) === Object.prototype;
  if (!plain(a) || !plain(b)) return false;
  const [p, q] = [Object.entries(a), Object.keys(b)];
  return p.length === q.length && p.every(([k, v]) => same(v, (b as Record<string, unknown>)[k]));
}
