// Patterns of ops and of launches that some devices compute as one. Loaded only where a device has a routine for one of them
// (`patternRoutines` in plan.ts): pages without a GPU do not load it.

import type { Capabilities } from '../devices/device.ts';
import { fuseAttention } from './attention.ts';
import type { Described, Graph, Vertex } from './canonical.ts';
import { endsInHalves } from './halves.ts';
import type { Draft } from './plan.ts';
import { joinProducts } from './products.ts';
import { stackRows } from './rows.ts';
import { selections } from './selections.ts';

export interface Patterns {
  /** What takes the place of a reduction (`Reduced`). */
  reduced?(reduction: Described, add: (what: Described) => Vertex, caps: Capabilities): Described;
  /** Makes vertices that fit a pattern one, in place. */
  fuse(graph: Graph, caps: Capabilities): void;
  /** The launches of a plan with those that fit a pattern joined. `lasting`: buffers that are kept after the plan. */
  join(draft: readonly Draft[], lasting: ReadonlySet<number>, caps: Capabilities): readonly Draft[];
  /** Values of f32 that only end in halves, where the device has functions for these. */
  inHalves?(graph: Graph, caps: Capabilities): ReadonlySet<Vertex>;
}

export const patterns: Patterns = {
  fuse: (graph, caps) => {
    fuseAttention(graph, caps);
    selections.fuse(graph, caps);
  },
  join: (draft, lasting, { routines, maxBuffers, rows }) => {
    const stacked = rows ? stackRows(draft, lasting, { ...rows, maxBuffers }) : draft;
    return routines.has('products') ? joinProducts(stacked, maxBuffers) : stacked;
  },
  inHalves: (graph, { coarse }) => (coarse ? endsInHalves(graph) : new Set()),
};
