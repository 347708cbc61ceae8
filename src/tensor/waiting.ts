// What the ops do whose results have a shape that depends on the data.
//
// Each waits once, for a number (how many elements there are, the largest one); everything else is computed on the device, as
// lazily as other ops. Positions and counts are i32. Orders are NumPy's: NaN comes last, and all NaN are one value to `unique`.

import { type DType, dtypeInfo, isFloat } from '../base/dtype.ts';
import { type Shape, sameShape, show } from '../base/shape.ts';
import { ArgumentError, DTypeError, ShapeError } from '../errors.ts';
import { args as nodeArgs } from '../graph/args.ts';
import { makeNode, type Node } from '../graph/node.ts';
import { search } from '../graph/search.ts';
import { alu, cast, constant, reshape } from './build.ts';
import { counting, elementAt, filled, packed, placed, positionsOf, runningCount, wholeNumber } from './compact.ts';
import type { Unique } from './dynamic.ts';
import { checkBins, edgesOf, type HistogramOptions, mostBins, upload } from './histogram.ts';
import type { Tensor } from './tensor.ts';

/** Tensors for nodes; `all` for nodes that share what they are made from. */
export interface Made {
  one<E extends DType>(node: Node): Tensor<E>;
  all(nodes: readonly Node[]): Tensor[];
}

export async function nonzero(x: Tensor, made: Made): Promise<readonly Tensor<'i32'>[]> {
  if (x.rank === 0) throw noAxes('nonzero');
  const { shape } = x;
  using flat = await positionsOf(x.host, flagsOf(x.node), (at) => made.one<'i32'>(at));
  const indices = shape.map((d, axis) => {
    const stride = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
    const past = stride === 1 ? flat.node : alu('idiv', flat.node, constant('i32', stride));
    // The first axis is what is left of the others.
    return axis === 0 ? past : alu('imod', past, constant('i32', d));
  });
  return made.all(indices) as Tensor<'i32'>[];
}

export async function masked<D extends DType>(x: Tensor<D>, mask: Tensor, made: Made): Promise<Tensor<D>> {
  if (mask.dtype !== 'bool') {
    throw new DTypeError({
      code: 'BAD_MASK',
      message: `mask: the mask is ${mask.dtype as DType} ${show(mask.shape)}`,
      fix: 'Give a bool tensor, such as x.greater(0); x.gather takes positions.',
      where: 'mask',
    });
  }
  const rest = x.shape.slice(mask.rank);
  if (mask.rank === 0 || !sameShape(x.shape.slice(0, mask.rank), mask.shape)) {
    throw new ShapeError({
      code: 'SHAPE_MISMATCH',
      message: `mask: a mask of shape ${show(mask.shape)} for a tensor of shape ${show(x.shape)}`,
      fix: 'The mask needs the shape of the tensor, or of its first axes.',
      where: 'mask',
    });
  }
  const rows = reshape(x.node, [mask.size, ...rest]);
  // Held while the number is waited for.
  using held = made.one<D>(rows);
  const flags = reshape(mask.node, [mask.size]);
  using at = await positionsOf(x.host, flags, (positions) => made.one<'i32'>(positions));
  const shape = [at.size, ...rest];
  if (shape.includes(0)) return made.one<D>(filled(x.dtype, 0, shape));
  return made.one<D>(makeNode('gather', x.dtype, shape, [held.node, at.node], nodeArgs.axis(0)));
}

export async function unique<D extends DType>(x: Tensor<D>, made: Made): Promise<Unique<D>> {
  const { size, shape } = x;
  const none = (of: Shape) => made.one<'i32'>(filled('i32', 0, of));
  if (size === 0) return { values: made.one<D>(reshape(x.node, [0])), inverse: none(shape), counts: none([0]) };
  using row = made.one<D>(reshape(x.node, [size]));
  using sorted = row.sort();
  using order = row.argsort();
  using first = made.one<'bool'>(firstOfEach(sorted.node));
  using ranks = made.one<'i32'>(alu('sub', runningCount(first.node), constant('i32', 1)));
  const n = 1 + (await wholeNumber(x.host, elementAt(ranks.node, size - 1)));
  const stored = x.dtype === 'bool' ? 'u8' : x.dtype;
  using starts = made.one<'i32'>(packed(counting(size), first.node, ranks.node, n));
  const values = cast(packed(cast(sorted.node, stored), first.node, ranks.node, n), x.dtype);
  const next = makeNode('concat', 'i32', [n], [...rest(starts.node), filled('i32', size, [1])], nodeArgs.axis(0));
  const inverse = reshape(placed(ranks.node, order.node, size), shape);
  const all = made.all([values, inverse, alu('sub', next, starts.node)]);
  return { values: all[0] as Tensor<D>, inverse: all[1] as Tensor<'i32'>, counts: all[2] as Tensor<'i32'> };
}

export async function bincount(x: Tensor, minLength: number, weights: Tensor | undefined, made: Made): Promise<Tensor> {
  checkBins(x, minLength, weights);
  const n = Math.max(minLength, x.size === 0 ? 0 : 1 + (await largest(x)));
  const type = weights ? (isFloat(weights.dtype) ? weights.dtype : 'f64') : 'i32';
  const values = weights ? cast(weights.node, type) : filled('i32', 1, [x.size]);
  if (n === 0 || x.size === 0) return made.one(filled(type, 0, [n]));
  return made.one(added(filled(type, 0, [n]), cast(x.node, 'i32'), values));
}

export async function histogram(
  x: Tensor,
  options: HistogramOptions,
  made: Made,
): Promise<{ readonly counts: Tensor<'i32'>; readonly edges: Tensor }> {
  using row = made.one(reshape(x.node, [x.size]));
  const { edges: list, type, thresholds: limits, top } = await edgesOf(row, options);
  const bins = list.length - 1;
  using edges = made.one(upload(x.host, list, type));
  if (x.size === 0) return { counts: made.one<'i32'>(filled('i32', 0, [bins])), edges: edges.clone() };
  using thresholds = made.one(upload(x.host, limits, x.dtype));
  const values = row.node;
  // A bin has its lower end: the number of edges up to an element, less one. The last one has its upper end, too.
  const found = alu('sub', search(thresholds.node, values, 'le'), constant('i32', 1));
  const atEnd = alu('eq', found, constant('i32', bins));
  const bin =
    top === null
      ? found
      : alu('where', alu('and', atEnd, alu('le', values, constant(x.dtype, top))), constant('i32', bins - 1), found);
  // Outside, and NaN: these are counted where nobody looks.
  const outside = alu('or', alu('lt', bin, constant('i32', 0)), alu('le', constant('i32', bins), bin));
  const lost = isFloat(values.dtype) ? alu('or', outside, alu('ne', values, values)) : outside;
  const at = alu('where', lost, constant('i32', bins), bin);
  const all = added(filled('i32', 0, [bins + 1]), at, filled('i32', 1, [x.size]));
  const counts = made.one<'i32'>(makeNode('slice', 'i32', [bins], [all], nodeArgs.slice([0], [1])));
  return { counts, edges: edges.clone() };
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
const added = (base: Node, at: Node, values: Node): Node =>
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
