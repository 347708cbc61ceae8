// Where something holds: the positions of true flags, packed together.
//
// How many there are is not known before the flags are, so this waits for the device once, for one number. The rest is a
// running count of the flags and a scatter, on the device.

import { args as nodeArgs } from '../graph/args.ts';
import { addHandle, dropHandle } from '../graph/holding.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { alu, cast, constant, expand, reshape } from './build.ts';
import type { TensorHost } from './host.ts';

/** Zeros, or another value, in every element. */
export const filled = (dtype: Node['dtype'], value: number | bigint, shape: readonly number[]): Node =>
  expand(
    reshape(
      constant(dtype, value),
      shape.map(() => 1),
    ),
    shape,
  );

/** 0, 1, 2, … */
export const counting = (n: number): Node => makeNode('iota', 'i32', [n], [], nodeArgs.axis(0));

/** The running count of true flags, which are a row of bools: how many there are up to and with each. */
export const runningCount = (flags: Node): Node =>
  makeNode('scan', 'i32', flags.shape.values, [cast(flags, 'i32')], nodeArgs.scan('sum', 0, false));

/** One element of a row. */
export const elementAt = (row: Node, at: number): Node =>
  makeNode('slice', row.dtype, [1], [row], nodeArgs.slice([at], [1]));

const atAnyPlace = nodeArgs.scatter('set', 0, false);

/** A row of `n` elements in which each of `values` is at its position; what has no place goes to position `n`, and is dropped. */
export function placed(values: Node, at: Node, n: number, how = atAnyPlace): Node {
  const base = filled(values.dtype, 0, [n + 1]);
  const all = makeNode('scatter', values.dtype, [n + 1], [base, at, values], how);
  return makeNode('slice', values.dtype, [n], [all], nodeArgs.slice([0], [1]));
}

/** The `n` values with true flags, in order. `ranks`: how many true flags come before each. Devices that can do so at once need no ranks. */
export const packed = (values: Node, flags: Node, ranks: Node, n: number): Node =>
  placed(values, alu('where', flags, ranks, constant('i32', n)), n, nodeArgs.packing);

/** The positions of true flags in a row, in order, as `make` holds them. Waits for their number. */
export async function positionsOf<T>(host: TensorHost, flags: Node, make: (positions: Node) => T): Promise<T> {
  const { size } = flags;
  if (size === 0) return make(filled('i32', 0, [0]));
  const counts = runningCount(flags);
  // Held while their number is waited for: nobody else may need them any more.
  addHandle(flags);
  addHandle(counts);
  try {
    const n = await wholeNumber(host, elementAt(counts, size - 1));
    const rank = alu('sub', counts, constant('i32', 1));
    return make(packed(counting(size), flags, rank, n));
  } finally {
    dropHandle(flags);
    dropHandle(counts);
  }
}

/** The only element of an i32 node. Waits. */
export async function wholeNumber(host: TensorHost, node: Node): Promise<number> {
  const [value] = (await host.read(node)) as Int32Array;
  return value!;
}
