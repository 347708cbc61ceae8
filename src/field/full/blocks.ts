// Blocks of cells: means over them, and values of blocks at every cell.

import type { Tensor } from '../../index.ts';
import type { Edges } from '../cycle/grid.ts';

/** Means over each block of a tensor [N, D, H, W, K]: [N, blocks · K]. */
export function blockMeans(x: Tensor, blocks: Edges): Tensor {
  const [rows, ...rest] = x.shape as [number, number, number, number, number];
  const k = rest[3]!;
  const split = blocks.flatMap((g, a) => [g, rest[a]! / g]);
  return x
    .reshape([rows, ...split, k])
    .mean({ axis: [2, 4, 6] })
    .reshape([rows, -1]);
}

/** [N, blocks, K] at every cell: [N, D, H, W, K]. */
export function upsampled(x: Tensor, edges: Edges, blocks: Edges): Tensor {
  const [rows, k] = [x.shape[0]!, x.shape[4]!];
  const one = blocks.flatMap((g) => [g, 1]);
  const all = blocks.flatMap((g, a) => [g, edges[a]! / g]);
  return x
    .reshape([rows, ...one, k])
    .broadcastTo([rows, ...all, k])
    .reshape([rows, ...edges, k]);
}
