// Linear algebra: matrix products in all their forms.

import { type DType, promote } from '../base/dtype.ts';
import { broadcast, type Shape, show, sizeOf } from '../base/shape.ts';
import { ShapeError } from '../errors.ts';
import { args, makeNode, type Node, type Precision } from '../graph/node.ts';
import type { Joined } from './arithmetic.ts';
import { alu, cast, constant, expand, permute, reshape } from './build.ts';
import { einsumNode } from './einsum.ts';
import { Ordering } from './order.ts';

import type { Tensor } from './tensor.ts';

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
    const [a, b] = [this.node, this.sibling(other, 'dot').node];
    const [p, q] = [a.shape.values.length, b.shape.values.length];
    if (p === 0 || q === 0) return this.mul(other);
    if (q <= 2) return this.make(matmulNode(a, b, 'exact'));
    // Every row of a against every matrix of b: flatten both sides around one product.
    const rows = reshape(a, [sizeOf(a.shape.values.slice(0, -1)), a.shape.values[p - 1]!]);
    const order = [q - 2, ...Array.from({ length: q - 2 }, (_, i) => i), q - 1];
    const moved = permute(b, order);
    const columns = reshape(moved, [moved.shape.values[0]!, b.size / Math.max(1, moved.shape.values[0]!)]);
    const shape = [...a.shape.values.slice(0, -1), ...b.shape.values.slice(0, -2), b.shape.values[q - 1]!];
    return this.make(reshape(matmulNode(rows, columns, 'exact'), shape));
  }

  /**
   * All products of an element of this with an element of the other, both flattened.
   * @example rt.tensor([1, 2]).outer(rt.tensor([3, 4])) // → [[3, 4], [6, 8]]
   */
  outer<E extends DType>(other: Tensor<E>): Tensor<Joined<D, E>> {
    return this.reshape([this.size, 1]).mul(other.reshape([1, other.size]));
  }

  /**
   * Sum of the diagonal of the last two axes.
   * @example rt.tensor([[1, 2], [3, 4]]).trace() // → 5
   */
  trace(offset = 0): Tensor {
    return this.diagonal(offset).sum({ axis: -1 });
  }

  /** Einstein summation with this tensor first; see `rt.einsum`. */
  protected einsumWith(spec: string, others: readonly Tensor[]): Tensor {
    return this.make(einsumNode(spec, [this.node, ...others.map((o) => this.sibling(o, 'einsum').node)], matmulNode));
  }
}

/** Matrix product of two nodes with NumPy's rules for vectors and leading axes. */
export function matmulNode(a: Node, b: Node, precision: Precision): Node {
  const [p, q] = [a.shape.values, b.shape.values];
  if (p.length === 0 || q.length === 0) throw mismatch(p, q, 'matmul takes no scalars; use mul.');
  const dtype = promote(a.dtype, b.dtype);
  if (dtype === 'bool') {
    const counts = matmulNode(cast(a, 'i32'), cast(b, 'i32'), precision);
    return alu('ne', counts, constant('i32', 0));
  }
  const x = p.length === 1 ? reshape(a, [1, p[0]!]) : a;
  const y = q.length === 1 ? reshape(b, [q[0]!, 1]) : b;
  const [xs, ys] = [x.shape.values, y.shape.values];
  const [m, k] = xs.slice(-2) as [number, number];
  const [k2, n] = ys.slice(-2) as [number, number];
  if (k !== k2) throw mismatch(p, q, 'Transpose one of them, or check the order of the arguments.');
  const batch = broadcast(xs.slice(0, -2), ys.slice(0, -2), 'matmul');
  const full = [...batch, m, n];
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
  const shape = x.shape.values;
  const lead = shape.slice(0, -2);
  if (sizeOf(lead) === 1) return x;
  return expand(x, [...batch, ...shape.slice(-2)]);
}

function mismatch(a: Shape, b: Shape, fix: string): ShapeError {
  return new ShapeError({
    code: 'SHAPE_MISMATCH',
    message: `matmul: inner sizes differ: ${show(a)} × ${show(b)}`,
    fix,
    where: 'matmul',
  });
}
