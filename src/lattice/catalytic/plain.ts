// Counting walks the plain way, in two arrays of its own: what the method in borrowed memory is compared with.

import type { Runtime, Tensor } from '../../index.ts';
import type { Adjacency } from '../adjacency.ts';
import type { Grid } from '../grid.ts';
import { look } from '../look.ts';
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

/** Steps between two looks at the clock. */
const stepsAtOnce = 64;

/** On a device that has words of so many bits. */
export async function deviceWalks(rt: Runtime, pinned: Pinned, walk: PlainWalk): Promise<bigint> {
  const { grid, mask, source, target, length, bits, signal } = walk;
  const dtype = bits === 32 ? 'u32' : 'u64';
  const { vertices, shape } = grid;
  const start = bits === 32 ? new Uint32Array(vertices) : new BigUint64Array(vertices);
  start[source] = bits === 32 ? 1 : 1n;
  const free = pinned(() => freeTensor(rt, grid, mask));
  const spread = (x: Tensor): Tensor => neighborSum(x as Tensor<typeof dtype>);
  const step = free
    ? rt.compile((x: Tensor, f: Tensor) => rt.where(f.notEqual(0), spread(x), 0).cast(dtype))
    : rt.compile((x: Tensor) => spread(x));
  const run = step as unknown as (...args: readonly Tensor[]) => Tensor;
  let x: Tensor = pinned(() => rt.tensor(start, shape));
  try {
    for (let done = 0; done < length; done += stepsAtOnce) {
      await look('countWalks', walk.signal);
      const more = Math.min(stepsAtOnce, length - done);
      x = pinned(() => {
        let at = x;
        for (let i = 0; i < more; i++) {
          const old = at;
          at = free ? run(old, free) : run(old);
          old.dispose();
        }
        return at;
      });
    }
    const all = x;
    x = pinned(() =>
      all
        .reshape([vertices])
        .slice([[target, target + 1]])
        .compute(),
    );
    all.dispose();
    const [value] = await x.data({ signal });
    return BigInt(value as number | bigint);
  } finally {
    x.dispose();
    free?.dispose();
    step.dispose();
  }
}

/** Along the rows of the lattice, on the host. */
export async function hostWalks({ offsets, neighbors, vertices }: Adjacency, walk: PlainWalk): Promise<bigint> {
  let x = new BigUint64Array(vertices);
  x[walk.source] = 1n;
  for (let i = 0; i < walk.length; i++) {
    if (i % stepsAtOnce === 0) await look('countWalks', walk.signal);
    const from = x;
    x = new BigUint64Array(vertices).map((_, v) => {
      let sum = 0n;
      for (let e = offsets[v]!; e < offsets[v + 1]!; e++) sum += from[neighbors[e]!]!;
      return BigInt.asUintN(64, sum);
    });
  }
  return BigInt.asUintN(walk.bits, x[walk.target]!);
}
