// The imprint: each sensor's value, in its own content channels, on a cube of 5 × 5 × 5 cells that falls off by 0.8 per step.
//
// 0.8^(|dx| + |dy| + |dz|) is a product of one factor per axis. The factors lie in the tail that the cycle before wrote; blurring
// the imprint is blurring each of them.

import type { Runtime, Tensor } from '../../index.ts';
import { profileStart } from './record.ts';
import type { CycleParts, FieldShape } from './shape.ts';

/** What a cycle is told; every value [N]. */
export interface CycleInput {
  readonly sensors: Tensor;
  readonly reward: Tensor;
  /** Low and high word: [N, 2]. */
  readonly cycle: Tensor;
  /** 1 where there is something to imprint, else 0: the only flag so far. */
  readonly imprints: Tensor;
}

export function inputOf(input: Tensor, { sensorDim }: FieldShape): CycleInput {
  const at = (i: number): Tensor => input.slice([null, [sensorDim + i, sensorDim + i + 1]]).reshape([-1]);
  return {
    sensors: input.slice([null, [0, sensorDim]]),
    reward: at(0),
    cycle: input.slice([null, [sensorDim + 1, sensorDim + 3]]),
    imprints: at(3),
  };
}

/** The value that each channel gets: sensor c mod S for content channel c, 0 elsewhere. [N, C] */
export function channelValues(
  rt: Runtime,
  sensors: Tensor,
  { layout, sensorDim }: FieldShape,
  channels: number,
): Tensor {
  const repeated = sensors.tile([1, Math.ceil(channels / sensorDim)]).slice([null, [0, channels]]);
  const content = rt.iota([1, channels], 1).less(layout.content).broadcastTo(repeated.shape);
  return rt.where(content, repeated, 0);
}

/** The factors along each axis, [N, edge] each, from the tail of the cycle before. */
export const profileIn = (tail: Tensor, shape: FieldShape): Tensor[] =>
  shape.edges.map((n, axis) => tail.slice([null, [profileStart(shape, axis), profileStart(shape, axis) + n]]));

/**
 * The imprint of `strength` [N], and the same blurred. Every factor is spread over the field before it is multiplied: products of
 * some axes only would be stored by kernels of their own.
 */
export function imprintOf(
  rt: Runtime,
  field: Tensor,
  profile: readonly Tensor[],
  { sensors }: CycleInput,
  strength: Tensor,
  { shape, near }: CycleParts,
  [beside, at]: readonly [number, number],
): { readonly plain: Tensor; readonly blurred: Tensor } {
  const along = (t: Tensor, axis: number): Tensor =>
    t.reshape(field.shape.map((n, a) => (a === 0 || a === axis ? n : 1))).broadcastTo(field.shape);
  const values = along(channelValues(rt, sensors, shape, field.shape[4]!), 4);
  const scaled = values.mul(along(strength, 0));
  const factors = [0, 1, 2].map((axis) => {
    const w = profile[axis]!;
    const smooth = near
      .at(w, 1, -1)
      .add(near.at(w, 1, 1))
      .mul(beside)
      .add(w.mul(at));
    return { plain: along(w, axis + 1), smooth: along(smooth, axis + 1) };
  });
  const product = (pick: 'plain' | 'smooth'): Tensor =>
    factors[0]![pick].mul(factors[1]![pick]).mul(factors[2]![pick]).mul(scaled);
  return { plain: product('plain'), blurred: product('smooth') };
}

/** 0.8^d for whole distances up to 2, and 0 beyond: (0.02·d − 0.22)·d + 1. */
export const falloff = (rt: Runtime, d: Tensor): Tensor =>
  rt.where(d.less(2.5), d.mul(0.02).sub(0.22).mul(d).add(1), 0);
