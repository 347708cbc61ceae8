// One function per kernel that TF.js calls: native where there is an implementation, routed where there is none.

import { Tensor } from '../index.ts';
import type { ForgeBackend } from './backend.ts';
import { Call, type Kernels, type Native, type Out, Reroute } from './kernel.ts';
import { complexKernels, kernels, stringKernels } from './kernels/all.ts';
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
  return ({ inputs, attrs, backend: given }) => {
    const backend = given as ForgeBackend;
    const kind = kindOf(inputs);
    const run = byKind[kind];
    if (!run) return routed.run(kernel, inputs, attrs, backend, native ? `it has ${kind} inputs` : 'no kernel of ours');
    const { session } = backend;
    const result = session.rt.scope(() => run(new Call(backend, inputs, attrs)));
    if (result instanceof Reroute) return routed.run(kernel, inputs, attrs, backend, result.reason);
    session.ranNative(kernel);
    return Array.isArray(result) ? result.map((r) => put(backend, r)) : put(backend, result);
  };
}

const pick = (table: Kernels, name: string): Native | null => (Object.hasOwn(table, name) ? table[name]! : null);

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
