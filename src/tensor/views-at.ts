// Views whose position is data: parts that start where a tensor says, rolls as far as a tensor says.
//
// The shapes are known, so a program that holds such a view serves every position. No position can be out of range: starts are
// moved to the nearest one that fits, as `jax.lax.dynamic_slice` does, and shifts go round.

import { type DType, dtypeInfo } from '../base/dtype.ts';
import { checkShape, type Shape, show } from '../base/shape.ts';
import { ArgumentError, DTypeError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { alu, cast, constant, positionType, reshape } from './build.ts';
import { strided } from './views.ts';

/** A position: a whole number, or a node of one whole number. */
export type Position = number | Node;

/** `sizes[a]` elements of axis a from `starts[a]` on; axes that are not named are kept whole. */
export function slicedAt(x: Node, starts: readonly Position[], sizes: readonly number[], where: string): Node {
  const shape = x.shape.values;
  checkShape(sizes, where);
  const misfit = sizes.findIndex((s, a) => s > (shape[a] ?? -1));
  if (starts.length !== sizes.length || misfit >= 0) throw misfitting(where, starts.length, sizes, shape);
  for (const s of starts) checkPosition(s, where);
  // Those that are known first: what is looked up is smaller then.
  let node = strided(
    x,
    shape.map((n, a) => (typeof starts[a] === 'number' ? nearest(starts[a], n, sizes[a]!) : 0)),
    shape.map(() => 1),
    shape.map((n, a) => (typeof starts[a] === 'number' ? sizes[a]! : n)),
  );
  starts.forEach((start, a) => {
    const [n, size] = [shape[a]!, sizes[a]!];
    if (typeof start === 'number' || size === n) return;
    node = lookedUp(node, a, alu('add', iota(size, typeOf(n)), expandTo(nearestOf(start, n, size), size)));
  });
  return node;
}

/** Elements moved along an axis by `shift`; what leaves at one end enters at the other. */
export function rolledBy(x: Node, shift: Node, axis: number, where: string): Node {
  checkPosition(shift, where);
  const n = x.shape.values[axis]!;
  if (n <= 1) return x;
  const wide = widened(shift, n);
  const type = typeOf(n);
  const size = constant(type, n, true);
  const forward = cast(alu('imod', wide, constant(wide.dtype, n, true)), type);
  const at = alu('sub', iota(n, type), expandTo(forward, n));
  return lookedUp(x, axis, alu('where', alu('lt', at, constant(type, 0)), alu('add', at, size), at));
}

/** The elements of an axis at some positions. */
const lookedUp = (x: Node, axis: number, at: Node): Node =>
  makeNode('gather', x.dtype, x.shape.values.with(axis, at.size), [x, at], args.axis(axis));

const iota = (count: number, type: DType): Node => makeNode('iota', type, [count], [], args.axis(0));

/** The dtype of positions on an axis that holds its size as well. */
const typeOf = (n: number): 'i32' | 'i64' => positionType(n + 1);

const expandTo = (scalar: Node, count: number): Node =>
  makeNode('expand', scalar.dtype, [count], [reshape(scalar, [1])]);

/** The start nearest to one that was asked for; below 0 it counts from the end. */
const nearest = (start: number, n: number, size: number): number =>
  Math.min(Math.max(start < 0 ? start + n : start, 0), n - size);

function nearestOf(start: Node, n: number, size: number): Node {
  const wide = widened(start, n);
  const { dtype } = wide;
  const zero = constant(dtype, 0);
  const counted = dtypeInfo[dtype].signed
    ? alu('max', alu('where', alu('lt', wide, zero), alu('add', wide, constant(dtype, n, true)), wide), zero)
    : wide;
  return cast(alu('min', counted, constant(dtype, n - size, true)), typeOf(n));
}

/** A position of rank 0, in a dtype that holds the size of the axis too. */
function widened(position: Node, n: number): Node {
  const scalar = reshape(position, []);
  if (n >= 2 ** 31 && dtypeInfo[scalar.dtype].bytes < 8) return cast(scalar, 'i64');
  return narrow.has(scalar.dtype) ? cast(scalar, 'i32') : scalar;
}

const narrow: ReadonlySet<DType> = new Set<DType>(['u8']);

function checkPosition(position: Position, where: string): void {
  if (typeof position === 'number') {
    if (Number.isSafeInteger(position)) return;
    throw new ArgumentError({
      code: 'BAD_START',
      message: `${where}: ${position} is no position`,
      fix: 'Give whole numbers, or integer tensors of one element.',
      where,
    });
  }
  checkIndexDType(position, where);
  if (position.size === 1) return;
  throw new ShapeError({
    code: 'SHAPE_MISMATCH',
    message: `${where}: a position is ${position.dtype} ${show(position.shape.values)}`,
    fix: 'A position is one whole number: pick it with slice or gather first.',
    where,
  });
}

/** Refuses indices that are not whole numbers. */
export function checkIndexDType({ dtype, shape }: Node, where: string): void {
  if (dtypeInfo[dtype].class === 'int') return;
  throw new DTypeError({
    code: 'BAD_INDEX_DTYPE',
    message: `${where}: indices are ${dtype} ${show(shape.values)}`,
    fix: "Indices must be whole numbers: use an integer dtype, or cast with x.cast('i32') if you know they are.",
    where,
  });
}

function misfitting(where: string, starts: number, sizes: readonly number[], shape: Shape): ShapeError {
  return new ShapeError({
    code: 'BAD_SIZE',
    message: `${where}: ${starts} starts and sizes ${show(sizes)} for a tensor of shape ${show(shape)}`,
    fix: 'Give a start and a size for the same first axes, no size larger than its axis.',
    where,
  });
}
