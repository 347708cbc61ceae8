// Reductions over any axes, and what is built from them.

import { accumulatorFor, type DType, floatFor, isFloat, sumTypeFor } from '../base/dtype.ts';
import { normalizeAxes, normalizeAxis, type Shape, show } from '../base/shape.ts';
import { ArgumentError, DTypeError, ShapeError } from '../errors.ts';
import { args } from '../graph/args.ts';
import { noInts } from '../graph/intern.ts';
import { makeNode, Node } from '../graph/node.ts';
import type { ReduceOp } from '../kernel/ops.ts';
import type { FloatOf } from './arithmetic.ts';
import { alu, cast, constant, expand, positionType, reshape } from './build.ts';
import { Indexing } from './indexing.ts';
import type { Tensor } from './tensor.ts';
import { sliced } from './views.ts';

export interface ReduceOptions {
  /** The axes to reduce; all of them if not given. */
  readonly axis?: number | readonly number[] | undefined;
  /** Keep reduced axes with size 1. */
  readonly keepdims?: boolean | undefined;
}

export interface SumOptions<E extends DType = DType> extends ReduceOptions {
  /** The dtype of the result, and of the sum on the way. */
  readonly dtype?: E | undefined;
}

/** The dtype of sums and products. */
export type SumOf<D extends DType> = D extends 'bool'
  ? 'i32'
  : D extends 'i32'
    ? 'i64'
    : D extends 'u8' | 'u32'
      ? 'u64'
      : D;

export interface VarianceOptions extends ReduceOptions {
  /** Divide by N - ddof. */
  readonly ddof?: number | undefined;
}

export abstract class Reductions<D extends DType = DType> extends Indexing<D> {
  /**
   * Sum. Integers are summed in 64 bits, f16 and bf16 in f32; a sum of bools is a count, in i32.
   * @example rt.tensor([[1, 2], [3, 4]]).sum({ axis: 0 }) // → [4, 6]
   * @example rt.tensor([1, 2, 3]).greater(1).sum() // → 2
   */
  sum<E extends DType = SumOf<D>>(options: SumOptions<E> = {}): Tensor<E> {
    return this.make(total('sum', this.node, options));
  }

  /**
   * Product, in the dtype `sum` would have.
   * @example rt.tensor([2, 3, 4]).prod() // → 24
   */
  prod<E extends DType = SumOf<D>>(options: SumOptions<E> = {}): Tensor<E> {
    return this.make(total('prod', this.node, options));
  }

  /**
   * Arithmetic mean.
   * @example rt.tensor([1, 2, 3]).mean() // → 2
   */
  mean(options: ReduceOptions = {}): Tensor<FloatOf<D>> {
    return this.make(meanOf(this.node, options, 'mean'));
  }

  /**
   * Mean squared distance from the mean.
   * @example rt.tensor([1, 2, 3, 4]).variance() // → 1.25
   */
  variance(options: VarianceOptions = {}): Tensor<FloatOf<D>> {
    return this.make(varianceOf(this.node, options));
  }

  /**
   * NumPy's name for `variance`.
   * @example rt.tensor([1, 2, 3, 4]).var() // → 1.25
   */
  var(options: VarianceOptions = {}): Tensor<FloatOf<D>> {
    return this.variance(options);
  }

  /**
   * Square root of the variance.
   * @example rt.tensor([1, 3]).std() // → 1
   */
  std(options: VarianceOptions = {}): Tensor<FloatOf<D>> {
    const v = varianceOf(this.node, options, accumulatorFor(floatFor(this.dtype)));
    return this.make(cast(alu('sqrt', v), floatFor(this.dtype)));
  }

  /**
   * Largest element; NaN if there is one.
   * @example rt.tensor([1, 3, 2]).max() // → 3
   */
  max(options: ReduceOptions = {}): Tensor<D> {
    return this.make(extreme('max', this.node, options));
  }

  /**
   * Smallest element; NaN if there is one.
   * @example rt.tensor([1, 3, 2]).min() // → 1
   */
  min(options: ReduceOptions = {}): Tensor<D> {
    return this.make(extreme('min', this.node, options));
  }

  /**
   * Whether any element is not zero.
   * @example rt.tensor([0, 2]).any() // → true
   */
  any(options: ReduceOptions = {}): Tensor<'bool'> {
    return this.make(reduce('any', cast(this.node, 'bool'), options, 'any'));
  }

  /**
   * Whether all elements are not zero.
   * @example rt.tensor([0, 2]).all() // → false
   */
  all(options: ReduceOptions = {}): Tensor<'bool'> {
    return this.make(reduce('all', cast(this.node, 'bool'), options, 'all'));
  }

  /**
   * Position of the largest element (of the first NaN if there is one) along an axis, or in the flattened tensor: i32, or
   * i64 where there are more elements than i32 can count.
   * @example rt.tensor([1, 3, 2]).argmax() // → 1
   */
  argmax(options: { readonly axis?: number | undefined; readonly keepdims?: boolean | undefined } = {}): Tensor<'i32'> {
    return this.make(position('argmax', this.node, options));
  }

  /**
   * Position of the smallest element (of the first NaN if there is one) along an axis, or in the flattened tensor: i32, or
   * i64 where there are more elements than i32 can count.
   * @example rt.tensor([3, 1, 2]).argmin() // → 1
   */
  argmin(options: { readonly axis?: number | undefined; readonly keepdims?: boolean | undefined } = {}): Tensor<'i32'> {
    return this.make(position('argmin', this.node, options));
  }

  /**
   * Number of elements that are not zero: i32, or i64 where there are more than i32 can count.
   * @example rt.tensor([0, 2, 3]).countNonzero() // → 2
   */
  countNonzero(options: ReduceOptions = {}): Tensor<'i32'> {
    const type = positionType(countOf(this.node, options, 'countNonzero') + 1);
    const ones = cast(alu('ne', this.node, constant(this.dtype, 0)), type);
    return this.make(reduce('sum', ones, options, 'countNonzero'));
  }

  /**
   * Vector norm: `ord` 2 (default), 1, 0, Infinity, -Infinity, or any other power.
   * @example rt.tensor([3, 4]).norm() // → 5
   */
  norm(options: ReduceOptions & { readonly ord?: number | undefined } = {}): Tensor<FloatOf<D>> {
    const { ord = 2 } = options;
    if (Number.isNaN(ord)) {
      throw new ArgumentError({
        code: 'BAD_ORD',
        message: 'norm: ord is NaN',
        fix: 'Use a number or ±Infinity.',
        where: 'norm',
      });
    }
    const type = floatFor(this.dtype);
    const wide = accumulatorFor(type);
    const magnitude = alu('abs', cast(this.node, wide));
    return this.make(cast(normOf(magnitude, ord, options), type));
  }

  /**
   * `log(sum(exp(x)))` without overflow.
   * @example rt.tensor([0]).logsumexp() // → 0
   */
  logsumexp(options: ReduceOptions = {}): Tensor<FloatOf<D>> {
    const type = floatFor(this.dtype);
    const x = cast(this.node, accumulatorFor(type));
    const top = finite(extreme('max', x, { axis: options.axis, keepdims: true }, 'logsumexp'));
    const sum = reduce('sum', alu('exp', alu('sub', x, expand(top, this.shape))), options, 'logsumexp');
    const log = alu('log', sum);
    return this.make(cast(alu('add', log, reshape(top, log.shape.values)), type));
  }
}

function normOf(magnitude: Node, ord: number, options: ReduceOptions): Node {
  if (ord === Number.POSITIVE_INFINITY) return extreme('max', magnitude, options, 'norm');
  if (ord === Number.NEGATIVE_INFINITY) return extreme('min', magnitude, options, 'norm');
  if (ord === 1) return reduce('sum', magnitude, options, 'norm');
  if (ord === 0) {
    const ones = cast(alu('ne', magnitude, constant(magnitude.dtype, 0)), magnitude.dtype);
    return reduce('sum', ones, options, 'norm');
  }
  if (ord === 2) return alu('sqrt', reduce('sum', alu('mul', magnitude, magnitude), options, 'norm'));
  const sum = reduce('sum', alu('pow', magnitude, constant(magnitude.dtype, ord)), options, 'norm');
  return alu('pow', sum, constant(sum.dtype, 1 / ord));
}

// These are called for every reduction of a few elements: loops, because functions of lists take longer than the rest of the op.

/** The shape after reducing, with the reduced axes. */
function kept(shape: Shape, axes: readonly number[]): Shape {
  const sizes = [...shape];
  for (let i = 0; i < axes.length; i++) sizes[axes[i]!] = 1;
  return sizes;
}

/** The shape after reducing, without them. */
function dropped(shape: Shape, axes: readonly number[]): Shape {
  const sizes: number[] = [];
  for (let i = 0; i < shape.length; i++) if (!axes.includes(i)) sizes.push(shape[i]!);
  return sizes;
}

/** Elements along some axes together. */
function countAlong(shape: Shape, axes: readonly number[]): number {
  let count = 1;
  for (let i = 0; i < axes.length; i++) count *= shape[axes[i]!]!;
  return count;
}

const identities: Readonly<Record<'sum' | 'prod' | 'any' | 'all', number>> = { sum: 0, prod: 1, any: 0, all: 1 };

/** A reduction of a node in its own dtype; an empty one gives the identity, or an error where there is none. */
export function reduce(op: ReduceOp, x: Node, options: ReduceOptions, where: string): Node {
  const { values: shape } = x.shape;
  const dtype: DType = op === 'argmax' || op === 'argmin' ? 'i32' : x.dtype;
  // All of it to one number is by far the most common: no shapes are made for that.
  if (options.axis === undefined && !options.keepdims && x.size > 0 && shape.length > 0)
    return new Node('reduce', dtype, noInts, [x], args.reduceAll(op, shape.length));
  const axes = normalizeAxes(options.axis, shape.length, where);
  if (axes.length === 0 && op !== 'argmax' && op !== 'argmin') return x;
  const target = options.keepdims ? kept(shape, axes) : dropped(shape, axes);
  if (countAlong(shape, axes) === 0) {
    if (!(op in identities)) {
      throw new ShapeError({
        code: 'EMPTY_REDUCTION',
        message: `${where}: nothing to reduce in ${show(shape)}`,
        fix: 'An empty range has no largest or smallest element; check the size first.',
        where,
      });
    }
    return expand(constant(dtype, identities[op as keyof typeof identities]), target);
  }
  if (!options.keepdims) return makeNode('reduce', dtype, target, [x], args.reduce(op, axes));
  return reshape(makeNode('reduce', dtype, dropped(shape, axes), [x], args.reduce(op, axes)), target);
}

/** A sum or product; among bools, `any` or `all`. */
export function total(op: 'sum' | 'prod', x: Node, options: SumOptions): Node {
  const type = options.dtype ?? sumTypeFor(x.dtype, countOf(x, options, op));
  if (type === 'bool') return reduce(op === 'sum' ? 'any' : 'all', cast(x, 'bool'), options, op);
  return cast(reduce(op, cast(x, accumulatorFor(type)), options, op), type);
}

function extreme(op: 'max' | 'min', x: Node, options: ReduceOptions, where: string = op): Node {
  return x.dtype === 'bool' ? cast(reduce(op, cast(x, 'u8'), options, where), 'bool') : reduce(op, x, options, where);
}

function position(
  op: 'argmax' | 'argmin',
  x: Node,
  options: { axis?: number | undefined; keepdims?: boolean | undefined },
): Node {
  const value = x.dtype === 'bool' ? cast(x, 'u8') : x;
  const shape = x.shape.quick;
  if (options.axis !== undefined) {
    const axis = normalizeAxis(options.axis, shape.length, op);
    const at = firstExtreme(op, value, axis);
    return options.keepdims ? reshape(at, kept(shape, [axis])) : at;
  }
  const at = firstExtreme(op, reshape(value, [x.size]), 0);
  return options.keepdims ? reshape(at, kept(shape, [...shape.keys()])) : at;
}

/** Positions are counted in i32 by devices: a longer axis is taken in parts of this many elements. */
const partLength = 2 ** 30;

/** The position of the extreme along an axis, whose length i32 need not hold. */
function firstExtreme(op: 'argmax' | 'argmin', x: Node, axis: number): Node {
  const shape = x.shape.quick;
  const n = shape[axis]!;
  if (positionType(n) === 'i32') return reduce(op, x, shape.length === 1 ? {} : { axis }, op);
  const [before, after] = [shape.slice(0, axis), shape.slice(axis + 1)];
  const cut = n - (n % partLength);
  const range = (from: number, to: number): Node =>
    sliced(
      x,
      shape.map((_, i) => (i === axis ? ([from, to] as const) : null)),
      op,
    );
  const best = op === 'argmax' ? 'max' : 'min';
  // The whole parts first: the best of each part, and among them the first part that has it.
  const parts = reshape(range(0, cut), [...before, cut / partLength, partLength, ...after]);
  const tops = reduce(best, parts, { axis: axis + 1 }, op);
  const part = reduce(op, tops, { axis, keepdims: true }, op);
  const within = makeNode(
    'takeAlong',
    'i32',
    part.shape.values,
    [reduce(op, parts, { axis: axis + 1 }, op), part],
    args.axis(axis),
  );
  const scaled = alu('mul', cast(part, 'i64'), constant('i64', partLength));
  const first = reshape(alu('add', scaled, cast(within, 'i64')), [...before, ...after]);
  if (cut === n) return first;
  const rest = range(cut, n);
  const last = alu('add', cast(reduce(op, rest, { axis }, op), 'i64'), constant('i64', cut));
  const [a, b] = [reduce(best, tops, { axis }, op), reduce(best, rest, { axis }, op)];
  const better = op === 'argmax' ? alu('lt', a, b) : alu('lt', b, a);
  // NaN is beyond everything; the first one counts.
  const late = isFloat(x.dtype) ? alu('and', alu('eq', a, a), alu('or', better, alu('ne', b, b))) : better;
  return alu('where', late, last, first);
}

function countOf(x: Node, options: ReduceOptions, where: string): number {
  if (options.axis === undefined) return x.size;
  const { values } = x.shape;
  return countAlong(values, normalizeAxes(options.axis, values.length, where));
}

export function meanOf(x: Node, options: ReduceOptions, where: string, result: DType = floatFor(x.dtype)): Node {
  const wide = accumulatorFor(floatFor(x.dtype));
  const sum = reduce('sum', cast(x, wide), options, where);
  return cast(alu('div', sum, constant(wide, countOf(x, options, where))), result);
}

/** Two passes: the mean, then the squared distances from it. One pass would lose the digits that the mean has in common. */
export function varianceOf(x: Node, options: VarianceOptions, result: DType = floatFor(x.dtype)): Node {
  const { ddof = 0 } = options;
  if (!Number.isFinite(ddof)) {
    throw new DTypeError({
      code: 'BAD_DDOF',
      message: `variance: ddof ${String(ddof)}`,
      fix: 'Use a finite number.',
      where: 'variance',
    });
  }
  const wide = accumulatorFor(floatFor(x.dtype));
  const value = cast(x, wide);
  const mean = meanOf(value, { axis: options.axis, keepdims: true }, 'variance', wide);
  const distance = alu('sub', value, expand(mean, x.shape.values));
  const sum = reduce('sum', alu('mul', distance, distance), options, 'variance');
  const count = Math.max(0, countOf(x, options, 'variance') - ddof);
  return cast(alu('div', sum, constant(wide, count)), result);
}

/** Infinite maxima would make `x - max` NaN; zero serves as well. */
function finite(top: Node): Node {
  if (!isFloat(top.dtype)) return top;
  const ok = alu('lt', alu('abs', top), constant(top.dtype, Number.POSITIVE_INFINITY));
  // NaN must stay NaN.
  const zero = alu('where', alu('eq', top, top), constant(top.dtype, 0), top);
  return alu('where', ok, top, zero);
}
