// How kernels of attention begin: their operands, the matrix of the batch and the rows of it that a block has.

import { byteSize } from '../../../../base/dtype.ts';
import type { Attention } from '../../../../kernel/kernel.ts';
import { blocksFor, type Kit } from '../kit.ts';
import { tileNumber } from './range.ts';
import { type Scores, scoresOf } from './scores.ts';

export interface Opening {
  /** Addresses of the operands and of the result. */
  readonly q: string;
  readonly k: string;
  readonly v: string;
  readonly out: string;
  readonly tid: string;
  readonly batch: string;
  /** Where the matrix of this batch begins, of an operand that has `count` of them, so many elements each. */
  readonly ofBatch: (pointer: string, count: number, elements: number) => string;
  readonly scores: Scores;
  /** The first query of the block. */
  readonly row0: string;
}

/** Batches along two axes of the grid: one holds at most this many. */
const mostBatches = 65535;

export function openAttention(kit: Kit, r: Attention, rows: number): Opening {
  const { b } = kit;
  const bytes = byteSize(r.type);
  const [q, k, v] = [0, 1, 2].map((index) => kit.pointer({ kind: 'buffer', index })) as [string, string, string];
  const out = kit.pointer({ kind: 'buffer', index: 3 + r.scores.inputs.length });
  const tid = kit.special('tid.x');
  const batch = kit.wide(b.def('r', 'mad.lo.u32', kit.special('ctaid.z'), mostBatches, kit.special('ctaid.y')));
  if (r.batch > mostBatches) kit.exitWhen(b.def('p', 'setp.ge.u64', batch, r.batch));
  const ofBatch: Opening['ofBatch'] = (pointer, count, elements) =>
    count === 1 ? pointer : b.def('d', 'mad.lo.u64', batch, elements * bytes, pointer);
  const scores = scoresOf(kit, r, batch);
  const row0 = b.def('r', 'mul.lo.u32', tileNumber(kit, scores, blocksFor(r.queries, rows)), rows);
  return { q, k, v, out, tid, batch, ofBatch, scores, row0 };
}

/** Blocks of so many rows, for every matrix of the batch. */
export const attentionGrid = (r: Attention, rows: number): readonly [number, number, number] => [
  blocksFor(r.queries, rows),
  Math.min(r.batch, mostBatches),
  Math.ceil(r.batch / mostBatches),
];
