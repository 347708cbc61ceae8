// Patterns of ops along rows: some of a sorted one (topk.ts), those with true flags (packed.ts), its running sums (widened-sums.ts). Apart from the other patterns,
// which only GPUs have: pages without one do not load those.

import { packFlags } from './packed.ts';
import type { Patterns } from './patterns.ts';
import { keepSome } from './topk.ts';
import { widenInScans } from './widened-sums.ts';

export const selections: Patterns = {
  fuse: (graph, caps) => {
    keepSome(graph, caps);
    packFlags(graph, caps);
    widenInScans(graph, caps);
  },
  join: (draft) => draft,
};
