// Memory of a lattice's own that catalytic methods borrow: allocated when it is first needed, and divided as the last work needed it.
// Works that borrow it take turns.

import type { Tensor } from '../../index.ts';

export class Auxiliary {
  /** What was asked for, in whole words of 8 bytes. */
  readonly bytes: number;
  #tensors: readonly Tensor[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(bytes: number) {
    this.bytes = 8 * Math.ceil(bytes / 8);
  }

  /** Bytes that are there: all or nothing. */
  get allocated(): number {
    return this.#tensors.length > 0 ? this.bytes : 0;
  }

  /** As many `pieces` of `pieceBytes` as there is room for, and one of the rest. Another division than the last is made anew. */
  divided(
    pieces: number,
    pieceBytes: number,
    make: (sizes: readonly number[]) => readonly Tensor[],
  ): readonly Tensor[] {
    const size = 4 * Math.ceil(pieceBytes / 4);
    const count = Math.min(pieces, Math.floor(this.bytes / size));
    const rest = this.bytes - count * size;
    const sizes = [...new Array<number>(count).fill(size), ...(rest > 0 ? [rest] : [])];
    if (sizes.join() === this.#tensors.map((t) => 4 * t.size).join()) return this.#tensors;
    this.free();
    this.#tensors = make(sizes);
    return this.#tensors;
  }

  /** Does some work on it when all that came before is done. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => {});
    return mine;
  }

  free(): void {
    for (const t of this.#tensors) if (!t.disposed) t.dispose();
    this.#tensors = [];
  }
}
