// The contract between a product on tensor cores and the instructions that do it (mma.ts, wgmma.ts).

import type { DType } from '../../../base/dtype.ts';
import type { Kit } from './kit.ts';

export interface TensorTiles {
  readonly rows: number;
  readonly columns: number;
  readonly threads: number;
  readonly stages: number;
  /** How many stages are fetched ahead of the one in use. */
  readonly ahead: number;
}

/** What a core needs to know: it multiplies the stage at a shared address into registers, and stores them at the end. */
export interface TensorCore {
  readonly tiles: TensorTiles;
  /** Called once, before the loop. */
  begin(): void;
  /** Multiplies one stage; A's tile lies at `stage`, B's behind it. */
  multiply(stage: string): void;
  /** Called after the loop; then `pieces` may be read. */
  end(): void;
  /** What this warp has of the tile. */
  pieces(): readonly Piece[];
}

/** Rows and columns of a piece. */
export const [pieceRows, pieceColumns] = [16, 64];

/**
 * Sums of a warp: the first row and column within the tile, and four registers for every eight columns. A lane has columns
 * 2·(lane mod 4) and the next of row lane/4, then the same of the row 8 below.
 */
export interface Piece {
  readonly row: string;
  readonly column: string | number;
  readonly sums: readonly (readonly string[])[];
}

export type MakeCore = (kit: Kit, type: DType, base: string, tid: string) => TensorCore;

/** Bytes of one tile row in shared memory. */
export const rowBytes = 128;

/** KiB of shared memory that a block may have, by the first architecture that has it so. */
const sharedKiB: readonly (readonly [sm: number, kib: number])[] = [
  [120, 99],
  [90, 227],
  [89, 99],
  [87, 163],
  [86, 99],
  [80, 163],
  [75, 64],
  [0, 96],
];

/** Bytes of shared memory that a block may have. */
export const sharedLimit = (sm: number): number => sharedKiB.find(([first]) => sm >= first)![1] * 1024;
