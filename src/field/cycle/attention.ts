// What stands out in a field, for telemetry: the cell with the most activity, how active it is, and the centre of all activity.

import type { Runtime, Tensor } from '../../index.ts';
import { cellsOf, type FieldShape } from './shape.ts';

export interface Attention {
  /** The cell with the largest mean |content|; of equal ones the first. */
  readonly cell: readonly [number, number, number];
  /** Its mean |content|. */
  readonly strength: number;
  /** The mean position of cells, weighted by |content|. */
  readonly centre: readonly [number, number, number];
}

/** Values in the tail. */
export const attentionLength = 5;

/** From Σ |content| of each cell, [N, D, H, W]: strength, number of the cell, centre. [N, 5] */
export function attentionOf(rt: Runtime, activity: Tensor, shape: FieldShape): Tensor {
  const cells = cellsOf(shape);
  const rows = activity.shape[0]!;
  const flat = (t: Tensor): Tensor => t.reshape([rows, cells]);
  const total = flat(activity).sum({ axis: 1 }).maximum(1e-30);
  const centre = [1, 2, 3].map((axis) =>
    flat(activity.mul(rt.iota(activity.shape, axis, { dtype: 'f32' })))
      .sum({ axis: 1 })
      .div(total),
  );
  const peak = flat(activity)
    .max({ axis: 1 })
    .mul(1 / shape.layout.content);
  const at = flat(activity).argmax({ axis: 1 }).cast('f32');
  return rt.concat(
    [peak, at, ...centre].map((t) => t.reshape([rows, 1])),
    1,
  );
}

export function readAttention(values: Float32Array, { edges: [, height, width] }: FieldShape): Attention {
  const [strength, at, ...centre] = values as unknown as [number, number, number, number, number];
  const cell = [Math.floor(at / (height * width)), Math.floor(at / width) % height, at % width] as const;
  return { cell, strength, centre: centre as [number, number, number] };
}
