// Second-order automata: next = f(current) XOR previous, for any local rule f. Reversible whatever f is: swapping the two states
// and going on runs time backwards. Only two states are kept, however many steps are made.

import type { Border, KernelValue, Runtime, Tensor } from '../../index.ts';
import { invalidArgument, wholeNumber } from '../errors.ts';

export interface SecondOrderOptions {
  /** Of the two states, which may be of any integer dtype. */
  readonly shape: readonly number[];
  readonly border?: Border | undefined;
}

export interface SecondOrder {
  /** Goes on by n steps. */
  step(n?: number): void;
  /** Turns time around: what was before comes after. */
  swap(): void;
  /** The current state and the one before it. */
  readonly state: { readonly current: Tensor; readonly previous: Tensor };
  dispose(): void;
}

/** Begins with copies of two states. `rule` gives the next state from the current one and its neighbours, without the XOR. */
export function secondOrder(
  rt: Runtime,
  rule: (x: KernelValue) => Tensor,
  start: { readonly current: Tensor; readonly previous: Tensor },
  o: SecondOrderOptions,
): SecondOrder {
  for (const [name, t] of Object.entries(start)) {
    if (t.shape.join() === o.shape.join() && t.dtype === start.current.dtype) continue;
    throw invalidArgument({
      where: 'secondOrder',
      problem: `the ${name} state is ${t.dtype} [${t.shape.join(', ')}], the automaton ${start.current.dtype} [${o.shape.join(', ')}]`,
      fix: 'Give both states with the shape and the dtype of the automaton.',
    });
  }
  const { dtype } = start.current;
  const next = rt.kernel((x, before) => rule(x).cast(dtype).bitwiseXor(before), { border: o.border });
  let [current, previous] = [start.current, start.previous].map((t) => t.bitwiseXor(0).compute()) as [Tensor, Tensor];
  return {
    step: (n = 1) => {
      wholeNumber('secondOrder', 'steps', n);
      for (let i = 0; i < n; i++) {
        const made = next(current, previous);
        previous.dispose();
        [current, previous] = [made, current];
      }
    },
    swap: () => {
      [current, previous] = [previous, current];
    },
    get state() {
      return { current, previous };
    },
    dispose: () => {
      current.dispose();
      previous.dispose();
    },
  };
}
