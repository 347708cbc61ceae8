// Reductions over segments: rows of a tensor are put together by the number of the segment each belongs to.
//
// How many segments there are is given, so nothing waits. Segments need not be sorted. Numbers are checked as indices are.

import { shown } from '../base/arguments.ts';
import { accumulatorFor, type DType, floatFor, intRange, isFloat } from '../base/dtype.ts';
import { checkCount, show } from '../base/shape.ts';
import { ArgumentError, DTypeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import type { FloatOf } from './arithmetic.ts';
import { filled } from './compact.ts';
import type { TensorCore } from './core.ts';
import { Dynamic } from './dynamic.ts';
import type { Indices } from './indexing.ts';
import type { Tensor } from './tensor.ts';

export abstract class Segments<D extends DType = DType> extends Dynamic<D> {
  /**
   * The sum of the rows of each segment; 0 for a segment without rows. `ids` gives the segment of each row.
   * @example rt.tensor([1, 2, 3]).segmentSum([0, 2, 0], 3) // → [4, 0, 2]
   */
  segmentSum(ids: Indices, segments: number): Tensor<D> {
    const type = accumulatorFor(numeric(this, 'segmentSum'));
    using base = this.make(baseOf(this, segments, type, 0, 'segmentSum'));
    using rows = this.cast(type);
    using sum = base.scatter(ids, rows as Tensor, { mode: 'add' });
    return sum.cast(this.dtype) as Tensor<D>;
  }

  /**
   * The largest of each segment, element by element; the least value there is for a segment without rows (-Infinity for floats).
   * @example rt.tensor([1, 2, 3]).segmentMax([0, 1, 0], 2) // → [3, 2]
   */
  segmentMax(ids: Indices, segments: number): Tensor<D> {
    const type = numeric(this, 'segmentMax');
    const least = isFloat(type) ? Number.NEGATIVE_INFINITY : intRange[type as keyof typeof intRange][0];
    using base = this.make<D>(baseOf(this, segments, type, least, 'segmentMax'));
    return base.scatter(ids, this as unknown as Tensor, { mode: 'max' });
  }

  /**
   * The smallest of each segment, element by element; the largest value there is for a segment without rows (Infinity for floats).
   * @example rt.tensor([1, 2, 3]).segmentMin([0, 1, 0], 2) // → [1, 2]
   */
  segmentMin(ids: Indices, segments: number): Tensor<D> {
    const type = numeric(this, 'segmentMin');
    const most = isFloat(type) ? Number.POSITIVE_INFINITY : intRange[type as keyof typeof intRange][1];
    using base = this.make<D>(baseOf(this, segments, type, most, 'segmentMin'));
    return base.scatter(ids, this as unknown as Tensor, { mode: 'min' });
  }

  /**
   * The mean of the rows of each segment; NaN for a segment without rows.
   * @example rt.tensor([1, 2, 3]).segmentMean([0, 1, 0], 2) // → [2, 2]
   */
  segmentMean(ids: Indices, segments: number): Tensor<FloatOf<D>> {
    const type = floatFor(numeric(this, 'segmentMean'));
    const wide = accumulatorFor(type);
    using base = this.make(baseOf(this, segments, wide, 0, 'segmentMean'));
    using rows = this.cast(wide);
    using sum = base.scatter(ids, rows as Tensor, { mode: 'add' });
    // One count for all elements of a row.
    const shape = this.shape.map((d, axis) => (axis === 0 ? d : 1));
    using none = this.make(filled(wide, 0, [segments, ...shape.slice(1)]));
    using ones = this.make(filled(wide, 1, shape));
    using counts = none.scatter(ids, ones, { mode: 'add' });
    using mean = sum.div(counts);
    return mean.cast(type) as Tensor<FloatOf<D>>;
  }
}

/** What rows are put together with: one row for each segment, as it is without any. */
function baseOf(x: TensorCore, segments: number, type: DType, empty: number | bigint, where: string): Node {
  if (!Number.isSafeInteger(segments) || segments < 0 || x.rank === 0) {
    throw new ArgumentError({
      code: 'BAD_SEGMENTS',
      message: `${where}: ${shown(segments)} segments of a tensor of shape ${show(x.shape)}`,
      fix: 'Give a whole number of 0 or more, and a tensor of rank 1 or more.',
      where,
    });
  }
  return filled(type, empty, checkCount([segments, ...x.shape.slice(1)], where));
}

/** The dtype of a tensor of numbers. */
function numeric({ dtype, shape }: TensorCore, where: string): DType {
  if (dtype !== 'bool') return dtype;
  throw new DTypeError({
    code: 'UNSUPPORTED_DTYPE',
    message: `${where}: not defined for bool ${show(shape)}`,
    fix: "Cast it first: x.cast('u8').",
    where,
  });
}
