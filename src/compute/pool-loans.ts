// The tensors of a pool that are in callers' hands: which they are, and which came back before. Held weakly, so that a caller
// who forgets one costs no memory.

import { ArgumentError, DisposedError, type Tensor } from '../index.ts';
import type { Content } from './pool-stock.ts';

export interface Loan {
  readonly key: string;
  readonly content: Content;
  readonly bytes: number;
  readonly handle: WeakRef<Tensor>;
}

const operation = 'releaseTensor';

export class Loans {
  readonly #byHandle = new WeakMap<Tensor, Loan>();
  readonly #out = new Set<Loan>();
  readonly #returned = new WeakSet<Tensor>();

  lend(tensor: Tensor, key: string, content: Content): void {
    const loan = { key, content, bytes: tensor.nbytes, handle: new WeakRef(tensor) };
    this.#byHandle.set(tensor, loan);
    this.#out.add(loan);
    if (this.#out.size % 1024 === 0) this.#sweep();
  }

  /** Ends a loan. Throws, naming the case, for a tensor that is not out. */
  takeBack(tensor: Tensor): Loan {
    if (this.#returned.has(tensor)) throw misuse('it was released before', 'Release a tensor once.');
    const loan = this.#byHandle.get(tensor);
    if (!loan) {
      const hint = 'Release only what reuseOrCreateTensor returned; dispose the others.';
      throw misuse('it does not come from this pool', hint);
    }
    this.#byHandle.delete(tensor);
    this.#out.delete(loan);
    if (tensor.disposed) {
      const hint = 'Release it instead of disposing it; a scope disposes what it made, so release it inside.';
      throw new DisposedError({ message: `${operation}: ${tensor} was disposed`, where: operation, fix: hint });
    }
    this.#returned.add(tensor);
    return loan;
  }

  /** What is out now, in tensors per key and in bytes. */
  count(): { readonly bytes: number; readonly byKey: ReadonlyMap<string, number> } {
    this.#sweep();
    const byKey = new Map<string, number>();
    let bytes = 0;
    for (const loan of this.#out) {
      byKey.set(loan.key, (byKey.get(loan.key) ?? 0) + 1);
      bytes += loan.bytes;
    }
    return { bytes, byKey };
  }

  /** Disposes what is out. */
  recall(): void {
    for (const loan of this.#out) loan.handle.deref()?.dispose();
    this.#out.clear();
  }

  /** Forgets what borrowers disposed or dropped; releasing it later is still an error of its own. */
  #sweep(): void {
    for (const loan of [...this.#out]) if (loan.handle.deref()?.disposed ?? true) this.#out.delete(loan);
  }
}

const misuse = (message: string, fix: string): ArgumentError =>
  new ArgumentError({ message: `${operation}: ${message}`, where: operation, fix });
