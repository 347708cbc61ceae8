// How a matrix product is cut: into items for threads, panels of columns, stretches of its depth.

import type { Matmul } from '../../../kernel/kernel.ts';
import { type VectorMachine, vectorMachines } from './emit.ts';

export interface GemmShape
  extends Pick<Matmul, 'batch' | 'batchA' | 'batchB' | 'm' | 'n' | 'k' | 'transposeA' | 'transposeB'> {
  readonly type: keyof typeof vectorMachines;
}

export const tileRows = 4;
export const vectors = 2;
/** Products per element before C is touched: a panel of B and four rows of A stay in the first-level cache. */
export const depth = 256;

/** A B that stays in the first-level cache as it lies. */
const smallBytes = 16 << 10;

/** Items for each thread: enough that one which is late makes nobody wait for long. */
const itemsPerThread = 8;

/** Panels of an item: with fewer a tile of A is read for too little work, with more the packed block leaves the second-level cache. */
const panels = { fewest: 4, most: 16 } as const;

export interface GemmPlan extends GemmShape {
  readonly v: VectorMachine;
  readonly fma: boolean;
  /** Columns of a panel, of an item. */
  readonly panel: number;
  readonly columns: number;
  readonly rows: number;
  readonly columnBlocks: number;
  readonly rowBlocks: number;
  /** B is copied into panels first; else it is read where it lies. */
  readonly packed: boolean;
  readonly packBytes: number;
}

/** Whether B can be read where it lies: its rows are whole vectors, and it stays in the cache. */
export function isSmall({ type, n, k, transposeB }: GemmShape): boolean {
  const { lanes, bytes } = vectorMachines[type];
  return !transposeB && n % lanes === 0 && k * n * bytes <= smallBytes;
}

export function planGemm(shape: GemmShape, fma: boolean, threads: number): GemmPlan {
  const v = vectorMachines[shape.type];
  const panel = v.lanes * vectors;
  // A block of columns is packed once by each of its blocks of rows: columns are split first, rows only as far as the threads need it.
  // Results do not depend on it.
  const wanted = Math.ceil((itemsPerThread * threads) / shape.batch);
  const all = Math.ceil(shape.n / panel);
  const columns = panel * Math.min(panels.most, Math.max(panels.fewest, Math.ceil(all / wanted)));
  const columnBlocks = Math.ceil(shape.n / columns);
  const rows = Math.max(64, Math.ceil(shape.m / Math.ceil(wanted / columnBlocks) / tileRows) * tileRows);
  const width = Math.min(columns, all * panel);
  const packed = !(isSmall(shape) || (shape.m <= 2 * tileRows && !shape.transposeB && shape.n % v.lanes === 0));
  return {
    ...shape,
    v,
    fma: fma && v.fused !== null,
    panel,
    columns,
    rows,
    columnBlocks,
    rowBlocks: Math.ceil(shape.m / rows),
    packed,
    packBytes: packed ? Math.min(depth, shape.k) * width * v.bytes : 0,
  };
}
