// Normalisations.

import type { Tensor } from '../../index.ts';
import type { Call, Kernels } from '../kernel.ts';

function batchNorm(c: Call): Tensor {
  const { util } = c.tf;
  const rank = c.info('mean').shape.length;
  for (const name of ['variance', 'offset', 'scale']) {
    util.assert(
      !c.has(name) || c.info(name).shape.length === rank,
      () => `Batch normalization gradient requires mean and ${name} to have equal ranks.`,
    );
  }
  const { varianceEpsilon } = c.attrs<{ varianceEpsilon?: number }>();
  const deviation = c
    .f('variance')
    .add(varianceEpsilon ?? 0.001)
    .sqrt();
  const scale = c.has('scale') ? c.f('scale').div(deviation) : deviation.reciprocal();
  const y = c.f('x').sub(c.f('mean')).mul(scale);
  return c.has('offset') ? y.add(c.f('offset')) : y;
}

interface LrnAttrs {
  readonly depthRadius: number;
  readonly bias: number;
  readonly alpha: number;
  readonly beta: number;
}

/** The sum over the channels up to `radius` away. */
function nearbySum(x: Tensor, radius: number): Tensor {
  const axis = x.rank - 1;
  const channels = x.shape[axis]!;
  const reach = Math.min(radius, channels - 1);
  const padded = x.pad(x.shape.map((_, i) => (i === axis ? [reach, reach] : [0, 0])));
  const shifted = Array.from({ length: 2 * reach + 1 }, (_, at) =>
    padded.slice(x.shape.map((_, i) => (i === axis ? [at, at + channels] : null))),
  );
  return shifted.reduce((a, b) => a.add(b));
}

export const norm: Kernels = {
  FusedBatchNorm: batchNorm,
  LRN: (c) => {
    const { depthRadius, bias, alpha, beta } = c.attrs<LrnAttrs>();
    const x = c.f('x');
    return x.mul(nearbySum(x.mul(x), depthRadius).mul(alpha).add(bias).pow(-beta));
  },
  LRNGrad: (c) => {
    const { depthRadius, bias, alpha, beta } = c.attrs<LrnAttrs>();
    const [x, y, dy] = [c.f('x'), c.f('y'), c.f('dy')];
    const scale = nearbySum(x.mul(x), depthRadius).mul(alpha).add(bias);
    const others = nearbySum(y.mul(dy).div(scale), depthRadius)
      .mul(x)
      .mul(-2 * alpha * beta);
    return dy.mul(scale.pow(-beta)).add(others);
  },
};
