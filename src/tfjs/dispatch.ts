// One function per kernel that TF.js calls: native where there is an implementation, routed where there is none.

import { Tensor } from '../index.ts';
import type { ForgeBackend } from './backend.ts';
import { Call, type Out, Reroute } from './kernel.ts';
import { complexKernels, kernels, stringKernels } from './kernels/all.ts';
import { type DirectBinary, directBinary } from './kernels/binary.ts';
import { conv } from './kernels/conv.ts';
import { products } from './kernels/matmul.ts';
import { directUnary } from './kernels/unary.ts';
import type { Routed } from './routed.ts';
import type { ComplexPair, KernelInputs, NamedAttrMap, TensorInfo } from './types.ts';

interface Params {
  readonly inputs: KernelInputs;
  readonly attrs?: NamedAttrMap;
  readonly backend: unknown;
}

/** The kernels with an implementation here. */
export const kernelNames: readonly string[] = Object.keys(kernels);

export function dispatch(kernel: string, routed: Routed): (params: Params) => TensorInfo | TensorInfo[] {
  const native = pick(kernels, kernel);
  const byKind = { numeric: native, complex64: pick(complexKernels, kernel), string: pick(stringKernels, kernel) };
  const convolves = Object.hasOwn(conv, kernel);
  const multiplies = convolves || Object.hasOwn(products, kernel);
  const [one, two] = [pick(directUnary, kernel), pick(directBinary, kernel)];
  return ({ inputs, attrs, backend: given }) => {
    const backend = given as ForgeBackend;
    const made = one ? directOne(backend, one, inputs.x!) : two ? directTwo(backend, two, inputs.a!, inputs.b!) : null;
    if (made) {
      backend.session.ranNative(kernel);
      return backend.put(made);
    }
    const kind = kindOf(inputs);
    const run = byKind[kind];
    if (multiplies) backend.beforeProduct(convolves ? inputs.x : undefined);
    if (!run) return routed.run(kernel, inputs, attrs, backend, native ? `it has ${kind} inputs` : 'no kernel of ours');
    const { session } = backend;
    const result = session.rt.scope(() => run(new Call(backend, inputs, attrs)));
    if (result instanceof Reroute) return routed.run(kernel, inputs, attrs, backend, result.reason);
    session.ranNative(kernel);
    return Array.isArray(result) ? result.map((r) => put(backend, r)) : put(backend, result);
  };
}

// A single op on floats that are tensors already makes nothing on the way: no scope has to be opened for it, which takes as long as the
// op itself. Null where it must go the long way.

function directOne(backend: ForgeBackend, f: (x: Tensor) => Tensor, x: TensorInfo): Tensor | null {
  const tensor = backend.floats(x);
  return tensor === null ? null : f(tensor);
}

function directTwo(backend: ForgeBackend, { f, either }: DirectBinary, a: TensorInfo, b: TensorInfo): Tensor | null {
  const [p, q] = [backend.floats(a), backend.floats(b)];
  if (p !== null && q !== null) return f(p, q);
  // A number that was just written, as in `x.mul(0.5)`, is an argument of the op: no tensor is made for it.
  if (p !== null && b.shape.length <= a.shape.length) return withNumber(f, p, backend.numberOf(b));
  if (either && q !== null && a.shape.length <= b.shape.length) return withNumber(f, q, backend.numberOf(a));
  return null;
}

const withNumber = (f: DirectBinary['f'], x: Tensor, value: number | null): Tensor | null =>
  value === null ? null : f(x, value);

const pick = <F>(table: Readonly<Record<string, F>>, name: string): F | null =>
  Object.hasOwn(table, name) ? table[name]! : null;

function kindOf(inputs: KernelInputs): 'numeric' | 'complex64' | 'string' {
  let kind: 'numeric' | 'complex64' = 'numeric';
  for (const name in inputs) {
    const dtype = inputs[name]?.dtype;
    if (dtype === 'string') return 'string';
    if (dtype === 'complex64') kind = 'complex64';
  }
  return kind;
}

function put(backend: ForgeBackend, out: Out): TensorInfo {
  if (out instanceof Tensor) return backend.put(out);
  return 'dataId' in out ? (out as TensorInfo) : backend.putComplex(out as ComplexPair);
}
