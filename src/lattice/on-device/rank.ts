// PageRank on a device: each round is a sum over neighbours and two sums over all vertices. What each vertex gives is a field of its
// own, so that along the rows one number is gathered per neighbour, not a rank and a share.

import type { Runtime, Tensor } from '../../index.ts';
import { type Pinned, release, rounds } from './rounds.ts';
import type { DeviceRows } from './rows.ts';

export interface RankWork {
  readonly rows: DeviceRows;
  readonly giving: Giving;
  readonly damping: number;
  readonly tolerance: number;
  readonly maxRounds: number;
  readonly signal?: AbortSignal | undefined;
}

/** What the vertices of a graph give, by row: the same for every call. */
export interface Giving {
  /** Per unit of weight; 0 for those without edges. */
  readonly share: Tensor;
  /** 1 for those without edges, which give to all; null if there are none. */
  readonly idle: Tensor | null;
}

/** `strength`: the weight of all edges of each vertex. */
export function giving(rt: Runtime, rows: DeviceRows, strength: Float64Array): Giving {
  const own = rows.placed(strength, 0);
  const some = own.greater(0);
  const one = rt.full([], 1, { dtype: 'f64' });
  const idle = strength.some((s) => s === 0);
  return {
    share: rt.where(some, one.div(own), 0).cast('f64').compute(),
    idle: idle
      ? rows
          .placed(
            strength.map((s) => Number(s === 0)),
            0,
          )
          .compute()
      : null,
  };
}

/** Rounds between two looks at how much the ranks still change. */
const roundsPerWait = 8;

/** The rank of each vertex, and the rounds it took. */
export async function deviceRank(
  rt: Runtime,
  pinned: Pinned,
  { rows, giving: { share, idle }, damping, tolerance, maxRounds, signal }: RankWork,
): Promise<{ readonly rank: Float64Array; readonly count: number }> {
  const n = rows.vertices;
  const start = pinned(() => ({
    rank: rt.full([n + 1, 1], 1 / n, { dtype: 'f64' }).compute(),
    given: share.div(n).compute(),
    change: rt.full([], 1, { dtype: 'f64' }).compute(),
  }));
  const { fields, count } = await rounds(rt, pinned, {
    what: 'pageRank',
    start,
    step: ({ rank, given }) => {
      const jumps = (1 - damping) / n;
      const base = idle
        ? rank
            .mul(idle)
            .sum()
            .mul(damping / n)
            .add(jumps)
        : jumps;
      const next = rows.weightedSum(given).mul(damping).add(base).cast('f64');
      return {
        rank: next,
        given: next.mul(share).cast('f64'),
        change: next.sub(rank).abs().sum().cast('f64'),
      };
    },
    most: maxRounds,
    more: ({ change }) => change.greaterEqual(tolerance),
    every: Math.min(roundsPerWait, maxRounds),
    together: rows.together,
    signal,
  });
  try {
    return { rank: await rows.byVertex(pinned, fields.rank, signal), count };
  } finally {
    release(fields);
  }
}
