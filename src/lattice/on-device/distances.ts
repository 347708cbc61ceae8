// Shortest distances on a device, by the rounds of Bellman and Ford: each relaxes all edges at once. Delta stepping would let only
// vertices of one bucket of distances take part in a round; on whole arrays a round costs the same however few do, so its buckets
// only add rounds (bench/lattice/delta.ts measures both).
//
// Sums of weights are rounded as Dijkstra's algorithm rounds them (outwards from the source), so the results are its bits.

import type { Runtime } from '../../index.ts';
import { type Pinned, release, rounds } from './rounds.ts';
import type { DeviceRows } from './rows.ts';

/** Distances from the vertex of a row, by vertex; -1 where there is no way. */
export async function deviceDistances(
  rt: Runtime,
  pinned: Pinned,
  rows: DeviceRows,
  source: number,
  signal?: AbortSignal,
): Promise<Float64Array> {
  const n = rows.rows;
  const start = pinned(() => ({
    distance: rt
      .where(rt.iota([n, 1], 0).equal(source), 0, Number.POSITIVE_INFINITY)
      .cast('f64')
      .compute(),
    changed: rt.full([], 1, { dtype: 'i32' }).compute(),
  }));
  const { fields } = await rounds(rt, pinned, {
    what: 'distancesFrom',
    start,
    step: ({ distance }) => {
      const next = distance.minimum(rows.least(distance)).cast('f64');
      return { distance: next, changed: next.less(distance).any().cast('i32') };
    },
    most: n - 1,
    more: ({ changed }) => changed,
    together: rows.together,
    signal,
  });
  try {
    using distances = pinned(() =>
      rt.where(fields.distance.less(Number.POSITIVE_INFINITY), fields.distance, -1).cast('f64').compute(),
    );
    return await rows.byVertex(pinned, distances, signal);
  } finally {
    release(fields);
  }
}
