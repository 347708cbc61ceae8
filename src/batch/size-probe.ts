// What `optimalBatchSize` measures: an operation on lists of any size, made of the items there are.

import type { Runtime } from '../index.ts';
import { type ElementwiseName, elementwiseNames, elementwiseOp } from './elementwise.ts';
import { badArgument } from './failures.ts';
import type { ListOp } from './list-op.ts';
import { checkItems, type Item } from './lists.ts';
import { checkedXor } from './operations.ts';
import { sizedOperation } from './processor-sizes.ts';

export interface SizeProbe {
  /** What the best size is remembered for. */
  readonly kind: string;
  /** Items over and over, up to so many. */
  list(size: number): readonly Item[];
  operation(list: readonly Item[]): ListOp;
}

const where = 'optimalBatchSize';

/** Throws unless the operation can be measured with such items. */
export function checkProbe(op: string, items: readonly unknown[]): void {
  const names = [...elementwiseNames, 'xor'];
  if (!names.includes(op)) throw badArgument(where, `there is no operation '${op}'`, `Use one of ${names.join(', ')}.`);
  if (items.length === 0)
    throw badArgument(where, 'there are no items to measure with', 'Make a processor with items.');
}

export function sizeProbe(op: string, items: readonly Item[], runtime: Runtime): SizeProbe {
  checkItems(where, items, runtime);
  const operation = (list: readonly Item[]): ListOp =>
    op === 'xor' ? checkedXor(list, list, { runtime }) : elementwiseOp(list, op as ElementwiseName, 2);
  return {
    kind: sizedOperation(operation(items)),
    list: (size) => Array.from({ length: size }, (_, i) => items[i % items.length]!),
    operation,
  };
}
