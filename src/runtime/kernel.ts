// rt.kernel: a user's own elementwise, stencil or reduction kernel, written with values rather than source text.
//
// The body gets its inputs as tensors that can also be read at a neighbour's place: `x.at(-1)` is the element one before on
// the last axis, `x.at(0, 1)` one further on the last axis of a matrix. It must fuse into one kernel, or it is refused. Numbers
// among the arguments are given to the body as they are; several results come as an array or an object of tensors.
//
// There is no way to write into a tensor that goes on living: tensors never change, which is what lets their bytes be at several
// places at once, be shared by reshaped tensors, and be computed again after a loss. `inPlace` gives the same saving: the result
// takes over the memory of an input that ends with the call.

import type { DType } from '../base/dtype.ts';
import { show } from '../base/shape.ts';
import { takesNone } from '../base/signatures.ts';
import { ArgumentError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { alu, constant } from '../tensor/build.ts';
import { nodeOf, TensorCore } from '../tensor/core.ts';
import type { TensorHost } from '../tensor/host.ts';
import { Tensor } from '../tensor/tensor.ts';
import { type CompileResult, compile } from './compile.ts';
import type { Engine } from './engine.ts';
import type { RuntimeHost } from './host.ts';
import { flatten } from './tree.ts';

/** What neighbours beyond the border are: the other end, zero, or the nearest element. */
export type Border = 'wrap' | 'zero' | 'clamp';

export interface KernelOptions {
  readonly border?: Border | undefined;
  /** Shows in events, profiles, errors and `rt.explain`. Default: what the kernel does, such as `add_mul_f32_1024`. */
  readonly name?: string | undefined;
  /**
   * The input, by its number, whose memory the result takes over. The call disposes of that input. The result gets memory of its
   * own where the old values are still needed: by another tensor, or because the kernel reads neighbours of them.
   */
  readonly inPlace?: number | undefined;
}

/** An input of a kernel: a tensor that can be read at an offset. */
export interface KernelValue<D extends DType = DType> extends Tensor<D> {
  /** The value at an offset per axis; fewer offsets than axes count from the last axis. */
  at(...offsets: number[]): Tensor<D>;
}

/** What the body of a kernel is given: tensors as `KernelValue`, numbers as they are. */
export type KernelInput = KernelValue | number;

/** A kernel is called with a tensor for each value of its body. */
export type KernelArguments<A extends readonly KernelInput[]> = {
  [I in keyof A]: A[I] extends number ? number : Tensor;
};

/** A kernel of one's own. */
export interface UserKernel<A extends readonly KernelInput[], R extends CompileResult> {
  (...args: KernelArguments<A>): R;
  /** Its name, or what it does once it has run. */
  readonly kernel: string;
  /** Forgets what was prepared. It cannot be called afterwards. */
  dispose(): void;
}

export function kernel<A extends readonly KernelInput[], R extends CompileResult>(
  engine: Engine,
  host: RuntimeHost,
  body: (...inputs: A) => R,
  options: KernelOptions,
): UserKernel<A, R> {
  const { border = 'wrap', name, inPlace } = checked(options);
  const verify = (result: unknown): void => {
    const { values } = flatten(result, isTensor, 'kernel', 'a result');
    const { steps } = engine.plan(values.map((t) => nodeOf(t, host, 'kernel'))).plan;
    if (steps.length > 1)
      throw notOneKernel(
        name,
        steps.map((s) => s.fused.name),
      );
  };
  const compiled = compile(
    host,
    engine,
    (...args: (Tensor | number)[]) =>
      body(...(args.map((a) => (isTensor(a) ? stencilInput(host, a.node, border) : a)) as unknown as A)),
    { verify, called: { name: name ?? '', kernel: name !== undefined } },
  );
  const call = (...args: (Tensor | number)[]): R => {
    const donor = inPlace === undefined ? null : givenUp(args[inPlace], inPlace);
    const run = (): R => compiled(...args);
    const result = donor ? engine.inPlace(nodeOf(donor, host, 'kernel'), run) : run();
    donor?.dispose();
    return result;
  };
  return Object.defineProperties(call, {
    dispose: { value: takesNone('dispose', () => compiled.dispose()) },
    kernel: { get: () => name ?? compiled.kernels[0] ?? '' },
  }) as unknown as UserKernel<A, R>;
}

function checked(options: KernelOptions): KernelOptions {
  const { name, inPlace } = options;
  if (name !== undefined && (name === '' || name.length > mostLetters)) {
    throw new ArgumentError({
      code: 'BAD_NAME',
      message: `kernel: '${name.slice(0, 40)}' is no name`,
      fix: `Give a text of 1 to ${mostLetters} letters.`,
      where: 'kernel',
    });
  }
  if (inPlace !== undefined && !(Number.isSafeInteger(inPlace) && inPlace >= 0)) {
    throw new ArgumentError({
      code: 'BAD_INPUT_NUMBER',
      message: `kernel: inPlace is ${String(inPlace)}`,
      fix: 'Give the number of an input, counted from 0.',
      where: 'kernel',
    });
  }
  return options;
}

const mostLetters = 200;

const isTensor = (value: unknown): value is Tensor => value instanceof TensorCore;

function givenUp(argument: Tensor | number | undefined, position: number): Tensor {
  if (argument instanceof TensorCore) return argument as Tensor;
  throw new ArgumentError({
    code: 'BAD_INPUT_NUMBER',
    message: `kernel: inPlace is ${position}, and argument ${position} is ${argument === undefined ? 'missing' : 'no tensor'}`,
    fix: 'Give the number of an input that is a tensor, counted from 0.',
    where: 'kernel',
  });
}

function notOneKernel(name: string | undefined, kernels: readonly string[]): ArgumentError {
  return new ArgumentError({
    code: 'NOT_ONE_KERNEL',
    message: `kernel${name ? ` ${name}` : ''}: the body takes ${kernels.length} kernels: ${kernels.join(', ')}`,
    fix: 'A kernel is elementwise work with at most one reduction at its end; use rt.compile for more.',
    where: 'kernel',
  });
}

export function stencilInput(host: TensorHost, node: Node, border: Border): KernelValue {
  const tensor = new Tensor(host, node);
  const at = (...offsets: number[]): Tensor => {
    const shape = node.shape.values;
    if (offsets.length > shape.length || offsets.some((o) => !Number.isSafeInteger(o))) {
      throw new ShapeError({
        code: 'BAD_OFFSET',
        message: `kernel: offsets ${show(offsets)} for an input of shape ${show(shape)}`,
        fix: 'Give at most one whole number per axis.',
        where: 'kernel',
      });
    }
    const all = shape.map((_, i) => offsets[i - (shape.length - offsets.length)] ?? 0);
    return new Tensor(host, borders[border](node, all));
  };
  return Object.assign(tensor, { at }) as KernelValue;
}

/** Positions 0 … n-1 moved by `o`, held within them. Unsigned: there is no sign to be looked at before a load. */
function held(n: number, o: number): Node {
  const number = (value: number): Node => constant('u32', value, true);
  const [here, away] = [makeNode('iota', 'u32', [n], [], args.axis(0)), number(Math.min(Math.abs(o), n))];
  return o > 0 ? alu('min', alu('add', here, away), number(n - 1)) : alu('sub', alu('max', here, away), away);
}

/** An axis moved by `o`: what is left of it, and its first or last slice as often as it takes. */
function heldAtEnds(x: Node, axis: number, o: number): Node {
  const { values } = x.shape;
  const n = values[axis]!;
  const missing = Math.min(Math.abs(o), n);
  if (missing === 0) return x;
  const part = (start: number, size: number): Node => {
    const starts = values.map((_, i) => (i === axis ? start : 0));
    const steps = values.map(() => 1);
    return makeNode('slice', x.dtype, values.with(axis, size), [x], args.slice(starts, steps));
  };
  const edge = part(o > 0 ? n - 1 : 0, 1);
  const border = makeNode('expand', x.dtype, values.with(axis, missing), [edge]);
  if (missing === n) return border;
  const rest = part(o > 0 ? missing : 0, n - missing);
  return makeNode('concat', x.dtype, values, o > 0 ? [rest, border] : [border, rest], args.axis(axis));
}

const borders: Readonly<Record<Border, (x: Node, offsets: readonly number[]) => Node>> = {
  wrap: (x, offsets) => {
    const { values } = x.shape;
    const shifts = offsets.map((o, i) => (values[i] === 0 ? 0 : ((-o % values[i]!) + values[i]!) % values[i]!));
    return shifts.every((s) => s === 0) ? x : makeNode('roll', x.dtype, values, [x], args.list(shifts));
  },
  zero: (x, offsets) => {
    const { values } = x.shape;
    const before = offsets.map((o) => Math.max(0, -o));
    const grown = values.map((d, i) => d + Math.abs(offsets[i]!));
    const padded = makeNode('pad', x.dtype, grown, [x, constant(x.dtype, 0)], args.list(before));
    const starts = offsets.map((o) => Math.max(0, o));
    return makeNode(
      'slice',
      x.dtype,
      values,
      [padded],
      args.slice(
        starts,
        values.map(() => 1),
      ),
    );
  },
  // Moves only, so that the body stays one kernel. Along the last axis, where neighbours are loaded together: what is left of the
  // axis, and its last slice as often as it takes. Along the others each position reads one place, wherever that is.
  clamp: (x, offsets) => {
    const { values } = x.shape;
    const last = values.reduce((found, d, i) => (d === 1 ? found : i), -1);
    // The last axis first: its parts are parts of the input itself, with nothing to compute that would have to be stored.
    let node = last < 0 ? x : heldAtEnds(x, last, offsets[last]!);
    offsets.forEach((o, axis) => {
      if (axis === last || o === 0 || values[axis] === 0) return;
      node = makeNode('gather', node.dtype, values, [node, held(values[axis]!, o)], args.axis(axis));
    });
    return node;
  },
};
