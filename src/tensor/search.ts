// Binary search in a sorted row, for many values at once: one kernel, with as many looks as the row's length has bits.

import { isFloat } from '../base/dtype.ts';
import { args as nodeArgs } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { alu, constant } from './build.ts';
import { filled } from './compact.ts';

/** How many elements come before each value: those less than it, and on the right side those equal to it. NaN comes last. */
export function search(sorted: Node, values: Node, side: 'left' | 'right'): Node {
  const [n] = sorted.shape.values as [number];
  if (n === 0 || values.size === 0) return filled('i32', 0, values.shape.values);
  const fixed = (v: number): Node => constant('i32', v, true);
  const comes = (at: Node): Node =>
    comesBefore(makeNode('gather', sorted.dtype, at.shape.values, [sorted, at], nodeArgs.axis(0)), values, side);
  // The first look leaves on either side as many elements as the others tell apart: a power of two, less one. None looks beyond the row.
  const most = 2 ** Math.floor(Math.log2(n));
  let found = alu('where', comes(fixed(most - 1)), fixed(n - most + 1), fixed(0));
  for (let step = most / 2; step >= 1; step /= 2) {
    const passed = comes(alu('add', found, fixed(step - 1)));
    found = alu('where', passed, alu('add', found, fixed(step)), found);
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
