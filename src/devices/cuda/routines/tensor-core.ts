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
  /** Called after the loop; then `results` may be read. */
  end(): void;
  /** Calls back with pairs of neighbours: row and column within the tile, and the two registers. */
  results(store: (row: string, column: string, first: string, second: string) => void): void;
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
