// Features for trained readouts, as far as they come from the field: content means on a 4 × 4 × 4 grid, projected to 256 values by a
// fixed matrix of ±1.

import type { Runtime, Tensor } from '../../index.ts';
import type { FieldShape } from './shape.ts';

export const projected = 256;
const blocks = 4;
/** The projection is the same for every field: readouts can be carried from one to another. */
const projectionSeed = 0x6669;

/** The matrix [64 · content, 256] of ±1, scaled to keep lengths. It stays until it is disposed of. */
export function projectionMatrix(rt: Runtime, { layout }: FieldShape): Tensor {
  const rows = blocks ** 3 * layout.content;
  const signs = rt.random.bernoulli([rows, projected], { seed: projectionSeed }).cast('f32').mul(2).sub(1);
  return signs
    .mul(1 / Math.sqrt(rows))
    .compute()
    .keep();
}

/** [N, 256] from a field [N, D, H, W, C]. */
export function featuresOf(rt: Runtime, x: Tensor, { layout }: FieldShape, projection: Tensor): Tensor {
  let pooled = x.slice([null, null, null, null, [0, layout.content]]);
  for (const axis of [1, 2, 3]) pooled = poolAxis(rt, pooled, axis);
  return pooled.reshape([x.shape[0]!, -1]).matmul(projection);
}

/** Means of four stretches of an axis. */
function poolAxis(rt: Runtime, x: Tensor, axis: number): Tensor {
  const n = x.shape[axis]!;
  if (n % blocks === 0) {
    const shape = [...x.shape.slice(0, axis), blocks, n / blocks, ...x.shape.slice(axis + 1)];
    return x.reshape(shape).mean({ axis: axis + 1 });
  }
  const part = (k: number): Tensor => {
    const range = [Math.floor((k * n) / blocks), Math.floor(((k + 1) * n) / blocks)] as const;
    return x.slice(x.shape.map((_, a) => (a === axis ? range : null))).mean({ axis, keepdims: true });
  };
  return rt.concat([0, 1, 2, 3].map(part), axis);
}
