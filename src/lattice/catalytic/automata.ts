// Second-order automata: next = f(current) XOR previous, for any local rule f. Reversible whatever f is: swapping the two states
// and going on runs time backwards. Only two states are kept, however many steps are made.

import { checked, checkMethods } from '../../base/signatures.ts';
import type { Border, KernelValue, Runtime, Tensor } from '../../index.ts';
import { invalidArgument, wholeNumber } from '../errors.ts';
import { latticeKinds } from '../signatures.ts';

export interface SecondOrderOptions {
  readonly runtime: Runtime;
  /** Of both states. */
  readonly shape: readonly number[];
  /** What lies beyond the border. Default 'wrap'. */
  readonly border?: Border | undefined;
  /** The states to begin with, of one integer dtype; copies are made. Zeros of u32 where they are left out. */
  readonly current?: Tensor | undefined;
  readonly previous?: Tensor | undefined;
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

/** `rule` gives the next state from the current one and its neighbours, without the XOR. */
export const secondOrder = checked(
  'secondOrder',
  "rule:function o:{runtime:runtime!,shape:numbers!,border:'wrap'|'zero'|'clamp',current:tensor,previous:tensor}",
  (rule: (x: KernelValue) => Tensor, o: SecondOrderOptions): SecondOrder => {
    const { runtime: rt, shape, border } = o;
    const dtype = (o.current ?? o.previous)?.dtype ?? 'u32';
    const begin = (name: 'current' | 'previous'): Tensor => {
      const given = o[name];
      if (!given) return rt.zeros(shape, { dtype }).compute();
      if (given.shape.join() === shape.join() && given.dtype === dtype) return given.bitwiseXor(0).compute();
      throw invalidArgument({
        where: 'secondOrder',
        problem: `the ${name} state is ${given.dtype} [${given.shape.join(', ')}], the automaton ${dtype} [${shape.join(', ')}]`,
        fix: 'Give both states with the shape and the dtype of the automaton.',
      });
    };
    let [current, previous] = [begin('current'), begin('previous')];
    const next = rt.kernel((x, before) => rule(x).cast(dtype).bitwiseXor(before), { border });
    const automaton: SecondOrder = {
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
        next.dispose();
        current.dispose();
        previous.dispose();
      },
    };
    checkMethods(automaton, { step: 'n:number?', 'swap dispose': '' });
    return automaton;
  },
  latticeKinds,
);
