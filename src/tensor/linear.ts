// Linear algebra: matrix products in all their forms.

import { accumulatorFor, type DType, promote } from '../base/dtype.ts';
import { broadcast, checkCount, type Shape, show, sizeOf } from '../base/shape.ts';
import { ShapeError } from '../errors.ts';
import { args, type Precision } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import type { Joined } from './arithmetic.ts';
import { binaryOps } from './binary.ts';
import { alu, cast, constant, expand, permute, reshape } from './build.ts';
import { Ordering } from './order.ts';
import { reduce, type SumOf, total } from './reductions.ts';
import type { Tensor } from './tensor.ts';
import { diagonalOf } from './views.ts';

export interface MatmulOptions {
  /** How products of f32 may be computed: true f32 (default), or faster with fewer digits where the device can. */
  readonly precision?: Precision | undefined;
}

export abstract class Linear<D extends DType = DType> extends Ordering<D> {
  /**
   * Matrix product over the last two axes; leading axes broadcast, vectors are rows or columns as needed.
   * @example rt.tensor([[1, 2], [3, 4]]).matmul(rt.tensor([[1], [1]])) // → [[3], [7]]
   */
  matmul<E extends DType>(other: Tensor<E>, options: MatmulOptions = {}): Tensor<Joined<D, E>> {
    return this.make(matmulNode(this.node, this.sibling(other, 'matmul').node, options.precision ?? 'exact'));
  }

  /**
   * NumPy's dot: inner product of vectors, matrix product of matrices; else the last axis against the last but one.
   * @example rt.tensor([1, 2]).dot(rt.tensor([3, 4])) // → 11
   */
  dot<E extends DType>(other: Tensor<E>): Tensor<Joined<D, E>> {
    return this.make(dotNode(this.node, this.sibling(other, 'dot').node));
  }

  /**
   * All products of an element of this with an element of the other, both flattened.
   * @example rt.tensor([1, 2]).outer(rt.tensor([3, 4])) // → [[3, 4], [6, 8]]
   */
  outer<E extends DType>(other: Tensor<E>): Tensor<Joined<D, E>> {
    const [a, b] = [this.node, this.sibling(other, 'outer').node];
    return this.make(binaryOps.mul.build(reshape(a, [a.size, 1]), reshape(b, [1, b.size]), 'outer'));
  }

  /**
   * Sum of the diagonal of the last two axes.
   * @example rt.tensor([[1, 2], [3, 4]]).trace() // → 5
   */
  trace(offset = 0): Tensor<SumOf<D>> {
    return this.make(total('sum', diagonalOf(this.node, offset, 'trace'), { axis: -1 }));
  }
}

function dotNode(a: Node, b: Node): Node {
  const [p, q] = [a.shape.quick, b.shape.quick];
  if (p.length === 0 || q.length === 0) return binaryOps.mul.build(a, b, 'dot');
  if (q.length <= 2) return matmulNode(a, b, 'exact', 'dot');
  const [k, k2] = [p[p.length - 1]!, q[q.length - 2]!];
  if (k !== k2) throw mismatch(p, q, 'Transpose one of them, or check the order of the arguments.', 'dot');
  // Every row of a against every matrix of b: flatten both sides around one product.
  const others = [...q.keys()].filter((axis) => axis !== q.length - 2);
  const [lead, rest] = [p.slice(0, -1), others.map((axis) => q[axis]!)];
  const rows = reshape(a, [sizeOf(lead), k]);
  const columns = reshape(permute(b, [q.length - 2, ...others]), [k, sizeOf(rest)]);
  return reshape(matmulNode(rows, columns, 'exact', 'dot'), checkCount([...lead, ...rest], 'dot'));
}

/** Matrix product of two nodes with NumPy's rules for vectors and leading axes. */
export function matmulNode(a: Node, b: Node, precision: Precision, where = 'matmul'): Node {
  const [p, q] = [a.shape.quick, b.shape.quick];
  if (p.length === 0 || q.length === 0) throw mismatch(p, q, 'A matrix product takes no scalars; use mul.', where);
  const dtype = promote(a.dtype, b.dtype);
  if (dtype === 'bool') {
    const counts = matmulNode(cast(a, 'i32'), cast(b, 'i32'), precision, where);
    return alu('ne', counts, constant('i32', 0));
  }
  const inner = p[p.length - 1]!;
  const fits = inner === q[q.length === 1 ? 0 : q.length - 2] && a.size > 0 && b.size > 0;
  if (fits && p.length === 2 && q.length <= 2) {
    const [m, n] = [p[0]!, q.length === 2 ? q[1]! : 1];
    const right = q.length === 2 ? b : reshape(b, [inner, 1]);
    const sources = [cast(a, dtype), cast(right, dtype)];
    const product = makeNode('matmul', dtype, checkCount([m, n], where), sources, args.matmul(precision));
    return q.length === 2 ? product : reshape(product, [m]);
  }
  // Vectors: a plain product and a sum are one pass, and fuse with their neighbours.
  if (fits && p.length === 1 && q.length === 1) {
    const wide = accumulatorFor(dtype);
    return cast(reduce('sum', alu('mul', cast(a, wide), cast(b, wide)), {}, where), dtype);
  }
  const x = p.length === 1 ? reshape(a, [1, p[0]!]) : a;
  const y = q.length === 1 ? reshape(b, [q[0]!, 1]) : b;
  const [xs, ys] = [x.shape.quick, y.shape.quick];
  const [m, k] = xs.slice(-2) as [number, number];
  const [k2, n] = ys.slice(-2) as [number, number];
  if (k !== k2) throw mismatch(p, q, 'Transpose one of them, or check the order of the arguments.', where);
  const batch = broadcast(xs.slice(0, -2), ys.slice(0, -2), where);
  const full = checkCount([...batch, m, n], where);
  // The result without the axes that vectors gained.
  const result = full.filter(
    (_, i) => !(i === full.length - 2 && p.length === 1) && !(i === full.length - 1 && q.length === 1),
  );
  if (sizeOf(full) === 0 || k === 0) return expand(constant(dtype, 0), result);
  const left = withBatch(cast(x, dtype), batch);
  const right = withBatch(cast(y, dtype), batch);
  return reshape(makeNode('matmul', dtype, full, [left, right], args.matmul(precision)), result);
}

/** An operand whose leading axes are all 1 is shared by the batch; any other must have the batch's shape. */
function withBatch(x: Node, batch: Shape): Node {
  const shape = x.shape.quick;
  const lead = shape.slice(0, -2);
  if (sizeOf(lead) === 1) return x;
  return expand(x, [...batch, ...shape.slice(-2)]);
}

function mismatch(a: Shape, b: Shape, fix: string, where: string): ShapeError {
  return new ShapeError({
    code: 'SHAPE_MISMATCH',
    message: `${where}: inner sizes differ: ${show(a)} × ${show(b)}`,
    fix,
    where,
  });
}
