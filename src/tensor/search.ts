// Where values would go in a sorted row: what comes before each of them.

import type { Node } from '../graph/node.ts';
import { type Comes, searchNode } from '../graph/search.ts';
import { filled } from './compact.ts';

/** How many elements come before each value: those less than it, or up to it. NaN comes last. */
export const search = (sorted: Node, values: Node, comes: Comes): Node =>
  sorted.size === 0 || values.size === 0 ? filled('i32', 0, values.shape.values) : searchNode(sorted, values, comes);
