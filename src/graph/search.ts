// Binary search in a sorted row, for many values at once: one kernel, with as many looks as the row's length has bits.
//
// A search is one node until it is planned: its steps are the same in every program, and there are dozens of them.

import { isFloat } from '../base/dtype.ts';
import { args } from './args.ts';
import { noInts } from './intern.ts';
import { alu, constant } from './make.ts';
import { makeNode, Node } from './node.ts';

const fixed = (v: number): Node => constant('i32', v, true);

/**
 * How many elements of a sorted row come before each value: those less than it (`lt`), or no more than it (`le`). NaN comes last. A node
 * that stands for the search.
 */
export const search = (sorted: Node, values: Node, comes: 'lt' | 'le'): Node =>
  sorted.size > 0 && values.size > 0
    ? new Node('search', 'i32', values.shape, [sorted, values], args.alu(comes))
    : new Node('expand', 'i32', values.shape, [fixed(0)], noInts);

/** The steps of a search, over its sources: the last of them. */
export function searched(node: Node): Node {
  const [sorted, values] = node.sources as [Node, Node];
  const how = args.aluOf(node);
  const n = sorted.size;
  const comes = (at: Node): Node => {
    const element = makeNode('gather', sorted.dtype, at.shape.values, [sorted, at], args.look);
    if (!isFloat(sorted.dtype)) return alu(how, element, values);
    // Everything comes before NaN: whatever is a number, unless the value is at most that; on the right side NaN itself too.
    return how === 'lt'
      ? alu('lt', alu('le', values, element), alu('eq', element, element))
      : alu('or', alu('le', element, values), alu('ne', values, values));
  };
  let found = fixed(0);
  // The first look leaves on either side as many elements as the others tell apart: a power of two, less one. None looks beyond the row.
  let step = 2 ** Math.floor(Math.log2(n));
  for (let passed = n - step + 1; step >= 1; passed = step /= 2)
    found = alu('add', found, alu('where', comes(alu('add', found, fixed(step - 1))), fixed(passed), fixed(0)));
  return found;
}
