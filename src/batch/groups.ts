// One operation on a chunk of tensors.
//
// Everything happens in a scope, so that temporaries are gone when it ends. Tensors of equal shape are run as one compiled group (one
// recorded launch on devices that record): every item keeps the kernels it has alone, so that results are the same bits for
// any size of chunk. Stacking them into one tensor would not do that: the order of a sum follows from the number of rows.

import { promiseOf } from '../base/callbacks.ts';
import { ArgumentError, type Runtime, Tensor } from '../index.ts';
import { type Group, GroupCache, groupsOf } from './fused.ts';
import type { BatchOp, OpName, TensorOp } from './ops.ts';
import { ops } from './ops.ts';

/** Whether a device sums in f64. */
export const isWide = (runtime: Runtime, device: string): boolean => runtime.device(device).caps.dtypes.has('f64');

/** Compiled groups for one device of a runtime; they end with it. */
export class Groups {
  readonly #runtime: Runtime;
  readonly #wide: boolean;
  readonly #compiled: GroupCache;

  constructor(runtime: Runtime, device: string) {
    this.#runtime = runtime;
    this.#compiled = new GroupCache(runtime);
    this.#wide = isWide(runtime, device);
  }

  /** One result per tensor, in their order, computed where the caller's scope says; that frees what was made if this throws. */
  run(tensors: readonly Tensor[], op: BatchOp): Tensor[] {
    if (typeof op === 'string') return this.#runtime.scope(() => this.#named(tensors, op));
    return tensors.map((t) => this.#custom(t, op));
  }

  /** A user's function may read anything, so each item is computed alone. */
  #custom(tensor: Tensor, op: TensorOp): Tensor {
    return this.#runtime.scope(() => {
      const result: unknown = op(tensor);
      if (!(result instanceof Tensor)) throw notATensor(result);
      // A handle of its own: the function may return its operand, or a tensor that somebody else disposes.
      return result.clone().compute();
    });
  }

  #named(tensors: readonly Tensor[], op: OpName): Tensor[] {
    const results = new Array<Tensor>(tensors.length);
    const byKind = new Map<string, Map<Tensor, number[]>>();
    tensors.forEach((t, i) => {
      const key = `${t.dtype}[${t.shape.join()}]`;
      let kind = byKind.get(key);
      if (!kind) byKind.set(key, (kind = new Map()));
      // The same tensor twice is computed once.
      const same = kind.get(t);
      if (same) same.push(i);
      else kind.set(t, [i]);
    });
    for (const [key, kind] of byKind) {
      const positions = [...kind.values()];
      let at = 0;
      for (const size of groupsOf(positions.length)) {
        const part = positions.slice(at, (at += size));
        const made = this.#group(op, size, key)(...part.map((p) => tensors[p[0]!]!));
        part.forEach((list, k) => {
          list.forEach((i, n) => {
            results[i] = n === 0 ? made[k]! : made[k]!.clone();
          });
        });
      }
    }
    return results;
  }

  #group(op: OpName, size: number, kind: string): Group {
    const { run } = ops[op];
    return this.#compiled.of(
      `${op} ${size} ${kind}`,
      () =>
        (...list) =>
          list.map((t) => run(t, this.#wide)),
    );
  }
}

const notATensor = (result: unknown): ArgumentError =>
  new ArgumentError({
    message: `processBatch: the operation returned ${promiseOf(result) ? 'a promise' : typeof result}, not a tensor`,
    where: 'processBatch',
    fix: 'Return a tensor. Operations are lazy and need no await.',
  });
