// Reductions over segments: rows of a tensor are put together by the number of the segment each belongs to.
//
// How many segments there are is given, so nothing waits. Segments need not be sorted. Numbers are checked as indices are.

import { accumulatorFor, type DType, floatFor, intRange, isFloat } from '../base/dtype.ts';
import { show } from '../base/shape.ts';
import { ArgumentError, DTypeError } from '../errors.ts';
import { cast } from './build.ts';
import { filled } from './compact.ts';
import { Dynamic } from './dynamic.ts';
import type { Indices, ScatterMode } from './indexing.ts';
import type { Tensor } from './tensor.ts';

export abstract class Segments<D extends DType = DType> extends Dynamic<D> {
  /**
   * The sum of the rows of each segment; 0 for a segment without rows. `ids` gives the segment of each row.
   * @example rt.tensor([1, 2, 3]).segmentSum([0, 2, 0], 3) // → [4, 0, 2]
   */
  segmentSum(ids: Indices, segments: number): Tensor<D> {
    const type = accumulatorFor(this.numeric('segmentSum'));
    return this.make<D>(cast(this.together(ids, segments, 'add', 0, type, 'segmentSum').node, this.dtype));
  }

  /**
   * The largest of each segment, element by element; the least value there is for a segment without rows (-Infinity for floats).
   * @example rt.tensor([1, 2, 3]).segmentMax([0, 1, 0], 2) // → [3, 2]
   */
  segmentMax(ids: Indices, segments: number): Tensor<D> {
    const type = this.numeric('segmentMax');
    const least = isFloat(type) ? Number.NEGATIVE_INFINITY : intRange[type as keyof typeof intRange][0];
    return this.together(ids, segments, 'max', least, type, 'segmentMax') as Tensor<D>;
  }

  /**
   * The smallest of each segment, element by element; the largest value there is for a segment without rows (Infinity for floats).
   * @example rt.tensor([1, 2, 3]).segmentMin([0, 1, 0], 2) // → [1, 2]
   */
  segmentMin(ids: Indices, segments: number): Tensor<D> {
    const type = this.numeric('segmentMin');
    const most = isFloat(type) ? Number.POSITIVE_INFINITY : intRange[type as keyof typeof intRange][1];
    return this.together(ids, segments, 'min', most, type, 'segmentMin') as Tensor<D>;
  }

  /**
   * The mean of the rows of each segment; NaN for a segment without rows.
   * @example rt.tensor([1, 2, 3]).segmentMean([0, 1, 0], 2) // → [2, 2]
   */
  segmentMean(ids: Indices, segments: number): Tensor {
    this.numeric('segmentMean');
    using x = this.cast(meanType(this.dtype));
    using sum = x.together(ids, segments, 'add', 0, accumulatorFor(x.dtype), 'segmentMean');
    using ones = this.make(filled(sum.dtype, 1, [this.shape[0]!, ...this.shape.slice(1).map(() => 1)]));
    using counts = (ones as Tensor).together(ids, segments, 'add', 0, sum.dtype, 'segmentMean');
    using mean = sum.div(counts);
    return mean.cast(x.dtype);
  }

  /** For the methods above. */
  together(
    ids: Indices,
    segments: number,
    mode: ScatterMode,
    empty: number | bigint,
    type: DType,
    where: string,
  ): Tensor {
    if (!Number.isSafeInteger(segments) || segments < 0 || this.rank === 0) {
      throw new ArgumentError({
        code: 'BAD_SEGMENTS',
        message: `${where}: ${segments} segments of a tensor of shape ${show(this.shape)}`,
        fix: 'Give a whole number of 0 or more, and a tensor of rank 1 or more.',
        where,
      });
    }
    using base = this.make(filled(type, empty, [segments, ...this.shape.slice(1)]));
    using rows = this.cast(type);
    return base.scatter(ids, rows as Tensor, { axis: 0, mode });
  }

  private numeric(where: string): DType {
    if (this.dtype !== 'bool') return this.dtype;
    throw new DTypeError({
      code: 'UNSUPPORTED_DTYPE',
      message: `${where}: not defined for bool ${show(this.shape)}`,
      fix: "Cast it first: x.cast('u8').",
      where,
    });
  }
}

/** The dtype of a mean, as of other means. */
const meanType = floatFor;
