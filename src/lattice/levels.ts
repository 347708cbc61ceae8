// Frontier search on a device: one fused kernel per level over the whole grid.
//
// Two fields are enough: `reached`, a byte per vertex, and `distance`. A level spreads `reached` to the neighbours and adds one to
// the distance of every vertex that was not reached before it. Without a mask the number of levels is known, so nothing is read
// in between; with one, the host asks every 16 levels whether the last level found anything.

import type { Runtime, Tensor } from '../index.ts';
import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';
import { type Pinned, release, rounds } from './on-device/rounds.ts';
import { overNeighbors } from './stencil.ts';

export interface LevelSearch {
  readonly grid: Grid;
  readonly mask: Mask | null;
  readonly source: number;
  readonly signal?: AbortSignal | undefined;
  /** Told of each level. */
  readonly onLevel?: (() => void) | undefined;
}

type Found = { readonly reached: Tensor; readonly distance: Tensor };

/** Distances from the source; -1 where it does not get. */
export async function searchLevels(rt: Runtime, pinned: Pinned, search: LevelSearch): Promise<Int32Array> {
  const { grid, mask, source, signal, onLevel } = search;
  const most = mask ? grid.vertices - mask.blocked - 1 : grid.diameter;
  const { free, start } = pinned(() => prepare(rt, grid, mask, source));
  const step = ({ reached, distance }: Found): Found => {
    const near = overNeighbors(reached, (a, b) => a.bitwiseOr(b));
    const all = reached.bitwiseOr(free ? near.bitwiseAnd(free) : near);
    return { reached: all.cast('u8'), distance: distance.add(reached.equal(0).cast('i32')).cast('i32') };
  };
  try {
    const { fields } = await rounds(rt, pinned, {
      start,
      step,
      most,
      more: mask
        ? ({ reached, distance }, level) => distance.equal(level).logicalAnd(reached.notEqual(0)).any()
        : undefined,
      signal,
      onRound: onLevel,
    });
    const { reached, distance } = fields;
    const result = pinned(() => rt.where(reached.notEqual(0), distance, -1).cast('i32').compute());
    release(fields);
    const distances = (await result.data({ signal })) as Int32Array;
    result.dispose();
    return distances;
  } finally {
    free?.dispose();
  }
}

function prepare(rt: Runtime, grid: Grid, mask: Mask | null, source: number) {
  const { shape } = grid;
  const bytes = new Uint8Array(grid.vertices);
  bytes[source] = 1;
  const start: Found = {
    reached: rt.tensor(bytes, shape, { dtype: 'u8' }),
    distance: rt.zeros(shape, { dtype: 'i32' }).compute(),
  };
  const free = mask
    ? rt.tensor(
        mask.bytes.map((b) => 1 - b),
        shape,
        { dtype: 'u8' },
      )
    : null;
  return { free, start };
}
