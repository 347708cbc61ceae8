// What graphs are made of, node by node: constants, casts, spreading, elementwise ops.

import type { DType } from '../base/dtype.ts';
import { type Shape, sameShape } from '../base/shape.ts';
import type { AluOp } from '../kernel/ops.ts';
import { aluRows, fixedArg } from './args.ts';
import { noInts } from './intern.ts';
import { aluNode, makeNode, Node, noNodes } from './node.ts';

export type ScalarInput = number | bigint | boolean;

/** Whether a scalar counts as true: everything but zero does, NaN too. */
const isTrue = (value: ScalarInput): boolean => Boolean(value) || Number.isNaN(value);

/** A value of rank 0. Most constants are launch arguments; a `fixed` one is part of the program. */
export function constant(dtype: DType, value: ScalarInput, fixed = false): Node {
  const plain = dtype === 'bool' ? Number(isTrue(value)) : typeof value === 'boolean' ? Number(value) : value;
  return new Node('const', dtype, noInts, noNodes, fixed ? fixedArg : noInts, plain);
}

export function cast(node: Node, dtype: DType): Node {
  return node.dtype === dtype ? node : new Node('cast', dtype, node.shape, [node], noInts);
}

export function expand(node: Node, shape: Shape): Node {
  return sameShape(node.shape.quick, shape) ? node : makeNode('expand', node.dtype, shape, [node]);
}

export function reshape(node: Node, shape: Shape): Node {
  return sameShape(node.shape.quick, shape) ? node : makeNode('reshape', node.dtype, shape, [node]);
}

/** An elementwise op on nodes of one dtype; shapes are equal or rank 0. */
export const alu = (op: AluOp, ...sources: readonly Node[]): Node => aluNode(aluRows[op], sources);
