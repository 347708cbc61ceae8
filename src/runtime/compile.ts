// rt.compile: a function of tensors, traced once per kind of arguments and replayed after; docs/compile.md says what it freezes.
//
// A recurrence `f = step(f)` leaves a trail of states that nobody disposes. States that came out of the function and went
// into it again are given up as soon as the next call no longer needs them: their memory is reused, and they keep a recipe
// (the first state and a number of steps) from which they are computed again if they are read after all. So the loop runs
// in constant memory, and no tensor ever has a wrong value. A function whose old states do get read stops giving them up,
// and one that draws random numbers never does: its steps are not to be repeated.

import { takesNone } from '../base/signatures.ts';
import { DisposedError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Engine } from './engine.ts';
import type { Executable } from './executable.ts';
import type { RuntimeHost } from './host.ts';
import { type Recurrent, recipes } from './recipe.ts';
import { leavesOf, run } from './replay.ts';
import { type Called, type Remembered, Signatures } from './signature.ts';
import type { Tree } from './tree.ts';

/** What a compiled function may take: tensors are inputs, numbers are told to the launch where they can be. */
export type CompileArgument =
  | Tensor
  | number
  | bigint
  | boolean
  | string
  | null
  | undefined
  | readonly CompileArgument[]
  | { readonly [name: string]: CompileArgument };
export type CompileResult = Tree<Tensor>;

export interface Compiled<A extends readonly CompileArgument[], R extends CompileResult> {
  (...args: A): R;
  /** Forgets what was traced and frees what it holds. */
  dispose(): void;
  /** The kernels of the last call, in order. */
  readonly kernels: readonly string[];
}

export interface CompileSettings {
  /** Looks at what the body made of placeholders; throws if it will not do. Not asked where the function is part of another one. */
  readonly verify?: (result: unknown) => void;
  /** Default: by the name of the body, or ''. */
  readonly called?: Called;
}

export function compile<A extends readonly CompileArgument[], R extends CompileResult>(
  host: RuntimeHost,
  engine: Engine,
  body: (...args: A) => R,
  { verify, called = { name: body.name, kernel: false } }: CompileSettings = {},
): Compiled<A, R> {
  const signatures = new Signatures(host, called);
  const verified = (...args: A): R => {
    const result = body(...args);
    verify?.(result);
    return result;
  };
  let last: Remembered | null = null;
  let disposed = false;

  const call = (...args: A): R => {
    host.checkOpen('compile');
    if (disposed) throw usedAfterDispose();
    // Part of a function that is being traced: its ops become ops of that one.
    if (host.traces) return body(...args);
    const inputs: Node[] = [];
    const known = signatures.find(args, inputs);
    const asked = known ?? signatures.learn(verified, args, inputs);
    last = asked;
    if (recipes.any) recipes.restore(inputs);
    const { draws } = asked.signature;
    let outputs: Node[];
    if (draws.length > 0) outputs = repeat(asked, known ? drawn(asked, host) : asked.scalars, engine, host)(inputs);
    else {
      const recurrence = recurrenceOf(asked, engine, host);
      outputs = recurrence.step(inputs);
      recipes.advance(recurrence, inputs, outputs);
    }
    const tensors: Tensor[] = [];
    for (let i = 0; i < outputs.length; i++) tensors.push(new Tensor(host, outputs[i]!));
    return asked.rebuild(tensors) as R;
  };
  abandoned.register(call, signatures, signatures);
  lastCalls.set(call, () => last);
  return Object.defineProperties(call, {
    dispose: {
      value: takesNone('dispose', () => {
        disposed = true;
        abandoned.unregister(signatures);
        signatures.clear();
      }),
    },
    kernels: { get: () => kernelsOf(last?.signature.executable) },
  }) as unknown as Compiled<A, R>;
}

/**
 * The same call again: of arguments, or of everything that was read. Made out here, where the body is not in sight: results keep it,
 * and so does `abandoned`; a body often sees the compiled function, which then could never be collected.
 */
function repeat(
  asked: Remembered,
  scalars: readonly number[],
  engine: Engine,
  host: RuntimeHost,
): (inputs: readonly Node[]) => Node[] {
  const again = (leaves: readonly Node[]): Node[] => run(asked, scalars, engine, host, leaves, again);
  return (inputs) => again(leavesOf(asked, inputs));
}

const recurrenceOf = (asked: Remembered, engine: Engine, host: RuntimeHost): Recurrent =>
  (asked.recurrence ??= {
    keeps: false,
    step: repeat(asked, asked.scalars, engine, host),
    onRecompute: host.recomputed,
  });

const noKernels: readonly string[] = [];
const kernelNames = new WeakMap<Executable, readonly string[]>();

/** The names of a program's kernels: made once, since some ask after every call. */
function kernelsOf(executable: Executable | null | undefined): readonly string[] {
  if (!executable) return noKernels;
  let names = kernelNames.get(executable);
  if (!names) kernelNames.set(executable, (names = executable.programs.map((p) => p.name)));
  return names;
}

const lastCalls = new WeakMap<object, () => Remembered | null>();

/** What a compiled function learned of its last call; null if there was none. */
export const lastCall = (compiled: object): Remembered | null => lastCalls.get(compiled)?.() ?? null;

/** Frees what functions hold that nobody can call any more; results that could be computed again with one keep it. */
const abandoned = new FinalizationRegistry<Signatures>((signatures) => signatures.clear());

/** The numbers of a call with new random keys. */
function drawn({ scalars, signature }: Remembered, host: RuntimeHost): readonly number[] {
  const fresh = [...scalars];
  for (const slot of signature.draws) fresh[slot] = host.nextKey();
  return fresh;
}

function usedAfterDispose(): DisposedError {
  return new DisposedError({
    code: 'USE_AFTER_DISPOSE',
    message: 'a compiled function was called after it was disposed',
    fix: 'Dispose it after its last call.',
    where: 'compile',
  });
}
