// Reductions over segments: rows of a tensor are put together by the number of the segment each belongs to.
//
// How many segments there are is given, so nothing waits. Segments need not be sorted. Numbers are checked as indices are.

import { shown } from '../base/arguments.ts';
import { accumulatorFor, type DType, floatFor } from '../base/dtype.ts';
import { checkCount, show } from '../base/shape.ts';
import { ArgumentError, DTypeError } from '../errors.ts';
import type { Node } from '../graph/node.ts';
import { highest, lowest } from '../kernel/identity.ts';
import type { Value } from '../kernel/semantics.ts';
import type { FloatOf } from './arithmetic.ts';
import { alu, cast, expand, positionType, tooLong } from './build.ts';
import { filled } from './compact.ts';
import type { TensorCore } from './core.ts';
import { Dynamic } from './dynamic.ts';
import { type Indices, type Positions, scattered } from './indexing.ts';
import type { Tensor } from './tensor.ts';

export abstract class Segments<D extends DType = DType> extends Dynamic<D> {
  /**
   * The sum of the rows of each segment; 0 for a segment without rows. `ids` gives the segment of each row.
   * @example rt.tensor([1, 2, 3]).segmentSum([0, 2, 0], 3) // → [4, 0, 2]
   */
  segmentSum(ids: Indices, segments: number): Tensor<D> {
    const type = accumulatorFor(numeric(this, 'segmentSum'));
    const base = baseOf(this, segments, type, 0, 'segmentSum');
    const sum = scattered(base, this.segmentsOf(ids, base, 'segmentSum'), this.node, 0, 'sum', 'segmentSum');
    return this.make<D>(cast(sum, this.dtype));
  }

  /**
   * The largest of each segment, element by element; the least value there is for a segment without rows (-Infinity for floats).
   * @example rt.tensor([1, 2, 3]).segmentMax([0, 1, 0], 2) // → [3, 2]
   */
  segmentMax(ids: Indices, segments: number): Tensor<D> {
    return this.extremes(ids, segments, 'max', lowest, 'segmentMax');
  }

  /**
   * The smallest of each segment, element by element; the largest value there is for a segment without rows (Infinity for floats).
   * @example rt.tensor([1, 2, 3]).segmentMin([0, 1, 0], 2) // → [1, 2]
   */
  segmentMin(ids: Indices, segments: number): Tensor<D> {
    return this.extremes(ids, segments, 'min', highest, 'segmentMin');
  }

  /**
   * The mean of the rows of each segment; NaN for a segment without rows.
   * @example rt.tensor([1, 2, 3]).segmentMean([0, 1, 0], 2) // → [2, 2]
   */
  segmentMean(ids: Indices, segments: number): Tensor<FloatOf<D>> {
    const type = floatFor(numeric(this, 'segmentMean'));
    const wide = accumulatorFor(type);
    const base = baseOf(this, segments, wide, 0, 'segmentMean');
    // One count for all elements of a row.
    const one = this.shape.map((d, axis) => (axis === 0 ? d : 1));
    const none = filled(wide, 0, [segments, ...one.slice(1)]);
    const at = this.segmentsOf(ids, base, 'segmentMean');
    const sum = scattered(base, at, this.node, 0, 'sum', 'segmentMean');
    const counts = scattered(none, at, filled(wide, 1, one), 0, 'sum', 'segmentMean');
    return this.make(cast(alu('div', sum, expand(counts, base.shape.values)), type));
  }

  private extremes(
    ids: Indices,
    segments: number,
    combine: 'max' | 'min',
    empty: Readonly<Record<DType, Value>>,
    where: string,
  ): Tensor<D> {
    const type = numeric(this, where);
    const base = baseOf(this, segments, type, empty[type], where);
    return this.make<D>(scattered(base, this.segmentsOf(ids, base, where), this.node, 0, combine, where));
  }

  /** The segment of each row, as positions on the first axis of what the rows are put together with. */
  private segmentsOf(ids: Indices, base: Node, where: string): Positions {
    const { values } = base.shape;
    if (positionType(values[0]!) !== 'i32') throw tooLong(where, values, 0);
    return this.positions(ids, values[0]!, where, 'check', values);
  }
}

/** What rows are put together with: one row for each segment, as it is without any. */
function baseOf(x: TensorCore, segments: number, type: DType, empty: Value, where: string): Node {
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
