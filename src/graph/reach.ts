// How high units of work reach: an upper bound of the ids of everything that must exist before a unit can.
//
// Vertices are numbered sources first, so whatever a plain vertex depends on has a lower number. Units of several vertices
// break that: to need one of them is to need what all of them need. The bound tells which units a search
// for a cycle may skip, so that searches stay near where they begin instead of walking the whole graph.

export class Reach<U> {
  readonly #tops = new Map<U, number>();
  readonly #users: (unit: U) => Iterable<U>;

  /** `users`: the units that need a unit directly. */
  constructor(users: (unit: U) => Iterable<U>) {
    this.#users = users;
  }

  of(unit: U): number {
    return this.#tops.get(unit) ?? -1;
  }

  /** A unit reaches at least this high, and so do all that need it. */
  raise(unit: U, to: number): void {
    const stack = [unit];
    for (let u = stack.pop(); u !== undefined; u = stack.pop()) {
      if (this.of(u) >= to) continue;
      this.#tops.set(u, to);
      for (const user of this.#users(u)) stack.push(user);
    }
  }
}
