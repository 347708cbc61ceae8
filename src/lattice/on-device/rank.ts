// PageRank on a device: each round is a sum over neighbours and two sums over all vertices. What each vertex gives is a field of its
// own, so that along the rows one number is gathered per neighbour, not a rank and a share.

import type { Runtime, Tensor } from '../../index.ts';
import { type Pinned, release, rounds } from './rounds.ts';
import { type DeviceRows, withLast } from './rows.ts';

export interface RankWork {
  readonly rows: DeviceRows;
  /** The weight of all edges of each vertex, by row. */
  readonly strength: Float64Array;
  readonly damping: number;
  readonly tolerance: number;
  readonly maxRounds: number;
  readonly signal?: AbortSignal | undefined;
}

/** Rounds between two looks at how much the ranks still change. */
const roundsPerWait = 8;

/** The rank of each vertex, by row, and the rounds it took. */
export async function deviceRank(
  rt: Runtime,
  pinned: Pinned,
  { rows, strength, damping, tolerance, maxRounds, signal }: RankWork,
): Promise<{ readonly rank: Float64Array; readonly count: number }> {
  const n = strength.length;
  const column = (values: Float64Array): Tensor =>
    rt.tensor(withLast(values, 0), [n + 1, 1], { dtype: 'f64' }).compute();
  const { share, idle, start } = pinned(() => ({
    // What a vertex gives per unit of weight. Those without edges give to all.
    share: column(strength.map((s) => (s > 0 ? 1 / s : 0))),
    idle: column(strength.map((s) => (s > 0 ? 0 : damping / n))),
    start: {
      rank: rt.full([n + 1, 1], 1 / n, { dtype: 'f64' }).compute(),
      given: column(strength.map((s) => (s > 0 ? 1 / s / n : 0))),
      change: rt.full([], 1, { dtype: 'f64' }).compute(),
    },
  }));
  try {
    const { fields, count } = await rounds(rt, pinned, {
      start,
      step: ({ rank, given }) => {
        const base = rank
          .mul(idle)
          .sum()
          .add((1 - damping) / n);
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
      signal,
    });
    const rank = (await fields.rank.data({ signal })) as Float64Array;
    release(fields);
    return { rank, count };
  } finally {
    release({ share, idle });
  }
}
