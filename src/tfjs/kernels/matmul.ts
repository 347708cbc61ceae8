// Matrix products, with what follows them.

import type { Tensor } from '../../index.ts';
import type { Call, Kernels } from '../kernel.ts';
import { preluOf } from './binary.ts';
import { elu, leakyRelu, relu6 } from './unary.ts';

function matmul(c: Call): Tensor {
  const [a, b] = [c.operand('a'), c.operand('b')];
  const { transposeA, transposeB } = c.attrs<{ transposeA: boolean; transposeB: boolean }>();
  const x = transposeA ? a.swapaxes(-2, -1) : a;
  const y = transposeB ? b.swapaxes(-2, -1) : b;
  const [inner, outer] = [x.shape[x.rank - 1], y.shape[y.rank - 2]];
  c.tf.util.assert(
    inner === outer,
    () =>
      `Error in matMul: inner shapes (${inner}) and (${outer}) of Tensors with shapes ${a.shape} and ${b.shape} and transposeA=${transposeA} and transposeB=${transposeB} must match.`,
  );
  return c.asInput('a', x.matmul(y));
}

interface FusedAttrs {
  readonly activation: string | null | undefined;
  readonly leakyreluAlpha: number | undefined;
}

type Activation = (c: Call, x: Tensor) => Tensor;

const activations: Readonly<Record<string, Activation>> = {
  linear: (_, x) => x,
  relu: (_, x) => x.relu(),
  relu6: (_, x) => relu6(x),
  elu: (c, x) => elu(c.rt, x),
  sigmoid: (_, x) => x.sigmoid(),
  leakyrelu: (c, x) => leakyRelu(c.rt, x, c.attrs<FusedAttrs>().leakyreluAlpha ?? 0.2),
  prelu: (c, x) => preluOf(c.rt, x, c.f('preluActivationWeights')),
};

/** Bias and activation behind a product: the runtime puts them into its kernel where the device can. */
export function fused(c: Call, product: Tensor, bias = c.has('bias') ? c.x('bias') : null): Tensor {
  const { activation } = c.attrs<FusedAttrs>();
  const sum = bias ? product.add(bias) : product;
  if (!activation) return sum;
  const act = activations[activation];
  if (!act) throw new Error(`Activation ${activation} has not been implemented.`);
  return act(c, sum);
}

export const products: Kernels = {
  BatchMatMul: matmul,
  _FusedMatMul: (c) => fused(c, matmul(c)),
};
