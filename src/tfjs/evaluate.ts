// One function per kernel of ours: from its inputs to its results, lazy.

import type { Tensor } from '../index.ts';
import { Call, type Native, type Out, type Reroute } from './kernel.ts';
import { complexKernels, kernels, stringKernels } from './kernels/all.ts';
import { type DirectBinary, directBinary } from './kernels/binary.ts';
import { conv } from './kernels/conv.ts';
import { products } from './kernels/matmul.ts';
import { directUnary } from './kernels/unary.ts';
import type { Source } from './source.ts';
import type { KernelInputs, TensorInfo } from './types.ts';

/** The kernels with an implementation here. */
export const kernelNames: readonly string[] = Object.keys(kernels);

/** Kernels that multiply matrices, or convolve. */
export const multiplies = (kernel: string): boolean => convolves(kernel) || Object.hasOwn(products, kernel);
export const convolves = (kernel: string): boolean => Object.hasOwn(conv, kernel);

/** The results of a call; null if there is no implementation for inputs of this kind. */
export type Evaluate = (source: Source, inputs: KernelInputs, attrs: unknown) => Out | Out[] | Reroute | null;

export type Kind = 'numeric' | 'complex64' | 'string';

const known = new Map<string, Evaluate>();

export function evaluator(kernel: string): Evaluate {
  let found = known.get(kernel);
  if (!found) known.set(kernel, (found = make(kernel)));
  return found;
}

function make(kernel: string): Evaluate {
  const byKind: Readonly<Record<Kind, Native | null>> = {
    numeric: pick(kernels, kernel),
    complex64: pick(complexKernels, kernel),
    string: pick(stringKernels, kernel),
  };
  const [one, two] = [pick(directUnary, kernel), pick(directBinary, kernel)];
  return (source, inputs, attrs) => {
    const made = one ? directOne(source, one, inputs.x!) : two ? directTwo(source, two, inputs.a!, inputs.b!) : null;
    if (made) return made;
    const run = byKind[kindOf(inputs)];
    return run && source.session.rt.scope(() => run(new Call(source, inputs, attrs)));
  };
}

// A single op on floats that are tensors already makes nothing on the way: no scope has to be opened for it, which takes as long as the
// op itself. Null where it must go the long way.

function directOne(source: Source, f: (x: Tensor) => Tensor, x: TensorInfo): Tensor | null {
  const tensor = source.floats(x);
  return tensor === null ? null : f(tensor);
}

function directTwo(source: Source, { f, either }: DirectBinary, a: TensorInfo, b: TensorInfo): Tensor | null {
  const [p, q] = [source.floats(a), source.floats(b)];
  if (p !== null && q !== null) return f(p, q);
  // A number that was just written, as in `x.mul(0.5)`, is an argument of the op: no tensor is made for it.
  if (p !== null && b.shape.length <= a.shape.length) return withNumber(f, p, source.numberOf(b));
  if (either && q !== null && a.shape.length <= b.shape.length) return withNumber(f, q, source.numberOf(a));
  return null;
}

const withNumber = (f: DirectBinary['f'], x: Tensor, value: number | null): Tensor | null =>
  value === null ? null : f(x, value);

const pick = <F>(table: Readonly<Record<string, F>>, name: string): F | null =>
  Object.hasOwn(table, name) ? table[name]! : null;

export function kindOf(inputs: KernelInputs): Kind {
  let kind: Kind = 'numeric';
  for (const name in inputs) {
    const dtype = inputs[name]?.dtype;
    if (dtype === 'string') return 'string';
    if (dtype === 'complex64') kind = 'complex64';
  }
  return kind;
}
