// Counting walks the plain way, in two arrays of its own: what the method in borrowed memory is compared with.

import type { Runtime, Tensor } from '../../index.ts';
import type { Adjacency } from '../adjacency.ts';
import type { Grid } from '../grid.ts';
import type { Mask } from '../mask.ts';
import type { Pinned } from '../on-device/rounds.ts';
import { neighborSum } from '../stencil.ts';
import { freeTensor } from './words.ts';

export interface PlainWalk {
  readonly grid: Grid;
  readonly mask: Mask | null;
  readonly source: number;
  readonly target: number;
  readonly length: number;
  readonly bits: 32 | 64;
  readonly signal?: AbortSignal | undefined;
}

/** On a device that has words of so many bits. */
export async function deviceWalks(
  rt: Runtime,
  pinned: Pinned,
  { grid, mask, source, target, length, bits, signal }: PlainWalk,
): Promise<bigint> {
  const dtype = bits === 32 ? 'u32' : 'u64';
  const { vertices, shape } = grid;
  const start = bits === 32 ? new Uint32Array(vertices) : new BigUint64Array(vertices);
  start[source] = bits === 32 ? 1 : 1n;
  signal?.throwIfAborted();
  const count = pinned(() => {
    const free = freeTensor(rt, grid, mask);
    const spread = (x: Tensor): Tensor => neighborSum(x as Tensor<typeof dtype>);
    const step = free
      ? rt.compile((x: Tensor, f: Tensor) => rt.where(f.notEqual(0), spread(x), 0).cast(dtype))
      : rt.compile((x: Tensor) => spread(x));
    const run = step as unknown as (...args: readonly Tensor[]) => Tensor;
    let x: Tensor = rt.tensor(start, shape);
    for (let i = 0; i < length; i++) {
      const old = x;
      x = free ? run(old, free) : run(old);
      old.dispose();
    }
    step.dispose();
    return x
      .reshape([vertices])
      .slice([[target, target + 1]])
      .compute();
  });
  const [value] = await count.data({ signal });
  count.dispose();
  return BigInt(value!);
}

/** Along the rows of the lattice, on the host. */
export function hostWalks({ offsets, neighbors, vertices }: Adjacency, walk: PlainWalk): bigint {
  let x = new BigUint64Array(vertices);
  x[walk.source] = 1n;
  for (let i = 0; i < walk.length; i++) {
    const from = x;
    x = new BigUint64Array(vertices).map((_, v) => {
      let sum = 0n;
      for (let e = offsets[v]!; e < offsets[v + 1]!; e++) sum += from[neighbors[e]!]!;
      return BigInt.asUintN(64, sum);
    });
  }
  return BigInt.asUintN(walk.bits, x[walk.target]!);
}
