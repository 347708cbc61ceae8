// The neighbours of every vertex as work on whole tensors, so that an algorithm is written once for grids and for any graph.
//
// Values lie as [rows, columns], one row per vertex and one column per source: neighbours of a vertex are whole rows, wherever they
// lie. There may be a row more than vertices, which is nobody's neighbour and has no neighbours.

import type { Runtime, Tensor } from '../../index.ts';
import type { Grid } from '../grid.ts';
import type { Mask } from '../mask.ts';
import { neighborSum } from '../stencil.ts';

export interface Neighborhood {
  readonly rows: number;
  /** Rounds of work on it that are worth compiling together. */
  readonly together: number;
  /** What the neighbours of each vertex have, added up. */
  sum(x: Tensor): Tensor;
  /** 1 where a vertex can be entered, [rows, 1]; null where all can. */
  readonly free: Tensor | null;
  dispose(): void;
}

/** A grid: shifted loads, no index tensors. */
export function gridNeighborhood(rt: Runtime, grid: Grid, mask: Mask | null): Neighborhood {
  const free = mask
    ? rt
        .tensor(
          mask.bytes.map((b) => 1 - b),
          [grid.vertices, 1],
          { dtype: 'u8' },
        )
        .compute()
    : null;
  return {
    rows: grid.vertices,
    together: 1,
    free,
    sum: (x) => neighborSum(x.reshape([...grid.shape, x.shape[1]!]), 'zero', grid.dimensions).reshape(x.shape),
    dispose: () => free?.dispose(),
  };
}
