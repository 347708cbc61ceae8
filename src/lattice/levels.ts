// Frontier search on a device: one fused kernel per level over the whole grid, for any number of searches at once.
//
// Two fields are enough: `reached`, a byte per vertex, and `distance`. A level spreads `reached` to the neighbours and adds one to
// the distance of every vertex that was not reached before it. Without a mask the number of levels is known, so nothing is read
// in between; with one, the host asks every 16 levels whether the last level found anything. Searches lie side by side, as the last
// axis, each with a mask of its own.

import type { Runtime, Tensor } from '../index.ts';
import type { Grid } from './grid.ts';
import type { Mask } from './mask.ts';
import { type Pinned, release, rounds } from './on-device/rounds.ts';
import { overNeighbors } from './stencil.ts';

/** One search of several. */
export interface SearchStart {
  readonly mask: Mask | null;
  readonly source: number;
}

export interface LevelSearch {
  readonly grid: Grid;
  readonly starts: readonly SearchStart[];
  readonly signal?: AbortSignal | undefined;
  /** Told of each level. */
  readonly onLevel?: (() => void) | undefined;
}

type Found = { readonly reached: Tensor; readonly distance: Tensor };

/** Distances from each source; -1 where it does not get. */
export async function searchLevels(rt: Runtime, pinned: Pinned, search: LevelSearch): Promise<Int32Array[]> {
  const found = await reachByLevels(rt, pinned, search);
  const result = pinned(() => distancesOf(rt, found).compute());
  release(found);
  const distances = (await result.data({ signal: search.signal })) as Int32Array;
  result.dispose();
  const columns = search.starts.length;
  if (columns === 1) return [distances];
  return search.starts.map((_, column) =>
    Int32Array.from({ length: search.grid.vertices }, (_, v) => distances[v * columns + column]!),
  );
}

/** What a search needs per vertex and source: bytes of both fields, old and new, and the mask. */
export const searchBytes = 11;

/** For each search: the farthest distance, how many vertices it reaches, and how many lie one step away. */
export async function surveyByLevels(
  rt: Runtime,
  pinned: Pinned,
  search: LevelSearch,
): Promise<Readonly<Record<'farthest' | 'reached' | 'near', Int32Array>>> {
  const found = await reachByLevels(rt, pinned, search);
  const axis = search.grid.shape.map((_, k) => k);
  const sums = pinned(() => {
    const distances = distancesOf(rt, found);
    return rt
      .stack([
        distances.max({ axis }),
        distances.greaterEqual(0).cast('i32').sum({ axis, dtype: 'i32' }),
        distances.equal(1).cast('i32').sum({ axis, dtype: 'i32' }),
      ])
      .compute();
  });
  release(found);
  const values = (await sums.data({ signal: search.signal })) as Int32Array;
  sums.dispose();
  const n = search.starts.length;
  return { farthest: values.slice(0, n), reached: values.slice(n, 2 * n), near: values.slice(2 * n) };
}

const distancesOf = (rt: Runtime, { reached, distance }: Found): Tensor =>
  rt.where(reached.notEqual(0), distance, -1).cast('i32');

async function reachByLevels(
  rt: Runtime,
  pinned: Pinned,
  { grid, starts, signal, onLevel }: LevelSearch,
): Promise<Found> {
  const masked = starts.some((s) => s.mask);
  const most = masked ? Math.max(...starts.map(({ mask }) => grid.vertices - (mask?.blocked ?? 0) - 1)) : grid.diameter;
  const { free, start } = pinned(() => prepare(rt, grid, starts));
  try {
    const { fields } = await rounds(rt, pinned, {
      what: 'a search by levels',
      start,
      step: ({ reached, distance }: Found): Found => {
        const near = overNeighbors(reached, (a, b) => a.bitwiseOr(b), 'zero', grid.dimensions);
        const all = reached.bitwiseOr(free ? near.bitwiseAnd(free) : near);
        return { reached: all.cast('u8'), distance: distance.add(reached.equal(0).cast('i32')).cast('i32') };
      },
      most,
      more: masked
        ? ({ reached, distance }, level) => distance.equal(level).logicalAnd(reached.notEqual(0)).any()
        : undefined,
      key: free ? undefined : `levels ${grid} ${starts.length}`,
      signal,
      onRound: onLevel,
    });
    return fields;
  } finally {
    free?.dispose();
  }
}

function prepare(rt: Runtime, grid: Grid, starts: readonly SearchStart[]) {
  const columns = starts.length;
  const shape = [...grid.shape, columns];
  const sources = rt.tensor(
    Int32Array.from(starts, (s) => s.source),
    [columns],
    { dtype: 'i32' },
  );
  const here = rt.iota([grid.vertices, columns], 0).equal(sources).reshape(shape);
  const start: Found = { reached: here.cast('u8').compute(), distance: rt.zeros(shape, { dtype: 'i32' }).compute() };
  const free = starts.some((s) => s.mask) ? rt.tensor(freeBytes(grid, starts), shape, { dtype: 'u8' }).compute() : null;
  return { free, start };
}

/** 1 where a vertex is free, search by search side by side. */
function freeBytes(grid: Grid, starts: readonly SearchStart[]): Uint8Array {
  const free = new Uint8Array(grid.vertices * starts.length).fill(1);
  starts.forEach(({ mask }, column) => {
    mask?.bytes.forEach((blocked, v) => {
      if (blocked) free[v * starts.length + column] = 0;
    });
  });
  return free;
}
