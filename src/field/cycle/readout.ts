// Motors from the field. Motors that a readout does not set are 0: never noise.
//
//   gradient  tanh(gain · mean of the gradient's component a of the content's mean, cells weighted by |content|), a = 0, 1, 2
//   slab      tanh of [gain·g₀, gain·g₁, mean |temporal|, gain/10·g₂], g = last slab − first slab of an axis, of the content's mean
//   trained   0 here: weights on the host make motors of the features that the cycle brings along

import type { Runtime, Tensor } from '../../index.ts';
import { gradient, gradientScale } from './gradient.ts';
import type { Planes, Totals } from './measure.ts';
import { type CycleParts, cellsOf } from './shape.ts';

/** One tensor [N] for each motor, with the gain [N] of each field; all 0 without a gain. */
export function readoutOf(
  rt: Runtime,
  planes: Planes,
  totals: Totals,
  gain: Tensor | null,
  parts: CycleParts,
): Tensor[] {
  const { motorDim } = parts.shape;
  const none = rt.zeros(totals.sum.shape);
  const set = gain ? readouts[parts.plan.readout](rt, planes, totals, gain, parts) : [];
  return Array.from({ length: motorDim }, (_, i) => set[i]?.tanh() ?? none);
}

type Part = (rt: Runtime, planes: Planes, totals: Totals, gain: Tensor, parts: CycleParts) => readonly Tensor[];

const readouts: Readonly<Record<'gradient' | 'slab' | 'trained', Part>> = {
  gradient: (rt, planes, totals, gain, { shape, near }) => {
    const cells = cellsOf(shape);
    // Where the field is 0 everywhere there is no gradient either.
    const scale = gain.mul(1 / (gradientScale * shape.layout.content));
    const weight = totals.absolute.maximum(1e-30);
    return gradient(rt, planes.sum, near, 1).map((component) =>
      component.mul(planes.absolute).reshape([-1, cells]).sum({ axis: 1 }).div(weight).mul(scale),
    );
  },
  slab: (rt, planes, totals, gain, { shape }) => {
    const cells = cellsOf(shape);
    const { content, temporal } = shape.layout;
    const steps = shape.edges.map((n, axis) => {
      const at = rt.iota([1, ...[0, 1, 2].map((a) => (a === axis ? n : 1))], axis + 1);
      const sign = at
        .equal(n - 1)
        .cast('f32')
        .sub(at.equal(0).cast('f32'));
      const mean = n / (cells * content);
      return planes.sum.mul(sign).reshape([-1, cells]).sum({ axis: 1 }).mul(mean);
    });
    const pattern = temporal > 0 ? totals.temporal.mul(1 / (cells * temporal)) : totals.temporal;
    return [steps[0]!.mul(gain), steps[1]!.mul(gain), pattern, steps[2]!.mul(gain.mul(0.1))];
  },
  trained: () => [],
};
