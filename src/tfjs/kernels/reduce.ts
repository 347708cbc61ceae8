// Reductions, scans and order along axes.

import type { Tensor } from '../../index.ts';
import type { Call, Kernels, Native } from '../kernel.ts';
import { numbers } from './types.ts';

interface AxisAttrs {
  readonly axis: number | number[];
  readonly keepDims: boolean;
  readonly reductionIndices?: number | number[];
}

function axesOf(c: Call, x: Tensor): { axis: number[]; keepdims: boolean } {
  const { axis, reductionIndices, keepDims } = c.attrs<AxisAttrs>();
  const given = reductionIndices ?? axis;
  return { axis: c.tf.util.parseAxisParam(given, [...x.shape]), keepdims: keepDims === true };
}

/** What is left of a shape. */
const reducedShape = (x: Tensor, { axis, keepdims }: { axis: number[]; keepdims: boolean }): number[] =>
  x.shape.flatMap((d, i) => (axis.includes(i) ? (keepdims ? [1] : []) : [d]));

const total =
  (f: (x: Tensor, options: { axis: number[]; keepdims: boolean; dtype: 'f32' | 'i32' }) => Tensor): Native =>
  (c) => {
    const x = numbers(c.x('x'));
    return f(x, { ...axesOf(c, x), dtype: x.dtype as 'f32' | 'i32' });
  };

/** The largest or smallest; of nothing there is none, and TF.js says NaN. */
const extreme =
  (f: (x: Tensor, options: { axis: number[]; keepdims: boolean }) => Tensor): Native =>
  (c) => {
    const x = c.x('x');
    const options = axesOf(c, x);
    if (x.size > 0) return f(x, options);
    return c.rt.full(reducedShape(x, options), x.dtype === 'f32' ? Number.NaN : 0, { dtype: x.dtype });
  };

const truth =
  (f: (x: Tensor, options: { axis: number[]; keepdims: boolean }) => Tensor): Native =>
  (c) => {
    const x = c.x('x').cast('bool');
    return f(x, axesOf(c, x));
  };

/** NaN is never chosen, unless it is all there is. */
const position =
  (f: (x: Tensor, axis: number) => Tensor, worst: number): Native =>
  (c) => {
    const x = numbers(c.x('x'));
    const [axis] = axesOf(c, x).axis;
    return f(x.dtype === 'f32' ? c.rt.where(x.isnan(), worst, x) : x, axis!);
  };

interface ScanAttrs {
  readonly axis: number;
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

const scan =
  (
    f: (x: Tensor, axis: number, options: { dtype: 'f32' | 'i32'; exclusive: boolean; reverse: boolean }) => Tensor,
  ): Native =>
  (c) => {
    const x = numbers(c.x('x'));
    const { axis, exclusive, reverse } = c.attrs<ScanAttrs>();
    if (x.rank === 0) return f(x.reshape([1]), 0, { dtype: x.dtype as 'f32' | 'i32', exclusive, reverse }).reshape([]);
    return f(x, axis, { dtype: x.dtype as 'f32' | 'i32', exclusive, reverse });
  };

function topK(c: Call): Tensor[] {
  const x = c.x('x');
  const { k } = c.attrs<{ k: number; sorted: boolean }>();
  const last = x.shape[x.rank - 1]!;
  if (k > last) throw new Error(`'k' passed to topk() must be <= the last dimension (${last}) but got ${k}`);
  const { values, indices } = x.topk(k, -1);
  return [values, indices];
}

/** How many elements of each sorted row come before a value. */
const searchSorted = (c: Call): Tensor => {
  const [rows, values] = [numbers(c.x('sortedSequence')), numbers(c.x('values'))];
  const { side } = c.attrs<{ side: 'left' | 'right' }>();
  const [batch, n] = rows.shape as [number, number];
  const m = values.shape[values.rank - 1]!;
  const [a, b] = [rows.reshape([batch, 1, n]), values.reshape([batch, m, 1])];
  return (side === 'left' ? a.less(b) : a.lessEqual(b)).cast('i32').sum({ axis: -1, dtype: 'i32' });
};

export const reduce: Kernels = {
  All: truth((x, o) => x.all(o)),
  Any: truth((x, o) => x.any(o)),
  ArgMax: position((x, axis) => x.argmax({ axis }), Number.NEGATIVE_INFINITY),
  ArgMin: position((x, axis) => x.argmin({ axis }), Number.POSITIVE_INFINITY),
  Cumprod: scan((x, axis, o) => x.cumprod(axis, o)),
  Cumsum: scan((x, axis, o) => x.cumsum(axis, o)),
  Max: extreme((x, o) => x.max(o)),
  Mean: (c) => {
    const x = c.f('x');
    return x.mean(axesOf(c, x));
  },
  Min: extreme((x, o) => x.min(o)),
  Prod: total((x, o) => x.prod(o)),
  SearchSorted: searchSorted,
  Softmax: (c) => c.f('logits').softmax(c.attrs<{ dim: number }>().dim),
  Sum: total((x, o) => x.sum(o)),
  TopK: topK,
};
