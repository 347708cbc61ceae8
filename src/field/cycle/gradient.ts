// The gradient of a grid of cells: 3D Sobel, (1, 2, 1) × (1, 2, 1) × (−1, 0, 1). Divided by `gradientScale` it is a slope.
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

/** What a unit ramp gives. A power of two: dividing sums by it is as good as dividing what is summed. */
export const gradientScale = 32;

/** The three components times `gradientScale`, along the axes from `firstAxis` on. */
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
    // As sums of two neighbours: the next cell has one of them too.
    return { smooth: before.add(at).add(at.add(after)), slope: after.sub(before) };
  };
  // Along the last axis last: what two neighbours there have in common is computed once.
  const around = near.around(x, firstAxis);
  const sides = [0, 1, 2] as const;
  const planes = sides.map((k) => {
    const columns = sides.map((j) =>
      across(
        sides.map((i) => around[i]![j]![k]!),
        0,
      ),
    );
    const smooth = across(
      columns.map((c) => c.smooth),
      1,
    );
    const slope = across(
      columns.map((c) => c.slope),
      1,
    );
    return { smooth: smooth.smooth, first: slope.smooth, second: smooth.slope };
  });
  const along = (part: 'smooth' | 'first' | 'second'): Pair =>
    across(
      planes.map((p) => p[part]),
      2,
    );
  return [along('first').smooth, along('second').smooth, along('smooth').slope];
}
