// Neighbours on the grid as shifted tensors: no index tensors, so sums over neighbours fuse into one kernel on every device.

import type { DType, Tensor } from '../index.ts';

export type Boundary = 'zero' | 'wrap';

/** `x` seen from one step further along an axis: element i is x[i + by]. Beyond the border it is zero, or the other end. */
export function shifted<D extends DType>(
  x: Tensor<D>,
  axis: number,
  by: 1 | -1,
  boundary: Boundary = 'zero',
): Tensor<D> {
  if (boundary === 'wrap') return x.roll(-by, axis);
  return moved(x, axis, by);
}

/** Element i is x[i + by] along an axis, zero beyond the border. */
export function moved<D extends DType>(x: Tensor<D>, axis: number, by: number): Tensor<D> {
  if (by === 0) return x;
  const n = x.shape[axis]!;
  const away = Math.min(Math.abs(by), n);
  const range: [number, number] = by > 0 ? [away, n] : [0, n - away];
  const widths = x.shape.map((_, k): [number, number] => (k !== axis ? [0, 0] : by > 0 ? [0, away] : [away, 0]));
  return x.slice(x.shape.map((d, k): [number, number] => (k === axis ? range : [0, d]))).pad(widths);
}

/** All neighbours of each vertex, combined. The grid has the first `axes` axes of x, all of them by default. */
export function overNeighbors<D extends DType>(
  x: Tensor<D>,
  combine: (a: Tensor<D>, b: Tensor<D>) => Tensor<D>,
  boundary: Boundary = 'zero',
  axes = x.rank,
): Tensor<D> {
  const all = Array.from({ length: axes }, (_, axis) => [
    shifted(x, axis, -1, boundary),
    shifted(x, axis, 1, boundary),
  ]);
  return all.flat().reduce(combine);
}

export const neighborSum = <D extends DType>(x: Tensor<D>, boundary: Boundary = 'zero', axes = x.rank): Tensor<D> =>
  overNeighbors(x, (a, b) => a.add(b) as unknown as Tensor<D>, boundary, axes);
