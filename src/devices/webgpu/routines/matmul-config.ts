// Which way a product of matrices goes, and with which tiles: as data, chosen from its sizes and the adapter's class.

import type { Matmul } from '../../../kernel/kernel.ts';
import type { Traits } from '../plan.ts';

/** A workgroup computes rows × columns of C in steps of `depth`; a thread threadRows × threadColumns of them. */
export interface Tiles {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly threadRows: number;
  readonly threadColumns: number;
  /** Through workgroup memory; without it every thread reads for itself, which software adapters do faster. */
  readonly shared: boolean;
}

const tile = (
  rows: number,
  columns: number,
  depth: number,
  threadRows: number,
  threadColumns: number,
  shared = true,
): Tiles => ({
  rows,
  columns,
  depth,
  threadRows,
  threadColumns,
  shared,
});

const gpuTiles: readonly Tiles[] = [
  tile(128, 128, 16, 8, 8),
  tile(64, 64, 32, 4, 4),
  tile(32, 32, 16, 4, 4),
  tile(16, 16, 16, 4, 4),
];
/** Of products that are cut along the depth; the thin ones are for few rows or few columns. */
const cutTiles: readonly Tiles[] = [gpuTiles[1]!, tile(16, 64, 16, 4, 4), tile(64, 16, 16, 4, 4)];
const cpuTiles: readonly Tiles[] = [tile(32, 32, 4, 4, 4, false), tile(16, 16, 4, 4, 4, false)];

/** Workgroups that keep a large GPU busy. */
const enough = 128;
/** Workgroups that a product is cut into along its depth, if need be, and what is left of the depth for each at least. */
const [wanted, shortestCut] = [512, 128];

/** `cuts`: workgroups that share the depth of each tile; 1 if the sums are whole. */
export interface Choice {
  readonly tiles: Tiles;
  readonly cuts: number;
}

type Sizes = Pick<Matmul, 'batch' | 'm' | 'n' | 'k' | 'type'>;

export function tilesFor(w: Sizes, traits: Traits): Choice {
  const { workgroupBytes, maxInvocations, cpu } = traits;
  // Of no use are tiles of which half would be empty.
  const usable = (t: Tiles): boolean =>
    (t.rows / t.threadRows) * (t.columns / t.threadColumns) <= maxInvocations &&
    (!t.shared || (t.rows + t.columns) * t.depth * 4 <= workgroupBytes) &&
    t.rows < 2 * w.m &&
    t.columns < 2 * w.n;
  const groups = (t: Tiles): number => w.batch * Math.ceil(w.m / t.rows) * Math.ceil(w.n / t.columns);
  const list = cpu ? cpuTiles : gpuTiles;
  const tiles = list.find((t) => usable(t) && groups(t) >= enough) ?? list.at(-1)!;
  const cut = cutTiles.find(usable);
  const most = cpu || w.type === 'bool' ? 1 : Math.floor(w.k / shortestCut);
  // Large tiles are many enough.
  const whole = !cut || most < 4 || (most < 8 && tiles.rows === 32) || tiles.rows > 32 || groups(cut) >= wanted;
  return whole ? { tiles, cuts: 1 } : { tiles: cut, cuts: Math.min(most, Math.ceil(wanted / groups(cut))) };
}

/** Skinny and small products are sums of products like any other: a reduction reads them better than tiles do. */
export function isReduction(w: Matmul): boolean {
  const narrow = Math.min(w.m, w.n) <= 4;
  const deep = w.m * w.n <= 64 * 64 && w.k >= 16 * Math.max(w.m, w.n);
  return narrow || deep || w.m * w.n * w.k <= 4096;
}
