// Ops whose results have a shape that depends on the data: they wait for the device, and so return promises.
//
// Each waits once, for a number (how many elements there are, the largest one); everything else is computed on the device, as
// lazily as other ops. Positions and counts are i32. Orders are NumPy's: NaN comes last, and all NaN are one value to `unique`.

import { checkOptions } from '../base/arguments.ts';
import { type DType, dtypeInfo, isFloat, promote } from '../base/dtype.ts';
import { type Shape, sameShape, show } from '../base/shape.ts';
import { ArgumentError, DTypeError, ShapeError } from '../errors.ts';
import { makeNode, type Node, args as nodeArgs } from '../graph/node.ts';
import { alu, cast, constant, reshape } from './build.ts';
import { counting, elementAt, filled, placed, positionsOf, runningCount, wholeNumber } from './compact.ts';
import { checkBins, edgesOf, type HistogramOptions, mostBins, upload } from './histogram.ts';
import { Network } from './nn.ts';
import { search } from './search.ts';
import type { Tensor } from './tensor.ts';

/** What `unique` finds. */
export interface Unique<D extends DType> {
  /** Each value once, in order. */
  readonly values: Tensor<D>;
  /** For each element of the tensor, the position of its value: of the tensor's shape. */
  readonly inverse: Tensor<'i32'>;
  /** How often each value occurs. */
  readonly counts: Tensor<'i32'>;
}

export abstract class Dynamic<D extends DType = DType> extends Network<D> {
  /**
   * The positions of elements that are not zero: one tensor of indices for each axis, in row-major order. Waits for their number.
   * @example await rt.tensor([[0, 5], [7, 0]]).nonzero() // → [[0, 1], [1, 0]]
   */
  async nonzero(): Promise<readonly Tensor<'i32'>[]> {
    if (this.rank === 0) throw noAxes('nonzero');
    const { shape } = this;
    using flat = await positionsOf(this.host, flagsOf(this.node), (at) => this.make<'i32'>(at));
    const indices = shape.map((d, axis) => {
      const stride = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
      const past = stride === 1 ? flat.node : alu('idiv', flat.node, constant('i32', stride));
      // The first axis is what is left of the others.
      return axis === 0 ? past : alu('imod', past, constant('i32', d));
    });
    return this.makeAll(indices) as Tensor<'i32'>[];
  }

  /**
   * The elements for which a bool tensor is true (NumPy's `x[m]`). The mask has the shape of the tensor or of its first axes;
   * the others stay as they are. Waits for the number of elements.
   * @example await rt.tensor([1, 2, 3, 4]).mask(rt.tensor([1, 2, 3, 4]).greater(2)) // → [3, 4]
   */
  async mask(mask: Tensor<'bool'>): Promise<Tensor<D>> {
    this.sibling(mask, 'mask');
    if (mask.dtype !== 'bool') {
      throw new DTypeError({
        code: 'BAD_MASK',
        message: `mask: the mask is ${mask.dtype as DType} ${show(mask.shape)}`,
        fix: 'Give a bool tensor, such as x.greater(0); x.gather takes positions.',
        where: 'mask',
      });
    }
    const rest = this.shape.slice(mask.rank);
    if (mask.rank === 0 || !sameShape(this.shape.slice(0, mask.rank), mask.shape)) {
      throw new ShapeError({
        code: 'SHAPE_MISMATCH',
        message: `mask: a mask of shape ${show(mask.shape)} for a tensor of shape ${show(this.shape)}`,
        fix: 'The mask needs the shape of the tensor, or of its first axes.',
        where: 'mask',
      });
    }
    const rows = reshape(this.node, [mask.size, ...rest]);
    // Held while the number is waited for.
    using held = this.make<D>(rows);
    const flags = reshape(mask.node, [mask.size]);
    using at = await positionsOf(this.host, flags, (positions) => this.make<'i32'>(positions));
    const shape = [at.size, ...rest];
    if (shape.includes(0)) return this.make<D>(filled(this.dtype, 0, shape));
    return this.make<D>(makeNode('gather', this.dtype, shape, [held.node, at.node], nodeArgs.axis(0)));
  }

  /**
   * Each value once, in order, with the position of every element's value and how often each occurs. Waits for their number.
   * @example (await rt.tensor([3, 1, 3]).unique()).values // → [1, 3]
   * @example (await rt.tensor([3, 1, 3]).unique()).inverse // → [1, 0, 1]
   * @example (await rt.tensor([3, 1, 3]).unique()).counts // → [1, 2]
   */
  async unique(): Promise<Unique<D>> {
    const { size, shape } = this;
    const none = (of: Shape) => this.make<'i32'>(filled('i32', 0, of));
    if (size === 0) return { values: this.make<D>(reshape(this.node, [0])), inverse: none(shape), counts: none([0]) };
    using row = this.make<D>(reshape(this.node, [size]));
    using sorted = row.sort();
    using order = row.argsort();
    using first = this.make<'bool'>(firstOfEach(sorted.node));
    using ranks = this.make<'i32'>(alu('sub', runningCount(first.node), constant('i32', 1)));
    const n = 1 + (await wholeNumber(this.host, elementAt(ranks.node, size - 1)));
    const at = alu('where', first.node, ranks.node, constant('i32', n));
    const stored = this.dtype === 'bool' ? 'u8' : this.dtype;
    using starts = this.make<'i32'>(placed(counting(size), at, n));
    const values = cast(placed(cast(sorted.node, stored), at, n), this.dtype);
    const next = makeNode('concat', 'i32', [n], [...rest(starts.node), filled('i32', size, [1])], nodeArgs.axis(0));
    const inverse = reshape(placed(ranks.node, order.node, size), shape);
    const made = this.makeAll([values, inverse, alu('sub', next, starts.node)]);
    return { values: made[0] as Tensor<D>, inverse: made[1] as Tensor<'i32'>, counts: made[2] as Tensor<'i32'> };
  }

  /**
   * How often each whole number from 0 on occurs in a row of them, or the sum of their weights. Waits for the largest one.
   * @example await rt.tensor([1, 3, 1], [3], { dtype: 'i32' }).bincount() // → [0, 2, 0, 1]
   */
  async bincount(options: { readonly minLength?: number; readonly weights?: Tensor } = {}): Promise<Tensor> {
    checkOptions(options, ['minLength', 'weights'], 'bincount');
    const { minLength = 0, weights } = options;
    if (weights !== undefined) this.sibling(weights, 'bincount');
    checkBins(this as unknown as Tensor, minLength, weights);
    using held = weights ? this.make(weights.node) : null;
    using row = this.make(this.node);
    const n = Math.max(minLength, this.size === 0 ? 0 : 1 + (await largest(row as Tensor)));
    const type = weights ? (isFloat(weights.dtype) ? weights.dtype : 'f64') : 'i32';
    const values = held ? cast(held.node, type) : filled('i32', 1, [this.size]);
    if (n === 0 || this.size === 0) return this.make(filled(type, 0, [n]));
    return this.make(added(filled(type, 0, [n]), cast(row.node, 'i32'), values));
  }

  /**
   * Where values would go in this sorted row to keep it sorted: before equal elements (`left`) or after them. Does not wait.
   * @example rt.tensor([1, 3, 5]).searchsorted(rt.tensor([3, 4])) // → [1, 2]
   */
  searchsorted(values: Tensor, options: { readonly side?: 'left' | 'right' } = {}): Tensor<'i32'> {
    checkOptions(options, ['side'], 'searchsorted');
    const { side = 'left' } = options;
    this.sibling(values, 'searchsorted');
    if (this.rank !== 1) {
      throw new ShapeError({
        code: 'NOT_A_ROW',
        message: `searchsorted: the sorted tensor has shape ${show(this.shape)}`,
        fix: 'Search in a tensor of rank 1.',
        where: 'searchsorted',
      });
    }
    if (side !== 'left' && side !== 'right') {
      throw new ArgumentError({
        code: 'BAD_SIDE',
        message: `searchsorted: there is no side '${String(side)}'`,
        fix: "Use 'left' or 'right'.",
        where: 'searchsorted',
      });
    }
    const dtype = promote(this.dtype, values.dtype);
    return this.make<'i32'>(search(cast(this.node, dtype), cast(values.node, dtype), side));
  }

  /**
   * How many elements fall into each bin: `bins` of equal width over the range of the data or a given one, or between given edges.
   * The last bin has both its ends. Waits for the smallest and largest element unless the range or the edges are given.
   * @example (await rt.tensor([1, 2, 2, 4]).histogram({ bins: 3 })).counts // → [1, 2, 1]
   * @example (await rt.tensor([1, 2, 2, 4]).histogram({ bins: 3 })).edges // → [1, 2, 3, 4]
   */
  async histogram(options: HistogramOptions = {}): Promise<{ readonly counts: Tensor<'i32'>; readonly edges: Tensor }> {
    using row = this.make<D>(reshape(this.node, [this.size]));
    const { edges: list, type, thresholds: limits, top } = await edgesOf(row as Tensor, options);
    const bins = list.length - 1;
    using edges = this.make(upload(this.host, list, type));
    if (this.size === 0) return { counts: this.make<'i32'>(filled('i32', 0, [bins])), edges: edges.clone() };
    using thresholds = this.make(upload(this.host, limits, this.dtype));
    const x = row.node;
    // A bin has its lower end: the number of edges up to an element, less one. The last one has its upper end, too.
    const found = alu('sub', search(thresholds.node, x, 'right'), constant('i32', 1));
    const atEnd = alu('eq', found, constant('i32', bins));
    const bin =
      top === null
        ? found
        : alu('where', alu('and', atEnd, alu('le', x, constant(this.dtype, top))), constant('i32', bins - 1), found);
    // Outside, and NaN: these are counted where nobody looks.
    const outside = alu('or', alu('lt', bin, constant('i32', 0)), alu('le', constant('i32', bins), bin));
    const lost = isFloat(x.dtype) ? alu('or', outside, alu('ne', x, x)) : outside;
    const at = alu('where', lost, constant('i32', bins), bin);
    const all = added(filled('i32', 0, [bins + 1]), at, filled('i32', 1, [this.size]));
    const counts = this.make<'i32'>(makeNode('slice', 'i32', [bins], [all], nodeArgs.slice([0], [1])));
    return { counts, edges: edges.clone() };
  }
}

/** Flags of elements that are not zero, as a row. NaN is not zero. */
const flagsOf = (x: Node): Node => {
  const row = reshape(x, [x.size]);
  return x.dtype === 'bool' ? row : alu('ne', row, constant(x.dtype, 0));
};

/** Whether each element of a sorted row differs from the one before; all NaN are one. */
function firstOfEach(sorted: Node): Node {
  const [n] = sorted.shape.values as [number];
  const before = makeNode('roll', sorted.dtype, [n], [sorted], nodeArgs.list([1]));
  let differs = alu('ne', sorted, before);
  if (isFloat(sorted.dtype)) {
    const both = alu('and', alu('ne', sorted, sorted), alu('ne', before, before));
    differs = alu('and', differs, alu('not', both));
  }
  return alu('or', differs, alu('eq', counting(n), constant('i32', 0)));
}

/** All of a row but its first element. */
function rest(row: Node): readonly Node[] {
  const n = row.size - 1;
  return n === 0 ? [] : [makeNode('slice', row.dtype, [n], [row], nodeArgs.slice([1], [1]))];
}

/** A row to which values are added at positions. */
export const added = (base: Node, at: Node, values: Node): Node =>
  makeNode('scatter', base.dtype, base.shape.values, [base, at, values], nodeArgs.scatter('sum', 0, false));

/** The largest of some whole numbers, which must not be negative. Waits. */
async function largest(row: Tensor): Promise<number> {
  using most = row.max();
  using least = dtypeInfo[row.dtype].signed ? row.min() : null;
  const [high, low] = await Promise.all([most.data(), least?.data()]);
  const [top, bottom] = [Number(high[0]), Number(low?.[0] ?? 0)];
  if (bottom >= 0 && top < mostBins) return top;
  throw new ArgumentError({
    code: 'BAD_BIN',
    message: `bincount: ${bottom < 0 ? bottom : top} is no number of a bin (${row.dtype} ${show(row.shape)})`,
    fix: `Use whole numbers from 0 to ${mostBins - 1}.`,
    where: 'bincount',
  });
}

const noAxes = (where: string): ShapeError =>
  new ShapeError({
    code: 'NO_AXES',
    message: `${where}: a tensor of rank 0 has no positions`,
    fix: 'Reshape it to [1] first.',
    where,
  });
