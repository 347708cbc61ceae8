// Grayscale dilation and its gradients: the largest of input plus filter over each window.

import type { Tensor } from '../../index.ts';
import type { Call, Kernels } from '../kernel.ts';
import { sharesOf } from './pool.ts';
import { stored } from './types.ts';
import { fold, type Geometry, geometry2, shiftedInputs, taps } from './windows.ts';

interface DilationAttrs {
  readonly strides: number | [number, number];
  readonly pad: 'valid' | 'same' | number;
  readonly dilations: number | [number, number];
}

/** What TF.js starts from. */
const least = Number.MIN_SAFE_INTEGER;

function dilated(c: Call): { value: Tensor; at: Tensor; g: Geometry } {
  const [x, filter] = [c.f('x'), c.f('filter')];
  const { strides, pad, dilations } = c.attrs<DilationAttrs>();
  const shape = [...x.shape] as [number, number, number, number];
  const size = [...filter.shape] as [number, number, number];
  const g = geometry2(c.tf.backend_util.computeDilation2DInfo(shape, size, strides, pad, 'NHWC', dilations));
  const weights = taps(filter, 0, g.kernel);
  let value: Tensor = c.rt.full([], least);
  let at: Tensor = c.rt.full([], 0, { dtype: 'i32' });
  shiftedInputs(x, g, Number.NEGATIVE_INFINITY).forEach((v, k) => {
    const sum = v.add(weights[k]!);
    const better = sum.greater(value);
    value = c.rt.where(better, sum, value);
    at = c.rt.where(better, c.rt.full([], k, { dtype: 'i32' }), at);
  });
  return { value, at, g };
}

/** [N, …out, …kernel, C]: the gradient of each window at the position it chose. */
function chosen(c: Call): { shares: Tensor; g: Geometry } {
  const { at, g } = dilated(c);
  const dy = c.f('dy');
  c.tf.util.assert(dy.rank === 4, () => `dy must have the same rank as output 4, but got ${dy.rank}`);
  return { shares: sharesOf(c.rt, at, dy, g), g };
}

export const morphology: Kernels = {
  Dilation2D: (c) => stored(c.rt, dilated(c).value, c.x('x').dtype),
  Dilation2DBackpropFilter: (c) => chosen(c).shares.sum({ axis: [0, 1, 2] }),
  Dilation2DBackpropInput: (c) => {
    const { shares, g } = chosen(c);
    return fold(shares, g);
  },
};
