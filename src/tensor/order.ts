// Scans and sorting along an axis.

import { accumulatorFor, type DType, sumTypeFor } from '../base/dtype.ts';
import { normalizeAxis, show } from '../base/shape.ts';
import { ArgumentError } from '../errors.ts';
import { args, type Combine } from '../graph/args.ts';
import { noInts } from '../graph/intern.ts';
import { makeNode, Node } from '../graph/node.ts';
import { cast, permute, positionType, reshape, tooLong } from './build.ts';
import { Reductions, type SumOf } from './reductions.ts';
import type { Tensor } from './tensor.ts';
import { padded, sliced, strided } from './views.ts';

export interface ScanOptions<E extends DType = DType> {
  /** From the last element to the first. */
  readonly reverse?: boolean | undefined;
  /** Each element stands for the ones before it, without itself: the first is 0 for a sum, 1 for a product. */
  readonly exclusive?: boolean | undefined;
  /** The dtype of the result, and on the way. Default: that of `sum`. */
  readonly dtype?: E | undefined;
}

/** What sums and products of bools are: true once any was, true as long as all were. No number of elements wraps them around. */
const ofBools: Readonly<Partial<Record<Combine, Combine>>> = { sum: 'max', prod: 'min' };

export interface SortOptions {
  readonly descending?: boolean | undefined;
}

export abstract class Ordering<D extends DType = DType> extends Reductions<D> {
  /**
   * Running sum along an axis, or over the row of all elements; of the dtype of `sum`.
   * @example rt.tensor([1, 2, 3]).cumsum(0) // → [1, 3, 6]
   * @example rt.tensor([[1, 2], [3, 4]]).cumsum() // → [1, 3, 6, 10]
   * @example rt.tensor([1, 2, 3]).cumsum(0, { exclusive: true }) // → [0, 1, 3]
   */
  cumsum<E extends DType = SumOf<D>>(axis?: number, options: ScanOptions<E> = {}): Tensor<E> {
    return this.scan('sum', 'cumsum', axis, sumTypeFor(this.dtype, this.size), options);
  }

  /**
   * Running product along an axis, or over the row of all elements; of the dtype of `prod`.
   * @example rt.tensor([1, 2, 3]).cumprod(0) // → [1, 2, 6]
   */
  cumprod<E extends DType = SumOf<D>>(axis?: number, options: ScanOptions<E> = {}): Tensor<E> {
    return this.scan('prod', 'cumprod', axis, sumTypeFor(this.dtype, this.size), options);
  }

  /**
   * Running maximum along an axis.
   * @example rt.tensor([1, 3, 2]).cummax(0) // → [1, 3, 3]
   */
  cummax(axis: number, options: { readonly reverse?: boolean } = {}): Tensor<D> {
    return this.scan('max', 'cummax', axis, this.dtype, options);
  }

  /**
   * Running minimum along an axis.
   * @example rt.tensor([3, 1, 2]).cummin(0) // → [3, 1, 1]
   */
  cummin(axis: number, options: { readonly reverse?: boolean } = {}): Tensor<D> {
    return this.scan('min', 'cummin', axis, this.dtype, options);
  }

  private scan<E extends DType>(
    combine: Combine,
    where: string,
    axis: number | undefined,
    otherwise: DType,
    options: ScanOptions,
  ): Tensor<E> {
    const { dtype: result = otherwise, reverse = false, exclusive } = options;
    const whole = axis === undefined ? reshape(this.node, [this.size]) : this.node;
    const shape = whole.shape.values;
    const a = normalizeAxis(axis ?? 0, shape.length, where);
    const bools = result === 'bool';
    const type = bools ? 'u8' : accumulatorFor(result);
    const x = cast(bools ? cast(whole, 'bool') : whole, type);
    if (this.size === 0) return this.make(cast(x, result));
    const from = exclusive ? shifted(x, a, reverse, combine === 'prod' ? 1 : 0, where) : x;
    const how = bools ? (ofBools[combine] ?? combine) : combine;
    return this.make(cast(makeNode('scan', type, shape, [from], args.scan(how, a, reverse)), result));
  }

  /**
   * Elements in order along an axis (the last by default); NaN comes last, equal elements keep their order.
   * @example rt.tensor([3, 1, 2]).sort() // → [1, 2, 3]
   */
  sort(axis = -1, options: SortOptions = {}): Tensor<D> {
    return this.make<D>(sorted(this.node, axis, options, 'sort').values());
  }

  /**
   * The positions that would put the elements in order.
   * @example rt.tensor([3, 1, 2]).argsort() // → [1, 2, 0]
   */
  argsort(axis = -1, options: SortOptions = {}): Tensor<'i32'> {
    return this.make(sorted(this.node, axis, options, 'argsort').positions());
  }

  /**
   * The k largest elements along an axis and their positions, largest first.
   * @example rt.tensor([3, 1, 2]).topk(2).values // → [3, 2]
   */
  topk(k: number, axis = -1): { readonly values: Tensor<D>; readonly indices: Tensor<'i32'> } {
    const a = normalizeAxis(axis, this.rank, 'topk');
    if (!Number.isInteger(k) || k < 0 || k > this.shape[a]!) {
      throw new ArgumentError({
        code: 'BAD_K',
        message: `topk: k is ${String(k)} for axis ${a} of ${show(this.shape)}`,
        fix: `Use a whole number from 0 to ${this.shape[a]}.`,
        where: 'topk',
      });
    }
    const { values, positions } = sorted(this.node, axis, { descending: true }, 'topk', k);
    const [top, at] = this.makeAll([values(), positions()]);
    return { values: top as Tensor<D>, indices: at as Tensor<'i32'> };
  }
}

/** Each element one place further along the scan, behind its identity: what a scan without the element itself runs over. */
function shifted(x: Node, axis: number, reverse: boolean, identity: number, where: string): Node {
  const { values } = x.shape;
  const part = sliced(
    x,
    values.map((_, i) => (i !== axis ? null : reverse ? [1] : [0, -1])),
    where,
  );
  return padded(
    part,
    values.map((_, i) => (i !== axis ? [0, 0] : reverse ? [0, 1] : [1, 0])),
    identity,
    where,
  );
}

// Devices sort rows: the axis is moved to the end and back. Of each row the first `keep` are taken.
function sorted(
  x: Node,
  axis: number,
  options: SortOptions,
  where: string,
  keep = Number.POSITIVE_INFINITY,
): { values: () => Node; positions: () => Node } {
  const shape = x.shape.quick;
  const a = normalizeAxis(axis, shape.length, where);
  if (positionType(shape[a]!) !== 'i32') throw tooLong(where, shape, a);
  const first = (node: Node, along: number): Node => (keep < shape[a]! ? beginning(node, along, keep) : node);
  if (x.size === 0) return { values: () => first(x, a), positions: () => cast(first(x, a), 'i32') };
  const last = shape.length - 1;
  const rows = axisLast(x.dtype === 'bool' ? cast(x, 'u8') : x, a);
  const node = new Node('sort', rows.dtype, rows.shape, [rows], args.sort(options.descending === true));
  const result = (op: 'first' | 'second', dtype: DType): Node =>
    first(new Node(op, dtype, node.shape, [node], noInts), last);
  return {
    values: () => axisBack(cast(result('first', node.dtype), x.dtype), a),
    positions: () => axisBack(result('second', 'i32'), a),
  };
}

/** The first few positions along an axis. */
const beginning = (x: Node, axis: number, count: number): Node =>
  strided(
    x,
    x.shape.values.map(() => 0),
    x.shape.values.map(() => 1),
    x.shape.values.map((size, i) => (i === axis ? count : size)),
  );

/** An axis moved to the end. */
function axisLast(x: Node, axis: number): Node {
  const last = x.shape.values.length - 1;
  if (axis === last) return x;
  const order = x.shape.values.map((_, i) => i);
  order.splice(axis, 1);
  order.push(axis);
  return permute(x, order);
}

/** The last axis moved to where `axisLast` took it from. */
function axisBack(x: Node, axis: number): Node {
  const last = x.shape.values.length - 1;
  if (axis === last) return x;
  const order = x.shape.values.map((_, i) => i);
  order.pop();
  order.splice(axis, 0, last);
  return permute(x, order);
}
