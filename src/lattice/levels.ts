// Frontier search on a device: one fused kernel per level over the whole grid.
//
// Two fields are enough: `reached`, a byte per vertex, and `distance`. A level spreads `reached` to the neighbours and adds one to
// the distance of every vertex that was not reached before it. Without a mask the number of levels is known, so nothing is read
// in between; with one, the host asks every 16 levels whether the last level found anything.

import type { Runtime, Tensor } from '../index.ts';
import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';
import { overNeighbors } from './stencil.ts';

export interface LevelSearch {
  readonly grid: Grid;
  readonly mask: Mask | null;
  readonly source: number;
  readonly signal?: AbortSignal | undefined;
  /** Told of each level. */
  readonly onLevel?: (() => void) | undefined;
}

/** Levels between two questions to the device. */
const levelsPerWait = 16;

type Fields = { reached: Tensor<'u8'>; distance: Tensor<'i32'> };

/** Distances from the source; -1 where it does not get. */
export async function searchLevels(
  rt: Runtime,
  pinned: <T>(body: () => T) => T,
  search: LevelSearch,
): Promise<Int32Array> {
  const { grid, mask, source, signal } = search;
  const most = mask ? grid.vertices - mask.blocked - 1 : grid.diameter;
  const { free, step, start } = pinned(() => prepare(rt, grid, mask, source));
  let state: Fields = start;
  try {
    for (let level = 1; level <= most; level++) {
      signal?.throwIfAborted();
      const old = state;
      state = pinned(() => step(old, free));
      for (const t of [old.reached, old.distance]) t.dispose();
      search.onLevel?.();
      if (!mask || level % levelsPerWait !== 0) continue;
      const { reached, distance } = state;
      const found = pinned(() => distance.equal(level).logicalAnd(reached.notEqual(0)).any().compute());
      const [any] = await found.data({ signal });
      found.dispose();
      if (!any) break;
    }
    const { reached, distance } = state;
    const result = pinned(() => rt.where(reached.notEqual(0), distance, -1).cast('i32').compute());
    const distances = await result.data({ signal });
    result.dispose();
    return distances;
  } finally {
    step.dispose();
    for (const t of [free, state.reached, state.distance]) t?.dispose();
  }
}

function prepare(rt: Runtime, grid: Grid, mask: Mask | null, source: number) {
  const { shape } = grid;
  const bytes = new Uint8Array(grid.vertices);
  bytes[source] = 1;
  const start: Fields = {
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
  const spread = (reached: Tensor<'u8'>, distance: Tensor<'i32'>, open: Tensor<'u8'> | null): Fields => {
    const near = overNeighbors(reached, (a, b) => a.bitwiseOr(b) as Tensor<'u8'>);
    const all = reached.bitwiseOr(open ? near.bitwiseAnd(open) : near) as Tensor<'u8'>;
    return { reached: all, distance: distance.add(reached.equal(0).cast('i32')) as Tensor<'i32'> };
  };
  const compiled = free
    ? rt.compile((r: Tensor<'u8'>, d: Tensor<'i32'>, f: Tensor<'u8'>) => spread(r, d, f))
    : rt.compile((r: Tensor<'u8'>, d: Tensor<'i32'>) => spread(r, d, null));
  const run = compiled as unknown as (...args: readonly Tensor[]) => Fields;
  const step = Object.assign(
    (state: Fields, open: Tensor<'u8'> | null): Fields =>
      open ? run(state.reached, state.distance, open) : run(state.reached, state.distance),
    { dispose: () => compiled.dispose() },
  );
  return { free, step, start };
}
