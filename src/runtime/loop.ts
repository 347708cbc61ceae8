// rt.loop: repeats a compiled body while a condition holds, looking at the condition only every few rounds.
//
// The condition is computed on the device in every round. Once it is false, further rounds leave the state as it is, so
// the result is that of a plain `while`, however seldom the host looks.

import { promiseOf } from '../base/callbacks.ts';
import { sameShape, show } from '../base/shape.ts';
import { turnIfDue } from '../base/turn.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { aborted } from '../governor/recovery/errors.ts';
import { args } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { alu, cast, constant, expand, reshape } from '../tensor/build.ts';
import { nodeOf, TensorCore, type WaitOptions } from '../tensor/core.ts';
import { Tensor } from '../tensor/tensor.ts';
import { compile } from './compile.ts';
import type { Engine } from './engine.ts';
import type { RuntimeHost } from './host.ts';
import { flatten, type Tree } from './tree.ts';

export interface LoopOptions extends WaitOptions {
  /** Rounds between two looks at the condition. Default 16. */
  readonly every?: number | undefined;
  /** The most rounds. Default 1,000,000. */
  readonly maxRounds?: number | undefined;
}

export interface LoopResult<S> {
  /** The last state: new tensors, or those given if there was no round. */
  readonly state: S;
  readonly rounds: number;
  /** The condition was false in the end; else there were `maxRounds` rounds. */
  readonly ended: boolean;
}

/** A tensor, or arrays and plain objects of tensors. */
export type LoopState = Tree<Tensor>;

export async function loop<S extends LoopState>(
  host: RuntimeHost,
  engine: Engine,
  condition: (state: S) => Tensor,
  body: (state: S) => S,
  state: S,
  options: LoopOptions,
): Promise<LoopResult<S>> {
  const { signal } = options;
  const every = count(options.every, 16, 'every');
  const maxRounds = count(options.maxRounds, 1_000_000, 'maxRounds');
  const functions = { condition: checked(condition), body };
  const ready = (s: S) => status(host, constant('i32', 0), nodeOf(functions.condition(s), host, 'loop'));
  const called = { name: 'loop', kernel: false };
  const first = compile(host, engine, ready, { called });
  const step = compile(host, engine, (s: S, before: Tensor) => round(host, functions, s, before), { called });
  let at: { readonly state: S; readonly status: Tensor } = { state, status: first(state) };
  let remembered = false;
  const drop = (): void => {
    at.status.dispose();
    if (at.state !== state) for (const t of tensorsOf(at.state)) t.dispose();
  };
  try {
    for (;;) {
      await turnIfDue(performance.now());
      if (signal?.aborted) throw aborted('loop', signal);
      const [rounds, more] = (await at.status.data({ signal })) as Int32Array;
      if (!more || rounds! >= maxRounds) {
        at.status.dispose();
        remembered = at.state !== state && tensorsOf(at.state).some((t) => t.node.lineage !== null);
        return { state: at.state, rounds: rounds!, ended: !more };
      }
      for (let n = Math.min(every, maxRounds - rounds!); n > 0; n--) {
        const next = step(at.state, at.status) as typeof at;
        drop();
        at = next;
      }
    }
  } catch (e) {
    drop();
    throw e;
  } finally {
    first.dispose();
    // Nobody can call it again: what it captured is let go, unless a loss of the device would have the result computed anew with it.
    if (!remembered) step.dispose();
  }
}

interface LoopFunctions<S> {
  readonly condition: (state: S) => Tensor;
  readonly body: (state: S) => S;
}

/** One round, without effect once the condition was false. */
function round<S extends LoopState>(
  host: RuntimeHost,
  { condition, body }: LoopFunctions<S>,
  state: S,
  before: Tensor,
) {
  const goes = alu('ne', word(before.node, 1), constant('i32', 0));
  const old = flatten(state, isTensor, 'loop', 'the state');
  const made = flatten(body(state), isTensor, 'loop', 'the new state');
  if (made.values.length !== old.values.length) throw differs(`${made.values.length} tensors for ${old.values.length}`);
  const next = made.values.map((t, i) => {
    const was = old.values[i]!;
    if (t.dtype !== was.dtype || !sameShape(t.shape, was.shape))
      throw differs(`tensor ${i} went from ${was.dtype} ${show(was.shape)} to ${t.dtype} ${show(t.shape)}`);
    return new Tensor(host, alu('where', expand(goes, t.shape), nodeOf(t, host, 'loop'), was.node));
  });
  const kept = old.rebuild(next) as S;
  const rounds = alu('add', word(before.node, 0), cast(goes, 'i32'));
  return { state: kept, status: status(host, rounds, alu('and', goes, nodeOf(condition(kept), host, 'loop'))) };
}

/** Rounds so far, and whether there is another one, as one tensor: one read tells both. */
function status(host: RuntimeHost, rounds: Node, goes: Node): Tensor {
  const both = [reshape(rounds, [1]), reshape(cast(goes, 'i32'), [1])];
  return new Tensor(host, makeNode('concat', 'i32', [2], both, args.axis(0)));
}

const word = (node: Node, i: number): Node => reshape(makeNode('slice', 'i32', [1], [node], args.slice([i], [1])), []);

const isTensor = (v: unknown): v is Tensor => v instanceof TensorCore;

const tensorsOf = (state: LoopState): Tensor[] => flatten(state, isTensor, 'loop', 'the state').values;

/** The condition as a bool of rank 0. */
const checked =
  <S>(condition: (state: S) => Tensor) =>
  (state: S): Tensor => {
    const t = condition(state);
    if (isTensor(t) && t.size === 1) return t.cast('bool').reshape([]);
    promiseOf(t);
    throw new ArgumentError({
      code: 'BAD_CONDITION',
      message: `loop: the condition is ${isTensor(t) ? `a tensor of shape ${show(t.shape)}` : typeof t}, not one truth value`,
      fix: 'Return a tensor of one element, such as x.max().greater(1e-6).',
      where: 'loop',
    });
  };

function count(value: number | undefined, otherwise: number, name: string): number {
  const n = value ?? otherwise;
  if (Number.isSafeInteger(n) && n >= 1) return n;
  throw new ArgumentError({
    code: 'BAD_COUNT',
    message: `loop: ${name} is ${String(value)}`,
    fix: 'Use a whole number of 1 or more.',
    where: 'loop',
  });
}

function differs(what: string): ShapeError {
  return new ShapeError({
    code: 'STATE_CHANGED',
    message: `loop: the new state is not like the old one: ${what}`,
    fix: 'Return tensors of the same dtypes and shapes, in the same places.',
    where: 'loop',
  });
}
