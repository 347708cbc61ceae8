// The contract between attention on tensor cores and the instructions that multiply (mma.ts, wgmma.ts beside it).
//
// Both keep results as fragments: of every 16 rows and 8 columns a lane has columns 2·(lane mod 4) and the next of row lane/4, then
// the same of the row 8 below. So what comes between the products is written once.

import type { Kit } from '../kit.ts';

/** Four registers of 16 rows and 8 columns, or of a left operand of 16 rows and 16 columns as pairs. */
export type Fragment = readonly string[];

export interface AttentionTiles {
  /** Queries of a block. */
  readonly rows: number;
  /** Keys of one step. */
  readonly keys: number;
  readonly threads: number;
  /** Steps whose operands are in shared memory at a time, and how many are fetched ahead. */
  readonly stages: number;
  readonly ahead: number;
  /** Sixteens of rows that a warp has. */
  readonly slabs: number;
  /** Blocks of a multiprocessor at a time; 0 for what comes out. */
  readonly resident: number;
}

export interface AttentionCore {
  /** The rows of this warp within the tile begin here. */
  readonly firstRow: string;
  /** O as [slab][column / 8]; only while no product is under way. */
  readonly results: readonly (readonly Fragment[])[];
  /** Called once, when the queries are in shared memory. */
  begin(): void;
  /** Q·Kᵀ with the keys at an address, as [slab][key / 8]. Ends what `accumulate` began. */
  scores(keys: string): readonly (readonly Fragment[])[];
  /** Adds P·V to the results, P as [slab][key / 16] and the values at an address. The product may go on behind it. */
  accumulate(weights: readonly (readonly Fragment[])[], values: string): void;
  /** Ends what `accumulate` began. */
  end(): void;
}

export interface CoreShape {
  readonly type: 'f16' | 'bf16';
  readonly depth: number;
  readonly width: number;
  readonly tiles: AttentionTiles;
  /** Where the queries are in shared memory. */
  readonly queries: string;
  readonly tid: string;
}

export type MakeAttentionCore = (kit: Kit, shape: CoreShape) => AttentionCore;

export const zeroFragments = (kit: Kit, slabs: number, columns: number): Fragment[][] =>
  Array.from({ length: slabs }, () =>
    Array.from({ length: columns / 8 }, () => Array.from({ length: 4 }, () => kit.b.def('f', 'mov.f32', '0f00000000'))),
  );
