// The kernels of walks around one mask, made ready by kind of word and by seed.
//
// They read a tensor that says which vertices are free. It lives until nobody uses the kernels any more: a program in borrowed memory
// needs them to undo its steps, whatever has become of the mask or the lattice since.

import type { Runtime, Tensor } from '../../index.ts';
import type { Grid } from '../grid.ts';
import type { Mask } from '../mask.ts';
import type { Pinned } from '../on-device/rounds.ts';
import { freeTensor, type WordKind, type Words, words } from './words.ts';

/** Kinds and seeds whose kernels are kept. */
const mostWords = 8;

export class WalkKernels {
  readonly #grid: Grid;
  readonly #mask: Mask | null;
  readonly #words = new Map<string, Words>();
  #free: Tensor | null = null;
  #users = 0;
  #ended = false;

  constructor(grid: Grid, mask: Mask | null) {
    this.#grid = grid;
    this.#mask = mask;
  }

  /** Keeps them while some work goes on. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#users++;
    try {
      return await work();
    } finally {
      this.#users--;
      this.#drop();
    }
  }

  of(rt: Runtime, pinned: Pinned, kind: WordKind, seed: number): Words {
    const key = `${kind} ${seed}`;
    let known = this.#words.get(key);
    if (known) return known;
    if (this.#words.size >= mostWords) this.#words.clear();
    const grid = this.#grid;
    this.#free ??= pinned(() => freeTensor(rt, grid, this.#mask));
    this.#words.set(key, (known = words[kind]({ rt, grid, free: this.#free, seed })));
    return known;
  }

  /** They are not wanted any more: gone now, or with the work that goes on. */
  end(): void {
    this.#ended = true;
    this.#drop();
  }

  #drop(): void {
    if (!this.#ended || this.#users > 0) return;
    this.#words.clear();
    this.#free?.dispose();
    this.#free = null;
  }
}
