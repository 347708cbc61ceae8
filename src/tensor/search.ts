// Binary search in a sorted row, for many values at once: one kernel, with as many looks as the row's length has bits.

import { isFloat } from '../base/dtype.ts';
import { args as nodeArgs } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { alu, constant } from './build.ts';
import { filled } from './compact.ts';

/** How many elements come before each value: those less than it, and on the right side those equal to it. NaN comes last. */
export function search(sorted: Node, values: Node, side: 'left' | 'right'): Node {
  const [n] = sorted.shape.values as [number];
  let found = filled('i32', 0, values.shape.values);
  if (n === 0 || values.size === 0) return found;
  const last = constant('i32', n - 1, true);
  for (let step = 2 ** Math.floor(Math.log2(n)); step >= 1; step /= 2) {
    const next = alu('add', found, constant('i32', step, true));
    const at = alu('min', alu('sub', next, constant('i32', 1, true)), last);
    const element = makeNode('gather', sorted.dtype, values.shape.values, [sorted, at], nodeArgs.axis(0));
    const inside = alu('le', next, constant('i32', n, true));
    found = alu('where', alu('and', inside, comesBefore(element, values, side)), next, found);
  }
  return found;
}

function comesBefore(element: Node, value: Node, side: 'left' | 'right'): Node {
  const before = alu(side === 'left' ? 'lt' : 'le', element, value);
  if (!isFloat(element.dtype)) return before;
  const valueIsNaN = alu('ne', value, value);
  // Everything comes before NaN, on the right side NaN itself too.
  const beforeNaN = side === 'left' ? alu('and', valueIsNaN, alu('eq', element, element)) : valueIsNaN;
  return alu('or', before, beforeNaN);
}
