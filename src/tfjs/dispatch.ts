// One function per kernel that TF.js calls: put off where the call is known, native where there is an implementation, routed where
// there is none.

import { Tensor } from '../index.ts';
import type { ForgeBackend } from './backend.ts';
import { convolves, evaluator, kernelNames, kindOf, multiplies } from './evaluate.ts';
import { type Out, Reroute } from './kernel.ts';
import { sharing } from './kernels/sharing.ts';
import { canBeOnHost } from './on-host.ts';
import type { Routed } from './routed.ts';
import type { Session } from './session.ts';
import type { ComplexPair, KernelInputs, NamedAttrMap, TensorInfo } from './types.ts';

interface Params {
  readonly inputs: KernelInputs;
  readonly attrs?: NamedAttrMap;
  readonly backend: unknown;
}

type Dispatched = (params: Params) => TensorInfo | TensorInfo[];

export function dispatch(kernel: string, session: Session, routed: Routed): Dispatched {
  return Object.hasOwn(sharing, kernel) ? shares(kernel, session) : computes(kernel, session, routed);
}

/** Kernels that do nothing to the data, whatever it is and whether it is there yet. */
function shares(kernel: string, session: Session): Dispatched {
  const [evaluate, ran] = [evaluator(kernel), session.counter(kernel)];
  return ({ inputs, attrs, backend: given }) => {
    const backend = given as ForgeBackend;
    const out = evaluate(backend, inputs, attrs) as TensorInfo;
    ran.times++;
    return out;
  };
}

function computes(kernel: string, session: Session, routed: Routed): Dispatched {
  const [evaluate, ran] = [evaluator(kernel), session.counter(kernel)];
  const [product, convolution, small] = [multiplies(kernel), convolves(kernel), canBeOnHost(kernel)];
  return ({ inputs, attrs, backend: given }) => {
    const backend = given as ForgeBackend;
    if (product) backend.pending.beforeProduct();
    if (small && session.steps.readAtOnce.has(kernel) && backend.turn.fresh) {
      const made = backend.computeOnHost(kernel, inputs.a!, inputs.b!);
      if (made !== null) {
        ran.times++;
        return made;
      }
    }
    const known = backend.turn.follow(kernel, inputs, attrs);
    if (known !== null) {
      ran.times++;
      return known;
    }
    if (convolution && inputs.x) backend.beforeConvolution(inputs.x);
    backend.looked = false;
    const result = evaluate(backend, inputs, attrs);
    if (result === null || result instanceof Reroute) {
      backend.turn.learn(kernel, inputs, attrs, null, false);
      return routed.run(kernel, inputs, attrs, backend, result === null ? reason(kernel, inputs) : result.reason);
    }
    ran.times++;
    const list = Array.isArray(result);
    const out = list ? result.map((r) => put(backend, r)) : [put(backend, result)];
    backend.turn.learn(kernel, inputs, attrs, backend.looked ? null : out, list);
    backend.wait();
    return list ? out : out[0]!;
  };
}

const reason = (kernel: string, inputs: KernelInputs): string =>
  kernelNames.includes(kernel) ? `it has ${kindOf(inputs)} inputs` : 'no kernel of ours';

function put(backend: ForgeBackend, out: Out): TensorInfo {
  if (out instanceof Tensor) return backend.put(out);
  return 'dataId' in out ? (out as TensorInfo) : backend.putComplex(out as ComplexPair);
}
