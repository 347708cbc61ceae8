// Building blocks of the op methods: constants, casts, broadcasting, promotion of operands.

import { type DType, dtypeInfo, intRange, isFloat, positionType, promote } from '../base/dtype.ts';
import { broadcast, type Shape, show } from '../base/shape.ts';
import { ArgumentError, DTypeError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { noInts } from '../graph/intern.ts';
import { alu, cast, constant, expand, reshape, type ScalarInput } from '../graph/make.ts';
import { makeNode, Node } from '../graph/node.ts';

/** A constant from a user's scalar: integers take what they can hold, without its fraction, and nothing else. */
export function constantFrom(dtype: DType, value: ScalarInput, where: string): Node {
  if (dtypeInfo[dtype].class !== 'int') return constant(dtype, typeof value === 'bigint' ? Number(value) : value);
  const whole = typeof value === 'number' ? Math.trunc(value) : value;
  const [lo, hi] = intRange[dtype as keyof typeof intRange];
  if (!Number.isFinite(Number(whole)) || BigInt(whole) < lo || BigInt(whole) > hi) throw outOfType(value, dtype, where);
  return constant(dtype, whole);
}

export { alu, cast, constant, expand, positionType, reshape, type ScalarInput };

export function permute(node: Node, order: readonly number[]): Node {
  const sizes = node.shape.quick;
  const moved = new Array<number>(order.length);
  let same = true;
  for (let i = 0; i < order.length; i++) {
    const axis = order[i]!;
    moved[i] = sizes[axis]!;
    if (axis !== i) same = false;
  }
  return same ? node : makeNode('permute', node.dtype, moved, [node], args.list(order));
}

/** The dtype a scalar brings to an operation with a tensor of `with`. */
export function weakType(value: ScalarInput, other: DType, where: string): DType {
  if (typeof value === 'boolean') return other;
  if (typeof value === 'number' && !Number.isInteger(value)) return isFloat(other) ? other : 'f64';
  if (isFloat(other)) return other;
  // A bool has no numbers of its own: it takes the least dtype of numbers that holds this one.
  const dtype = other !== 'bool' ? other : typeof value === 'number' && fits(value, 'i32') ? 'i32' : 'i64';
  if (!fits(value, dtype)) throw outOfType(value, dtype, where);
  return dtype;
}

/** Whether an integer dtype holds a whole number. */
export function fits(value: number | bigint, dtype: DType): boolean {
  const [lo, hi] = intRange[dtype as keyof typeof intRange];
  return value >= lo && value <= hi;
}

function outOfType(value: ScalarInput, dtype: DType, where: string): DTypeError {
  const [lo, hi] = intRange[dtype as keyof typeof intRange];
  return new DTypeError({
    code: 'SCALAR_OUT_OF_RANGE',
    message: `${where}: the scalar ${value} does not fit a tensor of ${dtype} (${lo} … ${hi})`,
    fix: 'Use a wider dtype, or a value in range.',
    where,
  });
}

/** The dtype of a scalar that stands alone. */
export function scalarType(value: ScalarInput): DType {
  return typeof value === 'boolean' ? 'bool' : typeof value === 'bigint' ? 'i64' : 'f32';
}

/** Both operands as nodes of one dtype and broadcastable shapes (equal, or rank 0). */
export function operandsOf(a: Node, b: Node | ScalarInput, where: string, force?: DType, fixed = false): [Node, Node] {
  if (!(b instanceof Node)) {
    const dtype = force ?? weakType(b, a.dtype, where);
    return [
      cast(a, dtype),
      constant(dtype, dtypeInfo[dtype].class === 'int' && typeof b === 'number' ? Math.trunc(b) : b, fixed),
    ];
  }
  const dtype = force ?? (a.dtype === b.dtype ? a.dtype : promote(a.dtype, b.dtype));
  const x = cast(a, dtype);
  const y = cast(b, dtype);
  if (x.shape === y.shape || x.shape === noInts || y.shape === noInts) return [x, y];
  const shape = broadcast(x.shape.quick, y.shape.quick, where);
  return [expand(x, shape), expand(y, shape)];
}

/** Refuses an axis whose positions a device cannot count. */
export function tooLong(where: string, shape: Shape, axis: number): ShapeError {
  return new ShapeError({
    code: 'TOO_LARGE',
    message: `${where}: axis ${axis} of ${show(shape)} has more positions than i32 can count`,
    fix: 'Work on it in parts.',
    where,
  });
}

/** As deep as NumPy goes. */
const mostAxes = 64;

/** The shape of nested arrays, by their first elements. */
export function nestedShape(value: unknown, where: string): number[] {
  const shape: number[] = [];
  for (let level = value; Array.isArray(level); level = level[0]) {
    if (shape.push(level.length) <= mostAxes) continue;
    throw new ArgumentError({
      code: 'TOO_DEEP',
      message: `${where}: the array is nested more than ${mostAxes} deep, or contains itself`,
      fix: 'Give arrays of numbers, nested to the rank of the tensor.',
      where,
    });
  }
  return shape;
}
