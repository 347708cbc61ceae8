// Sorts and selections for GPUs: rows on the chip, digits of long ones, selections in place of sorts. A file of its own, fetched where the
// adapter is a GPU: on software adapters barriers are dear, and sorting in small blocks that are merged is faster.

import type { Sort, TopK } from '../../../kernel/kernel.ts';
import type { PassPlan, Traits } from '../plan.ts';
import { orderedOf, radixSort } from './radix.ts';
import { fitsRowSort, rowSort } from './row-sort.ts';
import { renderTopK } from './topk.ts';

export interface Ordering {
  readonly sort: (w: Sort, traits: Traits) => PassPlan;
  readonly topk: (r: TopK, traits: Traits) => PassPlan;
}

function sort(w: Sort, traits: Traits): PassPlan {
  if (!fitsRowSort(w.columns, traits)) return radixSort(w, traits);
  const passes = rowSort(orderedOf(w), 0, w.descending, traits);
  return { name: w.name, passes, scratch: [], scalars: [], buffers: 3, firstOutput: 1 };
}

export const ordering: Ordering = { sort, topk: renderTopK };
