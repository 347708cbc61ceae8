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
  tile(64, 64, 16, 4, 4),
  tile(32, 32, 16, 4, 4),
  tile(16, 16, 16, 4, 4),
];
const cpuTiles: readonly Tiles[] = [tile(32, 32, 4, 4, 4, false), tile(16, 16, 4, 4, 4, false)];

/** Workgroups that keep a large GPU busy. */
const enough = 128;

export function tilesFor(w: Pick<Matmul, 'batch' | 'm' | 'n'>, traits: Traits): Tiles {
  const list = traits.cpu ? cpuTiles : gpuTiles;
  const fits = list.filter((t) => {
    const threads = (t.rows / t.threadRows) * (t.columns / t.threadColumns);
    const bytes = t.shared ? (t.rows + t.columns) * t.depth * 4 : 0;
    return threads <= traits.maxInvocations && bytes <= traits.workgroupBytes;
  });
  const groups = (t: Tiles): number => w.batch * Math.ceil(w.m / t.rows) * Math.ceil(w.n / t.columns);
  return fits.find((t) => groups(t) >= enough) ?? fits[fits.length - 1]!;
}

/** Skinny and small products are sums of products like any other: a reduction reads them better than tiles do. */
export function isReduction(w: Matmul): boolean {
  const narrow = Math.min(w.m, w.n) <= 4;
  const deep = w.m * w.n <= 64 * 64 && w.k >= 16 * Math.max(w.m, w.n);
  return narrow || deep || w.m * w.n * w.k <= 4096;
}
