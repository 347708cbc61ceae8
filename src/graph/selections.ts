// Patterns of ops that take some of a row: of a sorted one (topk.ts), or those with true flags (packed.ts). Apart from the other patterns,
// which only GPUs have: pages without one do not load those.

import { packFlags } from './packed.ts';
import type { Patterns } from './patterns.ts';
import { keepSome } from './topk.ts';

export const selections: Patterns = {
  fuse: (graph, caps) => {
    keepSome(graph, caps);
    packFlags(graph, caps);
  },
  join: (draft) => draft,
};
