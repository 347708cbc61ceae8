// The tensors that a facade handed out, held weakly: to count them, and to dispose of them with it.

import { nextTurn, type Tensor } from '../index.ts';

const maxYoung = 512;

export class Handles {
  #young: Tensor[] = [];
  readonly #known = new Set<WeakRef<Tensor>>();
  #sweepAt = 1024;

  /**
   * Remembers a tensor. For the current turn of the event loop it is only noted: most results live no longer, and a weak
   * reference costs more than many an operation.
   */
  add(tensor: Tensor): void {
    if (this.#young.length === 0) nextTurn(() => this.#settle());
    else if (this.#young.length >= maxYoung) this.#settle();
    this.#young.push(tensor);
  }

  count(): { readonly live: number; readonly lost: number } {
    this.#settle();
    this.#sweep();
    let lost = 0;
    for (const ref of this.#known) if (ref.deref()?.lost) lost++;
    return { live: this.#known.size - lost, lost };
  }

  /** Disposes of every tensor that was handed out. */
  clear(): void {
    this.#settle();
    for (const ref of this.#known) ref.deref()?.dispose();
    this.#known.clear();
  }

  #settle(): void {
    for (const tensor of this.#young) if (!tensor.disposed) this.#known.add(new WeakRef(tensor));
    this.#young = [];
    if (this.#known.size >= this.#sweepAt) this.#sweep();
  }

  #sweep(): void {
    for (const ref of this.#known) if (ref.deref()?.disposed ?? true) this.#known.delete(ref);
    this.#sweepAt = Math.max(1024, 2 * this.#known.size);
  }
}
