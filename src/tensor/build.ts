// Building blocks of the op methods: constants, casts, broadcasting, promotion of operands.

import { type DType, dtypeInfo, intRange, isFloat, promote } from '../base/dtype.ts';
import { broadcast, type Shape, sameShape } from '../base/shape.ts';
import { ArgumentError, DTypeError } from '../errors.ts';
import { noInts } from '../graph/intern.ts';
import { args, fixedArg, makeNode, Node } from '../graph/node.ts';
import { type AluOp, aluOps } from '../kernel/ops.ts';

export type ScalarInput = number | bigint | boolean;

/** A value of rank 0. Most constants are launch arguments; a `fixed` one is part of the program. */
export function constant(dtype: DType, value: ScalarInput, fixed = false): Node {
  return new Node(
    'const',
    dtype,
    noInts,
    [],
    fixed ? fixedArg : noInts,
    typeof value === 'boolean' ? Number(value) : value,
  );
}

export function cast(node: Node, dtype: DType): Node {
  return node.dtype === dtype ? node : new Node('cast', dtype, node.shape, [node], noInts);
}

export function expand(node: Node, shape: Shape): Node {
  return sameShape(node.shape.values, shape) ? node : makeNode('expand', node.dtype, shape, [node]);
}

export function reshape(node: Node, shape: Shape): Node {
  return sameShape(node.shape.values, shape) ? node : makeNode('reshape', node.dtype, shape, [node]);
}

export function permute(node: Node, order: readonly number[]): Node {
  if (order.every((axis, i) => axis === i)) return node;
  return makeNode(
    'permute',
    node.dtype,
    order.map((axis) => node.shape.values[axis]!),
    [node],
    args.list(order),
  );
}

/** An elementwise op on nodes of one dtype; shapes are equal or rank 0. */
export function alu(op: AluOp, ...sources: readonly Node[]): Node {
  let { shape } = sources[0]!;
  for (let i = 1; shape === noInts && i < sources.length; i++) shape = sources[i]!.shape;
  const dtype = aluOps[op].compares ? 'bool' : sources[sources.length - 1]!.dtype;
  return new Node('alu', dtype, shape, sources, args.alu(op));
}

/** The dtype a scalar brings to an operation with a tensor of `with`. */
export function weakType(value: ScalarInput, other: DType, where: string): DType {
  if (typeof value === 'boolean') return other;
  if (typeof value === 'number' && !Number.isInteger(value)) return isFloat(other) ? other : 'f64';
  if (other === 'bool') return typeof value === 'bigint' ? 'i64' : 'i32';
  if (isFloat(other)) return other;
  const [lo, hi] = intRange[other as keyof typeof intRange];
  if (BigInt(value) < lo || BigInt(value) > hi) {
    throw new DTypeError({
      code: 'SCALAR_OUT_OF_RANGE',
      message: `${where}: the scalar ${value} does not fit a tensor of ${other} (${lo} … ${hi})`,
      fix: 'Cast the tensor to a wider dtype first, or use a value in range.',
      where,
    });
  }
  return other;
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
  const shape = broadcast(x.shape.values, y.shape.values, where);
  return [expand(x, shape), expand(y, shape)];
}

/** Refuses operands that are neither tensors nor scalars. */
export function checkScalar(value: unknown, where: string): ScalarInput {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  throw notAnOperand(value, where);
}

function notAnOperand(value: unknown, where: string): ArgumentError {
  const what = value === null ? 'null' : Array.isArray(value) || ArrayBuffer.isView(value) ? 'an array' : typeof value;
  return new ArgumentError({
    code: 'NOT_AN_OPERAND',
    message: `${where}: the operand is ${what}, not a tensor or a number`,
    fix: 'Make a tensor of it first: rt.tensor(data).',
    where,
  });
}
