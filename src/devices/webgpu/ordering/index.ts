// Selection in place of sorting. A file of its own, fetched where the adapter is a GPU: a software adapter's barriers cost more than a sort
// without them.

import type { TopK } from '../../../kernel/kernel.ts';
import type { PassPlan, Traits } from '../plan.ts';
import { renderTopK } from './topk.ts';

export interface Ordering {
  readonly topk: (r: TopK, traits: Traits) => PassPlan;
}

export const ordering: Ordering = { topk: renderTopK };
