// The form in which a GPU runs work: nothing empty in it, and long dot products cut along their depth.

import { asReduction } from './dot.ts';
import { withoutEmptiness } from './empty.ts';
import type { Kernel, Routine } from './kernel.ts';

/** Depth from which on a product with few results is a reduction. */
const longDepth = 4096;

/** Null if nothing is written. `vectors`: products of matrices with vectors are reductions too. */
export function plainWork(work: Kernel | Routine, vectors = false): Kernel | Routine | null {
  const full = withoutEmptiness(work);
  return full?.kind === 'routine' && full.op === 'matmul' ? (asReduction(full, longDepth, vectors) ?? full) : full;
}
