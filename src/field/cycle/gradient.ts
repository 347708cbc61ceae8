// The gradient of a grid of cells: 3D Sobel, (1, 2, 1) × (1, 2, 1) × (−1, 0, 1), divided by 32.
//
// At the walls of a reflecting grid, the cell behind the wall is extrapolated along a straight line: a constant gives 0 and a unit
// ramp gives 1 everywhere, faces, edges and corners included.

import type { Runtime, Tensor } from '../../index.ts';
import type { Neighbours } from './grid.ts';

/** Sum of (1, 2, 1) and difference (−1, 0, 1) of three values in a row. */
interface Pair {
  readonly smooth: Tensor;
  readonly slope: Tensor;
}

/** The three components, along the axes from `firstAxis` on. */
export function gradient(
  rt: Runtime,
  x: Tensor,
  near: Neighbours,
  firstAxis: number,
): readonly [Tensor, Tensor, Tensor] {
  const walls = [0, 1, 2].map((a) => {
    if (near.boundary === 'periodic') return null;
    return { first: near.wall(x, firstAxis + a, -1), last: near.wall(x, firstAxis + a, 1) };
  });
  const across = (row: readonly Tensor[], axis: number): Pair => {
    let [before, at, after] = row as [Tensor, Tensor, Tensor];
    const wall = walls[axis];
    if (wall) {
      const [low, high] = [at.mul(2).sub(after), at.mul(2).sub(before)];
      [before, after] = [rt.where(wall.first, low, before), rt.where(wall.last, high, after)];
    }
    return { smooth: before.add(after).add(at.mul(2)), slope: after.sub(before) };
  };
  const rows = near.around(x, firstAxis).map((plane) => plane.map((row) => across(row, 2)));
  const planes = rows.map((plane) => ({
    smooth: across(
      plane.map((p) => p.smooth),
      1,
    ),
    slope: across(
      plane.map((p) => p.slope),
      1,
    ),
  }));
  const first = across(
    planes.map((p) => p.smooth.smooth),
    0,
  ).slope;
  const second = across(
    planes.map((p) => p.smooth.slope),
    0,
  ).smooth;
  const third = across(
    planes.map((p) => p.slope.smooth),
    0,
  ).smooth;
  return [first.mul(1 / 32), second.mul(1 / 32), third.mul(1 / 32)];
}
