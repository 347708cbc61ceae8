// Kernels that pass over the same rows, one after the other, as one launch: a row stays on the chip between them.
//
// Each stage folds every row to a value, and the last one may compute one for every element instead. A later stage reads what an
// earlier one made of its own row; the other inputs are buffers of the launch. All stages have the same axes: those of the rows,
// then those of their elements. Softmax is three stages, layer norm two or three.

import { sizeOf } from '../base/shape.ts';
import { linear } from './bounds.ts';
import type { Expr, Load } from './expr.ts';
import type { Kernel } from './kernel.ts';
import { below } from './walk.ts';

export const loadsOf = (kernel: Kernel): Load[] =>
  [...below([...kernel.accumulators.map((a) => a.value), ...kernel.outputs.map((o) => o.value)])].filter(
    (e): e is Load => e.kind === 'load',
  );

/** A load of the row's own value, from a buffer with one value for each row. */
export const isRowLoad = (load: Load, rows: readonly number[]): boolean =>
  load.gate === null && isFlat(load.index, rows);

/** A load of the very element, from a buffer with one for each position of each row. */
export const isElementLoad = (load: Load, kernel: Kernel): boolean =>
  load.gate === null && isFlat(load.index, [...kernel.space, ...kernel.reduced]);

/**
 * A load of the very element, from a buffer in which rows lie side by side: neighbours in memory are of neighbouring rows, as where a
 * middle axis is reduced.
 */
export function isColumnLoad(load: Load, { space, reduced }: Pick<Kernel, 'space' | 'reduced'>): boolean {
  const sizes = [...space, ...reduced];
  const { terms, offset } = linear(load.index);
  if (load.gate !== null || offset !== 0 || terms.size !== sizes.filter((d) => d !== 1).length) return false;
  const last = space.findLastIndex((d) => d !== 1);
  for (const [term, stride] of terms) {
    if (term.kind !== 'axis' || stride < 1 || (term.axis === last) !== (stride === 1)) return false;
  }
  return last >= 0;
}

/** Whether an index is the row-major position on the first axes, which have these sizes. */
export function isFlat(index: Expr, sizes: readonly number[]): boolean {
  const { terms, offset } = linear(index);
  if (offset !== 0 || terms.size !== sizes.filter((d) => d !== 1).length) return false;
  for (const [term, stride] of terms) {
    if (term.kind !== 'axis' || term.axis >= sizes.length) return false;
    if (stride !== sizeOf(sizes.slice(term.axis + 1))) return false;
  }
  return true;
}
