// Batches: calls on many lattices of equal size that are made together run together, one launch for all of them.
//
// A call with `{ batch }` waits until the turn of the event loop ends; then all calls of its kind that came are done at once.

import { checked } from '../base/signatures.ts';
import { turn } from '../index.ts';
import type { LatticeBase } from './base.ts';
import { invalidArgument } from './errors.ts';
import { latticeKinds } from './signatures.ts';

/** Asked of every asynchronous method. Those without a common form do their work by themselves. */
export interface BatchOption {
  readonly batch?: LatticeBatch | undefined;
}

interface Waiting {
  readonly call: unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Together<C, R> = (calls: readonly C[]) => Promise<readonly R[]>;

export class LatticeBatch {
  readonly lattices: readonly LatticeBase[];
  readonly #groups = new Map<string, Waiting[]>();

  /** @internal Use `createBatch`. */
  constructor(lattices: readonly LatticeBase[]) {
    this.lattices = lattices;
  }

  /** @internal Refuses a lattice that is not one of the batch. */
  check(lattice: LatticeBase, where: string): void {
    if (this.lattices.includes(lattice)) return;
    throw invalidArgument({
      where,
      problem: 'the batch was made of other lattices',
      fix: 'Give createBatch() all lattices that call with it.',
    });
  }

  /** @internal The result of a call, done together with all of the same key. */
  join<C, R>(key: string, call: C, together: Together<C, R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      let group = this.#groups.get(key);
      if (!group) {
        this.#groups.set(key, (group = []));
        void turn().then(() => this.#run(key, together));
      }
      group.push({ call, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  async #run<C, R>(key: string, together: Together<C, R>): Promise<void> {
    const group = this.#groups.get(key)!;
    this.#groups.delete(key);
    try {
      const results = await together(group.map((w) => w.call as C));
      group.forEach((w, i) => {
        w.resolve(results[i]);
      });
    } catch (error) {
      for (const w of group) w.reject(error);
    }
  }
}

/**
 * Makes calls on lattices of equal dimensions and size run together.
 *
 * ```ts
 * import { createBatch, Lattice } from 'gpuforge/lattice';
 * const mazes = [[5], [6, 7]].map((blocked) => new Lattice({ dimensions: 2, size: 4, runtime: rt, blocked }));
 * const batch = createBatch(mazes);
 * const found = await Promise.all(mazes.map((maze) => maze.distancesFrom(0, { batch })));
 * found.map((distances) => distances[15]); // → [6, 6]
 * ```
 */
export const createBatch = checked(
  'createBatch',
  'lattices:lattice[]',
  (lattices: readonly LatticeBase[]): LatticeBatch => {
    const where = 'createBatch';
    const fix = 'Give lattices of equal dimensions and size, and of one runtime.';
    if (!Array.isArray(lattices) || lattices.length === 0)
      throw invalidArgument({ where, problem: 'there are no lattices', fix });
    const [first] = lattices as readonly LatticeBase[];
    for (const l of lattices as readonly LatticeBase[]) {
      if (l.dimensions !== first!.dimensions || l.size !== first!.size) {
        const problem = `(${first!.dimensions}, ${first!.size}) and (${l.dimensions}, ${l.size}) are not of equal size`;
        throw invalidArgument({ where, problem, fix });
      }
      if (!l.sharesRuntime(first!)) throw invalidArgument({ where, problem: 'the lattices have not one runtime', fix });
    }
    return new LatticeBatch([...lattices]);
  },
  latticeKinds,
);
